-- release: consumers give jobs of a topic back, at once or with a delay; one, or those that met in one
-- turn of the node's loop.
--
-- KEYS   j r d v t n q x, then z where the reservations were noted, and by rule the topic's e
-- ARGV   topic, then for each job: id, and packed as '>I6I6BI4' stamp, delay ms + 1 (0: what the job's
--        backoff says), 1: it has another priority from now on + 2: its holder is gone, and did not ask
--        for it; that priority
-- answer OK, now, wait, then for each job: code, due (0: it died), tries, why it died (0: it did not)
-- USES   now check_lease confirmed raised moved due_at expires used_up rest beside wake become_ready event
--
-- A job is due anew, after the delay; the delay it was pushed with stays in its header. A consumer
-- that releases a job had it: that is a try, perhaps the last; but one that is gone had it only where
-- that was confirmed. They are released in their order, but what there is for a key is written at once.

local j, r, d, v, t, n, q, x, z = unpack(KEYS)
local topic = ARGV[1]
local DELAY_MAX = 4294967295000 -- JOB_DELAY_MAX_MS
local HAS_PRIORITY, IS_END = 1, 2

-- HERE leases

local answer, released, seen, soonest = {OK, now, -1}, {}, {}, math.huge
local ready, later, dying, mortal, changed = ready_batch({}, {}), {}, {}, {}, {}
local over = {} -- stamps
for i = 1, #ids do
    local id, value, stamp = ids[i], values[i], sub(ARGV[2 * i + 1], 1, 6)
    local delay, flags, rank = parse('>I6BI4', ARGV[2 * i + 1], 7)
    local due, tries, death, is_end = 0, 0, 0, flags >= IS_END
    delay = delay - 1
    local code = seen[id] and NOT_RESERVED or check_lease(value, stamp)
    if code == OK and delay > DELAY_MAX then
        code = OUT_OF_RANGE
    end
    if code == OK then
        seen[id] = true
        released[#released + 1] = id
        if not is_end then
            value = raised(byte(value) % 64 < 32 and confirmed(value) or value, RELEASES)
        end
        if flags % IS_END == HAS_PRIORITY then
            -- HERE ruled with_priority
            value = with_priority(value, rank)
        end
        tries = parse('>I2', value, 2)
        if delay < 0 then
            delay = rest(value)
        end
        if byte(value) % 64 >= 32 and used_up(value) then
            death, soonest = TRIES, math.min(soonest, now + 1000)
            dying[#dying + 1] = format('%d', now)
            dying[#dying + 1] = id
            changed[#changed + 1] = id
            changed[#changed + 1] = moved(value, DEAD, pack('>I6', TRIES))
            if expires(value) > 0 then
                mortal[#mortal + 1] = id
            end
        elseif delay > 0 then
            due = start + delay
            soonest = math.min(soonest, due)
            later[#later + 1] = format('%d', due)
            later[#later + 1] = id
            changed[#changed + 1] = id
            changed[#changed + 1] = moved(due_at(value, due), DELAYED, '\0\0\0\0\0\0')
        else
            due = now
            add_ready(ready, id, due_at(value, due))
        end
    end
    if z and code ~= OUT_OF_RANGE then
        over[#over + 1] = stamp
    end
    local at = #answer
    answer[at + 1], answer[at + 2], answer[at + 3], answer[at + 4] = code, due, tries, death
end
if #over > 0 then
    call('HLEN', z)
end
if #released == 0 then
    if #over > 0 then
        call('HDEL', z, unpack(over))
    end
    return answer
end
local e = beside(j, topic, 'e')
if #dying > 0 then
    call('ZCARD', x)
end
if #mortal > 0 then
    call('ZCARD', e)
end
local count = #ready.ids
if count > 0 and batch_wakes(ready, r, q) then
    wake(r, topic)
end

call('ZREM', v, '') -- even if Redis is full
local number = count > 0 and call('INCRBY', n, count) - count
if soonest < math.huge then
    answer[3] = event(t, topic, soonest)
end
if #later > 0 then
    call('ZADD', d, unpack(later))
end
if #dying > 0 then
    call('ZADD', x, unpack(dying))
end
if count > 0 then
    put_ready(ready, r, q, number, changed)
end
call('HSET', j, unpack(changed))
call('ZREM', v, unpack(released))
if #mortal > 0 then
    call('ZREM', e, unpack(mortal))
end
if #over > 0 then
    call('HDEL', z, unpack(over))
end
return answer
