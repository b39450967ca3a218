-- delivered: the consumers have these jobs; their time to run begins now.
--
-- KEYS   j p v t o, then z where the reservations were noted, and by rule the topic's e
-- ARGV   topic, then for each lease: id, stamp (6 bytes) and perhaps, packed as '>BI4', 1: it has
--        a TTR of its own, that TTR in ms, and behind it the name of the holder ('': not known)
-- answer code, now, wait, number of leases that were not valid any more
-- USES   now check_lease is_indexed event delivered_to
--
-- With TTR 0 a job is done with its delivery, also where its consumer touched it before the end
-- of the reply. Any other reservation that is confirmed already stays as it is: the script may
-- run twice, and what the consumer has done since must hold. With a topic's last job the scan
-- is called where a touch may have put it off, as in ack.

local j, p, v, t, o, z = unpack(KEYS)
local topic = ARGV[1]

-- HERE leases

local stale, soonest, was_touched = 0, math.huge, false
local kept, deadlines, gone, bodies, indexed = {}, {}, {}, {}, {}
local counted, over = 0, {} -- `over`: stamps
local e, expiring -- only where a job that is done would have expired

for i = 1, #ids do
    local id, value, stamp = ids[i], values[i], ARGV[2 * i + 1]
    local own_ttr, holder
    if #stamp > 6 then
        local has_ttr, ttr = parse('>BI4', stamp, 7)
        own_ttr, holder = has_ttr == 1 and ttr, sub(stamp, 12)
        stamp = sub(stamp, 1, 6)
    end
    if check_lease(value, stamp) ~= OK then
        stale = stale + 1
        over[#over + 1] = stamp
    else
        local ttr = own_ttr or parse('>I4', value, 4)
        if ttr == 0 then
            gone[#gone + 1] = id
            over[#over + 1] = stamp
            local first = byte(value)
            was_touched = was_touched or first % 64 >= 32
            if first % 16 >= 8 then
                call('HLEN', p)
                bodies[#bodies + 1] = id
            end
            if first % 128 >= 64 and parse('>I6', value, 41) > 0 then
                e = sub(j, 1, -#topic - 3) .. 'e:' .. topic
                call('ZCARD', e)
                expiring = expiring or {}
                expiring[#expiring + 1] = id
            end
            if is_indexed(o, value, id, topic) then
                indexed[#indexed + 1] = id
            end
            -- HERE counted
        elseif byte(value) % 64 < 32 then
            soonest = math.min(soonest, start + ttr)
            kept[#kept + 1] = id
            kept[#kept + 1] = delivered_to(value, holder)
            deadlines[#deadlines + 1] = format('%d', start + ttr)
            deadlines[#deadlines + 1] = id
        end
    end
end
if was_touched and call('HLEN', j) == #gone then
    soonest = now + 5000
end
-- HERE counter
if z and #over > 0 then
    call('HLEN', z)
end

call('ZREM', v, '') -- even if Redis is full
local wait = soonest < math.huge and event(t, topic, soonest) or -1
if #indexed > 0 then
    call('HDEL', o, unpack(indexed))
end
if #gone > 0 then
    if e then
        call('ZREM', e, unpack(expiring))
    end
    call('ZREM', v, unpack(gone))
    call('HDEL', j, unpack(gone))
end
if #bodies > 0 then
    call('HDEL', p, unpack(bodies))
end
-- HERE set_counter
if #kept > 0 then
    call('ZADD', v, unpack(deadlines))
    call('HSET', j, unpack(kept))
end
if z and #over > 0 then
    call('HDEL', z, unpack(over))
end
return {OK, now, wait, stale}
