-- cancel: the job is gone, wherever it was, or where it may be cancelled.
--
-- KEYS   j p d v x o r t a q, and by rule the topic's e
-- ARGV   topic, id, the states from which this is done, as the sum of their 2^state; 0: any; and perhaps, packed
--        as '>I6I5I6', the due time, the delay and when it was created (0: no EXTRA) that it must have
-- answer code, now, wait (always -1)
-- USES   now is_indexed rank_of expires beside place_of
--
-- The entry of a ready job stays in r as a tombstone: searching the list would take long. With
-- the topic's last job all of r is tombstones, and the topic goes. (A job that a place still
-- names is an orphan, and left to the scan.)

local j, p, d, v, x, o, r, t, a, q = unpack(KEYS)
local topic, id, mask, seen = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

-- Its due, delay and creation, as `seen` has them: what a push writes anew.
local function as_seen(value)
    local has_extra = byte(value) % 128 >= 64 and byte(value, 31) >= 128
    return sub(value, 8, 13) .. char(byte(value, 20) % 128) .. sub(value, 21, 24) -- without JOB_COUNTED
        .. (has_extra and sub(value, 55, 60) or '\0\0\0\0\0\0')
end

local value = call('HGET', j, id)
if not value then
    return {NOT_FOUND, now, -1}
elseif mask > 0 and math.floor(mask / 2 ^ (byte(value) % 8)) % 2 == 0 then
    return {WRONG_STATE, now, -1}
elseif seen and seen ~= as_seen(value) then
    return {WRONG_STATE, now, -1}
end
-- HERE belongings
local is_last = call('HLEN', j) == 1
if is_last then
    call('ZCARD', t)
    call('ZCARD', a)
end
local place, member = place_of(j, topic, id, value)
local e = expires(value) > 0 and beside(j, topic, 'e')
local is_alone = place and call('ZCARD', place) == 1
if is_last then
    is_alone = is_alone and call('ZSCORE', place, member)
    is_last = call('EXISTS', d, v, x, q) == (is_alone and 1 or 0)
end
if e then
    call('ZCARD', e)
end
local clearing
if not place and clears and not is_last then
    -- HERE names_ready tombstones
    clearing = plan_clearing(j, topic, r)
end

if place then
    call('ZREM', place, member)
end
-- HERE forget
if clearing then
    clearing.run(r, clearing)
end
if is_last then
    call('UNLINK', r)
    call('ZREM', t, topic)
    call('ZREM', a, topic)
end
return {OK, now, -1}
