-- configure: other settings for the topic; a pause, or its end.
--
-- KEYS   c t a r q
-- ARGV   topic, mask (bit n: setting n becomes what is given, or unset), settings, packed
--        (node/store/settings.h), pause: 0 as it is, 1 until the time given (0: none), 2 for some
--        ms, ms
-- answer code, now, wait, the settings as they are now, packed ('': none)
-- USES   now wake event setting rules_are_ours settings_are_ours
--
-- All nodes hear of the change: `=topic`. Where a pause ends, or its end comes closer, waiting
-- consumers hear of it, too. The scan is called where it may have to delete dead jobs, and for
-- the pause's end; but a topic without jobs has no events: its first push plans the pause's
-- end.
--
-- A Redis without memory left refuses a new row of c, as it does a push: else there could be
-- any number of rows. A change of a row may lead jobs to their end, and is not refused.

local c, t, a, r, q = unpack(KEYS)
local topic, mask, given, mode = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local FOREVER, NOTHING = 281474976710655, string.rep('\0', SETTINGS_BYTES)
local FIELDS = SETTINGS_OFFSETS

local found = call('HGET', c, topic)
local row = found and settings_are_ours(found) and found or NOTHING
local old = parse('>I6', row)
local until_ms = old
if mode == '1' then
    until_ms = parse('>I6', given)
    if until_ms > 0 and until_ms <= now then
        return {OUT_OF_RANGE, now, -1}
    end
elseif mode == '2' then
    until_ms = math.min(start + tonumber(ARGV[5]), FOREVER)
end

local sets, fields = 0, ''
for i, field in ipairs(FIELDS) do
    local bit = 2 ^ (i - 1)
    local from = math.floor(mask / bit) % 2 == 1 and given or row
    if math.floor(parse('>I2', from, 7) / bit) % 2 == 1 then
        sets = sets + bit
        fields = fields .. sub(from, field[1], field[2])
    else
        fields = fields .. sub(NOTHING, field[1], field[2])
    end
end
-- What a newer version has set stays as it is.
local known = 2 ^ #FIELDS
sets = sets + math.floor(parse('>I2', row, 7) / known) * known
local new = pack('>I6I2', until_ms, sets) .. fields .. sub(row, SETTINGS_BYTES + 1)

local is_nothing = not string.find(new, '[^%z]')

-- -1: not set.
local function own(packed, bit, form, at)
    return is_set(packed, bit) and parse(form, packed, at) or -1
end
local at = math.huge
if call('ZSCORE', a, topic) then
    if own(row, SETTING_DEAD_MAX) ~= own(new, SETTING_DEAD_MAX) or
        own(row, SETTING_DEAD_AGE) ~= own(new, SETTING_DEAD_AGE) then
        at = now
    elseif until_ms ~= old and until_ms > 0 and until_ms < FOREVER then
        at = until_ms
    end
end
local is_shorter = until_ms < old and (call('LLEN', r) > 0 or call('ZCARD', q) > 0)

wake(c, '=' .. topic)
if is_shorter then
    wake(c, topic)
end
if found or is_nothing then
    call('ZREM', t, '') -- even if Redis is full
end
local wait = at < math.huge and event(t, topic, at) or -1
if is_nothing then
    call('HDEL', c, topic)
else
    call('HSET', c, topic, new)
end
return {OK, now, wait, not is_nothing and new or ''}
