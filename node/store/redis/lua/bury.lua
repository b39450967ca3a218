-- bury: the job is dead, until somebody kicks or deletes it; its holder says so.
--
-- KEYS   j v t x, and by rule the topic's e
-- ARGV   topic, id, stamp (6 bytes)
-- answer code, now, wait, tries
-- USES   now check_lease event confirmed raised moved expires beside die
--
-- A consumer that buries a job had it: that is a try.

local j, v, t, x = unpack(KEYS)
local topic, id = ARGV[1], ARGV[2]

local value = call('HGET', j, id)
local code = check_lease(value, ARGV[3])
if code ~= OK then
    return {code, now, -1}
end
if byte(value) % 64 < 32 then
    value = confirmed(value)
end
local e = beside(j, topic, 'e')
call('ZCARD', x)
call('ZCARD', e)

call('ZREM', v, '') -- even if Redis is full
local wait = event(t, topic, now + 1000)
die(j, x, e, id, raised(value, BURIES), BURIED)
call('ZREM', v, id)
return {OK, now, wait, (parse('>I2', value, 2))}
