-- delivered: the consumers have these jobs; their time to run begins now.
--
-- KEYS   j p v t o
-- ARGV   topic, then for each lease: id, stamp (6 bytes) and perhaps a TTR of its own (4 bytes)
-- answer code, now, wait, number of leases that were not valid any more
-- USES   now check_lease owns event confirmed
--
-- With TTR 0 a job is done with its delivery, also where its consumer touched it before the end
-- of the reply. Any other reservation that is confirmed already stays as it is: this may be said
-- again, and what the consumer has done since must hold. With the last job of a topic the scan is
-- called where a touch may have put it off, as in ack.

local j, p, v, t, o = unpack(KEYS)
local topic = ARGV[1]

local ids = {}
for i = 2, #ARGV, 2 do
    ids[#ids + 1] = ARGV[i]
end
local values = call('HMGET', j, unpack(ids))

local stale, soonest, was_touched = 0, math.huge, false
local kept, deadlines, gone, bodies, owners = {}, {}, {}, {}, {}

for i = 1, #ids do
    local id, value, stamp = ids[i], values[i], ARGV[2 * i + 1]
    local own_ttr
    if #stamp > 6 then
        own_ttr = parse('>I4', stamp, 7)
        stamp = sub(stamp, 1, 6)
    end
    if check_lease(value, stamp) ~= OK then
        stale = stale + 1
    else
        local ttr = own_ttr or parse('>I4', value, 4)
        if ttr == 0 then
            gone[#gone + 1] = id
            was_touched = was_touched or byte(value) >= 32
            if byte(value) % 16 >= 8 then
                call('HLEN', p)
                bodies[#bodies + 1] = id
            end
            if owns(o, value, id, topic) then
                owners[#owners + 1] = id
            end
        elseif byte(value) < 32 then
            soonest = math.min(soonest, now + ttr)
            kept[#kept + 1] = id
            kept[#kept + 1] = confirmed(value)
            deadlines[#deadlines + 1] = format('%d', now + ttr)
            deadlines[#deadlines + 1] = id
        end
    end
end
if was_touched and call('HLEN', j) == #gone then
    soonest = now + 5000
end

call('ZREM', v, '') -- even if Redis is full
local wait = soonest < math.huge and event(t, topic, soonest) or -1
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
if #kept > 0 then
    call('ZADD', v, unpack(deadlines))
    call('HSET', j, unpack(kept))
end
return {OK, now, wait, stale}
