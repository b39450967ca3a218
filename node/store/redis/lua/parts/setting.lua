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
