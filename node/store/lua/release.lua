-- release: the consumer gives the job back, at once or with a delay.
--
-- KEYS   j r d v t n o
-- ARGV   topic, id, stamp (6 bytes), delay ms
-- answer code, now, wait
-- USES   now check_lease owns wake event confirmed
--
-- The job is due anew, now + delay; the delay it was pushed with stays in its header. Nobody
-- owns it any more. Who gives it back had it: that is a try.

local j, r, d, v, t, n, o = unpack(KEYS)
local topic, id, delay = ARGV[1], ARGV[2], tonumber(ARGV[4])
local DELAY_MAX = 3650 * 86400000

local value = call('HGET', j, id)
local code = check_lease(value, ARGV[3])
if code == OK and delay > DELAY_MAX then
    code = OUT_OF_RANGE
end
if code ~= OK then
    return {code, now, -1}
end
local due, stamp, wait = now + delay, 0, -1
local is_owner = owns(o, value, id, topic)
if byte(value) < 32 then
    value = confirmed(value)
end
if delay == 0 and call('LLEN', r) == 0 then
    wake(j, topic)
end

call('ZREM', v, '') -- even if Redis is full
if delay == 0 then
    stamp = call('INCR', n)
    call('RPUSH', r, pack('>I6', stamp) .. id)
else
    wait = event(t, topic, due)
    call('ZADD', d, format('%d', due), id)
end
call('ZREM', v, id)
local first = byte(value) - 32 - RESERVED + (delay == 0 and READY or DELAYED) - (is_owner and 16 or 0)
call('HSET', j, id, char(first) .. sub(value, 2, 7) .. pack('>I6I6', due, stamp) .. sub(value, 20))
if is_owner then
    call('HDEL', o, id)
end
return {OK, now, wait}
