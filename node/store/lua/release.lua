-- release: the consumer gives the job back, at once or with a delay.
--
-- KEYS   j r d v t n o
-- ARGV   topic, id, stamp (6 bytes), delay ms
-- answer code, now, wait
--
-- The job is due anew, now + delay; the delay it was pushed with stays in its header. Nobody
-- owns it any more.

local j, r, d, v, t, n, o = unpack(KEYS)
local topic, id, delay = ARGV[1], ARGV[2], tonumber(ARGV[4])

local value = call('HGET', j, id)
local code = check_lease(value, ARGV[3])
if code == OK and delay >= 2 ^ 40 then
    code = OUT_OF_RANGE
end
if code ~= OK then
    return {code, now, -1}
end
local due = now + delay
local wait = delay > 0 and wait_for(t, due) or -1
local was_empty = delay == 0 and call('LLEN', r) == 0
local is_owner = owns(o, value, id, topic)
local flags = byte(value) - RESERVED - (is_owner and 16 or 0)

even_if_full(v)

local function put(state, stamp)
    call('ZREM', v, id)
    call('HSET', j, id, char(flags + state) .. sub(value, 2, 7) .. pack('>I6I6', due, stamp)
        .. sub(value, 20))
    if is_owner then
        call('HDEL', o, id)
    end
end

if delay > 0 then
    call('ZADD', d, text(due), id)
    put(DELAYED, 0)
    add_event(t, topic, due)
    return {OK, now, wait}
end

local stamp = call('INCR', n)
call('RPUSH', r, pack('>I6', stamp) .. id)
put(READY, stamp)
if was_empty then
    wake(j, topic)
end
return {OK, now, -1}
