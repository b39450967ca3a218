-- ack_many: the acknowledgements of one topic's jobs that met in one turn of the node's loop.
--
-- KEYS   j p v o, perhaps z, and by rule as ack
-- ARGV   topic, then for each job: id, stamp (6 bytes)
-- answer OK, 0, wait, then for each job: code
-- USES   check_lease is_indexed
--
-- For each job it does what ack does for one, in their order, but it writes each key once.

local j, p, v, o, z = unpack(KEYS)
local topic = ARGV[1]

-- HERE leases

local answer, gone, bodies, indexed, was_confirmed = {OK, 0, -1}, {}, {}, {}, false
local seen, e, expiring, counted = {}, nil, {}, 0
for i = 1, #ids do
    local id, value = ids[i], values[i]
    local code = seen[id] and NOT_FOUND or check_lease(value, ARGV[2 * i + 1])
    answer[i + 3] = code
    if code == OK then
        local first = byte(value)
        seen[id] = true
        gone[#gone + 1] = id
        was_confirmed = was_confirmed or first % 64 >= 32
        if first % 16 >= 8 then
            if #bodies == 0 then
                call('HLEN', p)
            end
            bodies[#bodies + 1] = id
        end
        if first % 128 >= 64 and parse('>I6', value, 41) > 0 then
            if not e then
                e = sub(j, 1, -#topic - 3) .. 'e:' .. topic
                call('ZCARD', e)
            end
            expiring[#expiring + 1] = id
        end
        if is_indexed(o, value, id, topic) then
            indexed[#indexed + 1] = id
        end
        -- HERE counted
    end
end
-- HERE counter
local over = {}
for i = 3, z and #ARGV or 0, 2 do
    over[#over + 1] = ARGV[i]
end
if z then
    call('HLEN', z)
end
if #gone == 0 then
    if z then
        call('HDEL', z, unpack(over))
    end
    return answer
end
if was_confirmed and call('HLEN', j) == #gone then
    call('ZREM', v, '') -- even if Redis is full
    local time, soon = call('TIME'), 5000
    local at = time[1] * 1000 + math.floor(time[2] / 1000) + soon
    if call('ZADD', sub(j, 1, -#topic - 3) .. 't', 'LT', 'CH', format('%d', at), topic) == 1 then
        answer[3] = soon
    end
end
call('ZREM', v, unpack(gone))
if e then
    call('ZREM', e, unpack(expiring))
end
if #indexed > 0 then
    call('HDEL', o, unpack(indexed))
end
call('HDEL', j, unpack(gone))
if #bodies > 0 then
    call('HDEL', p, unpack(bodies))
end
-- HERE set_counter
if z then
    call('HDEL', z, unpack(over))
end
return answer
