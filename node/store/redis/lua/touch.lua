-- touch: the consumer needs longer; its deadline is TTR from now.
--
-- KEYS   j v t
-- ARGV   topic, id, stamp (6 bytes), TTR ms (0: the job's own; and where that is 0, 5 s)
-- answer code, now, wait, deadline
-- USES   now check_lease event confirmed
--
-- A consumer that touches a job has it: the touch confirms the reservation.

local j, v, t = unpack(KEYS)
local topic, id, ttr = ARGV[1], ARGV[2], tonumber(ARGV[4])

local value = call('HGET', j, id)
local code = check_lease(value, ARGV[3])
if code ~= OK then
    return {code, now, -1}
end
if ttr == 0 then
    ttr = parse('>I4', value, 4)
end
if ttr == 0 then
    ttr = 5000
end
local deadline = start + ttr

call('ZREM', v, '') -- even if Redis is full
local wait = event(t, topic, deadline)
call('ZADD', v, format('%d', deadline), id)
if byte(value) % 64 < 32 then
    call('HSET', j, id, confirmed(value))
end
return {OK, now, wait, deadline}
