-- cancel: the job is gone, wherever it was.
--
-- KEYS   j p d v x o
-- ARGV   topic, id
-- answer code, now, wait (always -1)
-- USES   owns
--
-- The entry of a ready job stays in r as a tombstone: to search the list would take long.

local j, p, d, v, x, o = unpack(KEYS)
local topic, id = ARGV[1], ARGV[2]

local value = call('HGET', j, id)
if not value then
    return {NOT_FOUND, now, -1}
end
local is_big = byte(value) % 16 >= 8
if is_big then
    call('HLEN', p)
end
local is_owner = owns(o, value, id, topic)
local place = ({[DELAYED] = d, [RESERVED] = v, [DEAD] = x})[byte(value) % 8]

if place then
    call('ZREM', place, id)
end
call('HDEL', j, id)
if is_big then
    call('HDEL', p, id)
end
if is_owner then
    call('HDEL', o, id)
end
return {OK, now, -1}
