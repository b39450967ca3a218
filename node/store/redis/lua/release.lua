-- release: the consumer gives the job back, at once or with a delay.
--
-- KEYS   j r d v t n o q x, and by rule the topic's e
-- ARGV   topic, id, stamp (6 bytes), delay ms (-1: what the job's backoff says)
-- answer code, now, wait, due (0: it died), tries, why it died (0: it did not)
-- USES   now check_lease owns wake event confirmed moved due_at priority expires used_up rest beside make_ready die
--
-- The job is due anew, after the delay; the delay it was pushed with stays in its header. The
-- job has no owner any more. A consumer that releases a job had it: that is a try, perhaps the
-- last.

local j, r, d, v, t, n, o, q, x = unpack(KEYS)
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
local is_owner = owns(o, value, id, topic)
if byte(value) % 64 < 32 then
    value = confirmed(value)
end
local tries, dies = parse('>I2', value, 2), used_up(value)
if delay < 0 then
    delay = rest(value)
end
local due, e, wait = delay > 0 and start + delay or now, beside(j, topic, 'e'), -1
if dies then
    due = 0
    call('ZCARD', x)
    call('ZCARD', e)
elseif delay == 0 then
    before_ready(r, q, topic, value)
end

call('ZREM', v, '') -- even if Redis is full
if dies then
    wait = event(t, topic, now + 1000)
    die(j, x, e, id, value, TRIES)
elseif delay == 0 then
    local key = pack('>I6', MIDDLE + call('INCR', n))
    make_ready(r, q, id, value, key)
    call('HSET', j, id, moved(due_at(value, due), READY, key))
else
    wait = event(t, topic, due)
    call('ZADD', d, format('%d', due), id)
    call('HSET', j, id, moved(due_at(value, due), DELAYED, '\0\0\0\0\0\0'))
end
call('ZREM', v, id)
if is_owner then
    call('HDEL', o, id)
end
return {OK, now, wait, due, tries, dies and TRIES or 0}
