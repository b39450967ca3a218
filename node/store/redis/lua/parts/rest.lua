-- How long the job's backoff lets it rest, ms: the tries are counted, and the stamp is still the
-- lease's that ended. The formula is that of backoff_rest_ms (node/store/rules.h), and exact.
local function rest(value)
    if byte(value) % 128 < 64 then
        return 0
    end
    local kind, jitter, base, cap = parse('>BBI4I4', value, 31)
    if kind == 0 then
        return 0
    end
    if kind == 2 then
        base = base * 2 ^ (math.max(parse('>I2', value, 2), 1) - 1)
    end
    local k = parse('>I6', value, 14) % 2001 * 7919 % 2001
    base = math.min(base, cap > 0 and cap or 2592000000) -- RULES_BACKOFF_MAX_MS
    return math.floor(base * (100000 + jitter * (k - 1000)) / 100000)
end
