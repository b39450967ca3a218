-- ack: the job is done; it is gone.
--
-- KEYS   j p v o
-- ARGV   topic, id, stamp (6 bytes)
-- answer code, now, wait (always -1)
-- USES   check_lease owns

local j, p, v, o = unpack(KEYS)
local topic, id = ARGV[1], ARGV[2]

local value = call('HGET', j, id)
local code = check_lease(value, ARGV[3])
if code ~= OK then
    return {code, now, -1}
end
local is_big = byte(value) % 16 >= 8
if is_big then
    call('HLEN', p)
end
local is_owner = owns(o, value, id, topic)

call('ZREM', v, id)
call('HDEL', j, id)
if is_big then
    call('HDEL', p, id)
end
if is_owner then
    call('HDEL', o, id)
end
return {OK, now, -1}
