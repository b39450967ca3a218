-- pop: reserve the oldest ready jobs.
--
-- KEYS   j p r v t n o
-- ARGV   topic, count, 1: remember the owners in o
-- answer code, now, wait, again, then for each job: id, value, and where it is big its body
-- USES   moved wake
--
-- The deadline is a provisional one, until `delivered` says that the consumer has the job.
-- Tombstones on the way are dropped, but only so many a call. `again` is 1 when nothing but
-- tombstones were found and there are more entries: the caller asks anew. Where some jobs
-- were found, but fewer than wanted, the topic is announced instead.

local j, p, r, v, t, n, o = unpack(KEYS)
local topic, count, id_only = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local LOOK_MAX, LOOK_STEP = 1000, 100

local ids, values, seen, look = {}, {}, 0, count

while #ids < count and seen < LOOK_MAX do
    -- One entry is the common case, and LINDEX half the price.
    local entries = look == 1 and {call('LINDEX', r, seen) or nil}
        or call('LRANGE', r, seen, seen + look - 1)
    if #entries == 0 then
        break
    end
    local names = {}
    for i = 1, #entries do
        names[i] = sub(entries[i], 7)
    end
    local found = call('HMGET', j, unpack(names))
    for i = 1, #entries do
        local value = found[i]
        if #ids == count then
            break
        end
        seen = seen + 1
        if value and byte(value) % 8 == READY and sub(value, 14, 19) == sub(entries[i], 1, 6) then
            ids[#ids + 1] = names[i]
            values[#values + 1] = value
        end
    end
    look = LOOK_STEP
end

if #ids == 0 then
    if seen > 0 then
        call('LTRIM', r, seen, -1)
    end
    return {OK, now, -1, seen >= LOOK_MAX and call('EXISTS', r) or 0}
end

local bodies, deadlines, soonest = {}, {}, math.huge
for i = 1, #ids do
    local ttr = parse('>I4', values[i], 4)
    local deadline = now + (ttr == 0 and 5000 or math.min(math.max(ttr, 1000), 5000))

    soonest = math.min(soonest, deadline)
    deadlines[2 * i - 1], deadlines[2 * i] = format('%d', deadline), ids[i]
    if byte(values[i]) % 16 >= 8 then
        bodies[i] = call('HGET', p, ids[i])
        if not bodies[i] then
            return redis.error_reply('DUEQ no body of ' .. ids[i] .. ' in ' .. p)
        end
    end
end
if id_only then
    call('HLEN', o)
end
local event = format('%d', soonest)
local wait = call('ZCOUNT', t, '-inf', event) == 0 and soonest - now or -1
if #ids < count and seen >= LOOK_MAX and call('LLEN', r) > seen then
    wake(j, topic)
end

call('ZREM', v, '') -- even if Redis is full
local last = call('INCRBY', n, #ids)
local answer, reserved, owners = {OK, now, wait, 0}, {}, {}

for i = 1, #ids do
    local id, stamp = ids[i], pack('>I6', last - #ids + i)
    local becomes_owned = id_only and byte(values[i]) % 32 < 16
    local value = moved(values[i], RESERVED + (becomes_owned and 16 or 0), stamp)

    if id_only then
        owners[2 * i - 1], owners[2 * i] = id, stamp .. topic
    end
    reserved[2 * i - 1], reserved[2 * i] = id, value
    answer[#answer + 1] = id
    answer[#answer + 1] = value
    answer[#answer + 1] = bodies[i]
end

call('ZADD', v, unpack(deadlines))
if seen == 1 then
    call('LPOP', r)
else
    call('LTRIM', r, seen, -1)
end
call('HSET', j, unpack(reserved))
if id_only then
    call('HSET', o, unpack(owners))
end
call('ZADD', t, 'LT', event, topic)
return answer
