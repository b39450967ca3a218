-- The stored settings of topics and rules of jobs.

-- PART setting
-- A number of a topic's packed settings (node/store/settings.h): paused until in 1-6, what is set in
-- 7-8, then the settings. Bit, form and first byte of one are written SETTING_DEAD_MAX, say: embed.cmake
-- puts them in from the definition in base/topic_settings.h. The number counts where `bit` of the set
-- ones is on; else that of the first rule that sets it; else it is 0.
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
-- (node/store/job.c).
local function rules_are_ours(packed, at)
    local most, kind, jitter, base, cap = parse('>I2BBI4I4', packed, at)
    return most <= 65534 and kind <= 2 and jitter <= 100 and base <= 2592000000 and cap <= 2592000000
end

-- PART settings_are_ours
-- Was the row of c written by dueq? As settings_unpack judges (node/store/settings.c): a row of another
-- version has more bytes, or fewer. Any other row counts as none.   (needs rules_are_ours)
local function settings_are_ours(row)
    return #row >= SETTINGS_LEAST and rules_are_ours(row, SETTINGS_RULES) and
        (#row > SETTINGS_LEAST or parse('>I2', row, 7) <= 255)
end
