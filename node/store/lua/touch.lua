-- touch: the consumer needs longer; its deadline is TTR from now.
--
-- KEYS   j v t
-- ARGV   topic, id, stamp (6 bytes), TTR ms (0: the job's own; and where that is 0, 5 s)
-- answer code, now, wait
-- USES   check_lease

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
local deadline = now + ttr
local event = format('%d', deadline)
local wait = call('ZCOUNT', t, '-inf', event) == 0 and deadline - now or -1

call('ZREM', v, '') -- even if Redis is full
call('ZADD', v, event, id)
call('ZADD', t, 'LT', event, topic)
return {OK, now, wait}
