-- The rules of topics and jobs, as they are stored.

-- PART setting
-- A number of a topic's settings (node/store/settings.h), 1-based: paused until 1-6, set 7-8, TTR
-- 9-12, priority 13-16, max_tries 17-18, backoff 19-28, ttl 29-34, dead_max 35-38, dead_age 39-44,
-- history 45. `bit` of what is set says whether it counts; else the first of the rules that sets it
-- does; else it is 0.
local function is_set(packed, bit)
    return packed and math.floor(parse('>I2', packed, 7) / bit) % 2 == 1
end

local function setting(row, rules, bit, form, at)
    local from = is_set(row, bit) and row
    for i = 1, from and 0 or #rules do
        from = from or is_set(rules[i], bit) and rules[i]
    end
    return from and parse(form, from, at) or 0
end

-- PART rules_are_ours
-- Are max_tries and a backoff, packed from `at` on, within dueq's limits? As rules_unpack judges
-- (node/store/rules.c).
local function rules_are_ours(packed, at)
    local most, kind, jitter, base, cap = parse('>I2BBI4I4', packed, at)
    return most <= 65534 and kind <= 2 and jitter <= 100 and base <= 2592000000 and cap <= 2592000000
end

-- PART settings_are_ours
-- Was the row of c written by dueq? As settings_unpack judges (node/store/settings.c). One that was
-- not counts as none.   (needs rules_are_ours)
local function settings_are_ours(row)
    return #row == 45 and parse('>I2', row, 7) <= 255 and rules_are_ours(row, 17)
end
