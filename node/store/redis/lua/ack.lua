-- ack: the job is done; it is gone.
--
-- KEYS   j p v o, then z where the reservation was noted, and by rule the bucket's t and the topic's e: the name of j with their letters
-- ARGV   topic, id, stamp (6 bytes)
-- answer code, 0, wait
-- USES   check_lease is_indexed
--
-- A lease holds until its job is moved, so the script needs no clock, which would be a tenth of
-- its time.
--
-- The scan removes a topic without jobs, but may be planned only for the end of this
-- reservation: so the last ack calls the scan. (A reservation that is not confirmed ends in
-- seconds, and the scan comes anyway.) The event is written out: a function here costs 3 %.

local j, p, v, o, z = unpack(KEYS)
local topic, id = ARGV[1], ARGV[2]

local value = call('HGET', j, id)
local code = check_lease(value, ARGV[3])
if z then
    call('HLEN', z)
end
if code ~= OK then
    if z then
        call('HDEL', z, ARGV[3])
    end
    return {code, 0, -1}
end
-- HERE belongings
local e
if byte(value) % 128 >= 64 and parse('>I6', value, 41) > 0 then
    e = sub(j, 1, -#topic - 3) .. 'e:' .. topic
    call('ZCARD', e)
end
local wait, soon = -1, 5000
if byte(value) % 64 >= 32 and call('HLEN', j) == 1 then
    local time = call('TIME')
    local at = time[1] * 1000 + math.floor(time[2] / 1000) + soon
    local t, score = sub(j, 1, -#topic - 3) .. 't', format('%d', at)
    call('ZREM', v, '') -- even if Redis is full
    if call('ZADD', t, 'LT', 'CH', score, topic) == 1 then
        wait = soon
    end
end

call('ZREM', v, id)
-- HERE forget
if z then
    call('HDEL', z, ARGV[3])
end
return {OK, 0, wait}
