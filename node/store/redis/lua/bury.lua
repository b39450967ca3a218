-- bury: the job is dead, until somebody kicks or deletes it; its holder says so.
--
-- KEYS   j v t x, then z where the reservation was noted, and by rule the topic's e
-- ARGV   topic, id, and packed as '>I6BI4' stamp, 1: it has another priority from now on, that priority
-- answer code, now, wait, tries
-- USES   now check_lease event confirmed raised moved expires beside die
--
-- A consumer that buries a job had it: that is a try.

local j, v, t, x, z = unpack(KEYS)
local topic, id = ARGV[1], ARGV[2]

local value = call('HGET', j, id)
local stamp = sub(ARGV[3], 1, 6)
local code = check_lease(value, stamp)
if z then
    call('HLEN', z)
end
if code ~= OK then
    if z then
        call('HDEL', z, stamp)
    end
    return {code, now, -1}
end
if byte(value) % 64 < 32 then
    value = confirmed(value)
end
local has_priority, rank = parse('>BI4', ARGV[3], 7)
if has_priority == 1 then
    -- HERE ruled with_priority
    value = with_priority(value, rank)
end
local e = beside(j, topic, 'e')
call('ZCARD', x)
call('ZCARD', e)

call('ZREM', v, '') -- even if Redis is full
local wait = event(t, topic, now + 1000)
die(j, x, e, id, raised(value, BURIES), BURIED)
call('ZREM', v, id)
if z then
    call('HDEL', z, stamp)
end
return {OK, now, wait, (parse('>I2', value, 2))}
