-- delivered: the consumers have these jobs; their time to run begins now.
--
-- KEYS   j p v t o
-- ARGV   topic, then for each lease: id, stamp (6 bytes)
-- answer code, now, wait, number of leases that were not valid any more
-- USES   check_lease owns
--
-- A job with TTR 0 is done with its delivery.

local j, p, v, t, o = unpack(KEYS)
local topic = ARGV[1]

local ids = {}
for i = 2, #ARGV, 2 do
    ids[#ids + 1] = ARGV[i]
end
local values = call('HMGET', j, unpack(ids))

local stale, soonest = 0, math.huge
local kept, deadlines, gone, bodies, owners = {}, {}, {}, {}, {}

for i = 1, #ids do
    local id, value = ids[i], values[i]
    if check_lease(value, ARGV[2 * i + 1]) ~= OK then
        stale = stale + 1
    else
        local tries, ttr = parse('>I2I4', value, 2)
        if ttr == 0 then
            gone[#gone + 1] = id
            if byte(value) % 16 >= 8 then
                call('HLEN', p)
                bodies[#bodies + 1] = id
            end
            if owns(o, value, id, topic) then
                owners[#owners + 1] = id
            end
        else
            tries = math.min(tries + 1, 65535)
            soonest = math.min(soonest, now + ttr)
            kept[#kept + 1] = id
            kept[#kept + 1] = sub(value, 1, 1) .. pack('>I2', tries) .. sub(value, 4)
            deadlines[#deadlines + 1] = format('%d', now + ttr)
            deadlines[#deadlines + 1] = id
        end
    end
end

local event, wait = #kept > 0 and format('%d', soonest), -1
if event and call('ZCOUNT', t, '-inf', event) == 0 then
    wait = soonest - now
end

call('ZREM', v, '') -- even if Redis is full
if #gone > 0 then
    call('ZREM', v, unpack(gone))
    call('HDEL', j, unpack(gone))
end
if #bodies > 0 then
    call('HDEL', p, unpack(bodies))
end
if #owners > 0 then
    call('HDEL', o, unpack(owners))
end
if event then
    call('ZADD', v, unpack(deadlines))
    call('HSET', j, unpack(kept))
    call('ZADD', t, 'LT', event, topic)
end
return {OK, now, wait, stale}
