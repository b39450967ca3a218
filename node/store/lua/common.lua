-- What stands before every script: the clock, the header of a job, events, wake-ups.
--
-- A script is this text and its own, one after the other. Its answer is an array that begins
-- with {code, now, wait}: a code of the table below, the clock the script ran by, and for the
-- bucket's scanner the milliseconds to the event that became the bucket's first one (-1: none
-- did). What follows is the script's own.
--
-- Invariants of all scripts:
--   - Everything is read and checked before the first write, so an error leaves all jobs as
--     they were. A key that is not read is written first of all; only the counter may come
--     before it, because a gap in the counter means nothing.
--   - Large numbers become text by text(), never by '..', which turns them into exponents,
--     and are not handed to redis.call, which prints them as floating point: that alone made a
--     push half as fast. For the same reason scores are not read where a count will do.
--
-- A job's value (node/store/job.h), 1-based: state and flags 1, tries 2-3, TTR 4-7, due 8-13,
-- stamp 14-19, delay 20-24, body from 25.

local OK, DUPLICATE, NOT_FOUND, NOT_RESERVED, NOT_OWNER, OUT_OF_RANGE = 0, 1, 2, 3, 4, 5
local DELAYED, READY, RESERVED, DEAD = 1, 2, 3, 4

local call, sub, byte, char = redis.call, string.sub, string.byte, string.char
local pack = struct.pack

-- Whole numbers below 2^53: Lua's %d is a C long.
local function text(number)
    return string.format('%d', number)
end

local time = call('TIME')
local micros = tonumber(time[2])
local now = time[1] * 1000 + (micros - micros % 1000) / 1000

local function state_of(value)
    return byte(value) % 8
end

-- The body is in p.
local function is_big(value)
    return byte(value) % 16 >= 8
end

-- There may be an entry in o.
local function is_owned(value)
    return byte(value) % 32 >= 16
end

-- The value in another state, with another stamp.
local function moved(value, state, stamp)
    local first = byte(value)
    return char(first - first % 8 + state) .. sub(value, 2, 13) .. stamp .. sub(value, 20)
end

-- Called before the first write of whatever leads a job towards its end. A Redis that has no
-- memory left refuses a script's first write if it could need some, and then all scripts that
-- free memory would wait for those that cannot. After a harmless write it refuses nothing.
-- `place` is a sorted set.
local function even_if_full(place)
    call('ZREM', place, '')
end

-- Will `at` be the bucket's first event? To be asked before the first write. Returns `wait`
-- for the answer.
local function wait_for(t, at)
    if call('ZCOUNT', t, '-inf', text(at)) > 0 then
        return -1
    end
    return math.max(0, at - now)
end

-- Something happens in the topic at `at`.
local function add_event(t, topic, at)
    call('ZADD', t, 'LT', text(at), topic)
end

-- The topic had no ready job and has one now. `key` is any key of the bucket.
local function wake(key, topic)
    call('PUBLISH', sub(key, 1, string.find(key, '{', 1, true) - 1) .. 'ready', topic)
end

-- Why this lease of a job is not valid, or OK.
local function check_lease(value, stamp)
    if not value then
        return NOT_FOUND
    elseif state_of(value) ~= RESERVED then
        return NOT_RESERVED
    elseif sub(value, 14, 19) ~= stamp then
        return NOT_OWNER
    end
    return OK
end

-- Does o name this topic as the owner of the id? (Ids are unique within a topic only.)
local function owns(o, value, id, topic)
    if is_owned(value) then
        local owner = call('HGET', o, id)
        return owner and sub(owner, 7) == topic
    end
end

