-- pop: reserve the oldest ready jobs.
--
-- KEYS   j p r v t n o
-- ARGV   topic, count, 1: remember the owners in o
-- answer code, now, wait, more, then for each job: id, value, and where it is big its body
-- USES   now moved event
--
-- The deadline is a provisional one, until `delivered` says that the consumer has the job. It is
-- the same whatever the TTR: a short one would be over before the reply has been read.
--
-- It may stop short of what is wanted: tombstones on the way are dropped, but only so many a
-- call, and big bodies together have ROOM bytes at most, unless it is a single one. (A reply of
-- 64 large bodies would hold up Redis, the node's loop and all its clients.) Then `more` is 1,
-- and the caller asks anew.

local j, p, r, v, t, n, o = unpack(KEYS)
local topic, count, id_only = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local LOOK_MAX, LOOK_STEP = 1000, 100
local ROOM = 1048576 -- OP_POP_BYTES_MAX

local ids, values, bodies, seen, look = {}, {}, {}, 0, count
local room, more = ROOM, 0

while #ids < count and seen < LOOK_MAX do
    -- One entry is the common case, and LINDEX half the price.
    local entries = look == 1 and {call('LINDEX', r, '0') or nil}
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
        if value and byte(value) % 8 == READY and sub(value, 14, 19) == sub(entries[i], 1, 6) then
            local id = names[i]
            if byte(value) % 16 >= 8 then
                -- Its size first: reading what is not taken would cost as much as taking it.
                if #ids > 0 and call('HSTRLEN', p, id) > room then
                    count, more = #ids, 1
                    break
                end
                local body = call('HGET', p, id)
                if not body then
                    return redis.error_reply('DUEQ no body of ' .. id .. ' in ' .. p)
                end
                bodies[#ids + 1] = body
                room = room - #body
            end
            ids[#ids + 1] = id
            values[#values + 1] = value
        end
        seen = seen + 1
    end
    look = LOOK_STEP
end

if #ids == 0 then
    if seen > 0 then
        call('LTRIM', r, seen, -1)
    end
    return {OK, now, -1, seen >= LOOK_MAX and call('EXISTS', r) or 0}
end

local deadline, deadlines = format('%d', now + 5000), {} -- OP_UNCONFIRMED_MS
for i = 1, #ids do
    deadlines[2 * i - 1], deadlines[2 * i] = deadline, ids[i]
end
if #ids < count and seen >= LOOK_MAX and call('LLEN', r) > seen then
    more = 1
end

call('ZREM', v, '') -- even if Redis is full
local wait = event(t, topic, now + 5000)
local last = #ids == 1 and call('INCR', n) or call('INCRBY', n, #ids)
local answer, reserved, owners = {OK, now, wait, more}, {}, {}

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

if id_only then
    call('HSET', o, unpack(owners))
end
call('ZADD', v, unpack(deadlines))
if seen == 1 then
    call('LPOP', r)
else
    call('LTRIM', r, seen, -1)
end
call('HSET', j, unpack(reserved))
return answer
