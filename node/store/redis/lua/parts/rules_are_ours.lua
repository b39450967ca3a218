-- Are max_tries and a backoff, packed from `at` on, within dueq's limits? As rules_unpack judges
-- (node/store/rules.c).
local function rules_are_ours(packed, at)
    local most, kind, jitter, base, cap = parse('>I2BBI4I4', packed, at)
    return most <= 65534 and kind <= 2 and jitter <= 100 and base <= 2592000000 and cap <= 2592000000
end
