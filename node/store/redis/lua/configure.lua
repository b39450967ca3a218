-- configure: other settings for the topic; a pause, or its end.
--
-- KEYS   c t a r q
-- ARGV   topic, mask (bit n: setting n becomes what is given, or unset), settings, packed
--        (node/store/settings.h), pause: 0 as it is, 1 until the time given (0: none), 2 for some
--        ms, ms
-- answer code, now, wait, the settings as they are now, packed ('': none)
-- USES   now wake event rules_are_ours settings_are_ours
--
-- All nodes hear of it: `=topic`. And where a pause ends, or its end comes closer, those who wait
-- for jobs do. The scan is called where it may have to let dead jobs go, and for the pause's end;
-- but a topic without jobs has no events: the push that makes it one plans the end.
--
-- One more row of c is refused by a Redis without memory left, as a push is: else there could be any
-- number of them. A change of a row may lead jobs to their end, and goes on.

local c, t, a, r, q = unpack(KEYS)
local topic, mask, given, mode = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local FOREVER, NOTHING = 281474976710655, string.rep('\0', 45)
local FIELDS = {{9, 12}, {13, 16}, {17, 18}, {19, 28}, {29, 34}, {35, 38}, {39, 44}, {45, 45}}

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
local new = pack('>I6I2', until_ms, sets) .. fields

-- What is set is in 7-8: bits 32 and 64 are the limits of the dead.
local function limits(packed)
    local set = parse('>I2', packed, 7)
    return set % 128 - set % 32, sub(packed, 35, 44)
end
local at = math.huge
if call('ZSCORE', a, topic) then
    local old_set, old_limits = limits(row)
    local new_set, new_limits = limits(new)
    if old_set ~= new_set or old_limits ~= new_limits then
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
if found or new == NOTHING then
    call('ZREM', t, '') -- even if Redis is full
end
local wait = at < math.huge and event(t, topic, at) or -1
if new == NOTHING then
    call('HDEL', c, topic)
else
    call('HSET', c, topic, new)
end
return {OK, now, wait, new ~= NOTHING and new or ''}
