-- The places of a topic's jobs.

-- PART beside
-- The topic's key with another letter. `key` is any key of the topic.
local function beside(key, topic, letter)
    return sub(key, 1, -#topic - 3) .. letter .. ':' .. topic
end

-- PART keys
-- All keys of the topic, by letter; and what the names of the bucket's own begin with.   (needs
-- beside)
local key, bucket = {}, sub(j, 1, -#topic - 3)
for letter in string.gmatch('pdrqvxe', '.') do
    key[letter] = beside(j, topic, letter)
end

-- PART place_of
-- The sorted set that has the job, and its member there. Nothing for a job in r: its entry
-- stays, as a tombstone. `key` is any key of the topic.   (needs rank_of beside)
local function place_of(key, topic, id, value)
    local state = byte(value) % 8
    if state ~= READY then
        local letter = ({[DELAYED] = 'd', [RESERVED] = 'v', [DEAD] = 'x'})[state]
        return beside(key, topic, letter), id
    elseif rank_of(value) then
        return beside(key, topic, 'q'), sub(value, 14, 19) .. id
    end
end

-- PART place_ms
-- The time of the job's place: reserved, its deadline; dead, when it died; else, or where the
-- place does not know it, when it is due.
local function place_ms(v, x, id, value)
    local place = ({[RESERVED] = v, [DEAD] = x})[byte(value) % 8]
    local score = place and tonumber(call('ZSCORE', place, id) or nil)
    return score and math.max(0, math.min(score, LAST_MS)) or (parse('>I6', value, 8))
end

-- PART names_ready
-- Does the entry, of r or q, name a job that is READY by it? Else it is a tombstone.
local function names_ready(entry, value)
    return value and #value >= 24 and byte(value) % 8 == READY and sub(value, 14, 19) == sub(entry, 1, 6)
end

-- PART rank_behind
-- The rank of the first member of a sorted set behind this one, which may be gone: by halving
-- the members of its score.   (needs precedes)
local function rank_behind(place, score, member)
    local low = call('ZCOUNT', place, '-inf', '(' .. score)
    local high = call('ZCOUNT', place, '-inf', score)
    while low < high do
        local middle = math.floor((low + high) / 2)
        if precedes(member, call('ZRANGE', place, middle, middle)[1]) then
            high = middle
        else
            low = middle + 1
        end
    end
    return low
end

-- PART index_from
-- The index of the first entry of a ready list whose key is `key` or a later one, and that entry
-- (nil: all are earlier): by halving, for r is in the order of its keys.
local function index_from(r, key)
    local low, high, found = 0, call('LLEN', r), nil
    while low < high do
        local middle = math.floor((low + high) / 2)
        local entry = call('LINDEX', r, middle)
        if #entry >= 6 and parse('>I6', entry) < key then
            low = middle + 1
        else
            high, found = middle, entry
        end
    end
    return low, found
end

-- PART merged
-- Entries of the common priority where q has some, too, of jobs BY_ID: those of r from an index on, and
-- those of q from a number among them on, by their keys, at most `size`; and for each whether it is of q.
local function merged(r, q, index, number, size)
    local function key_in(entry)
        return entry and (#entry >= 6 and parse('>I6', entry) or 0) or math.huge
    end
    local listed = call('LRANGE', r, index, index + size - 1)
    local ranked = call('ZRANGEBYSCORE', q, COMMON_PRIORITY, COMMON_PRIORITY, 'LIMIT', number, size)
    local entries, is_of_q, at, of_q = {}, {}, 1, 1
    local key, key_of_q = key_in(listed[1]), key_in(ranked[1])
    for i = 1, math.min(size, #listed + #ranked) do
        is_of_q[i] = key_of_q < key
        if is_of_q[i] then
            entries[i], of_q = ranked[of_q], of_q + 1
            key_of_q = key_in(ranked[of_q])
        else
            entries[i], at = listed[at], at + 1
            key = key_in(listed[at])
        end
    end
    return entries, is_of_q
end

-- PART misplaced
-- What is wrong with a job that `place`, for jobs of this state, names; nil: nothing.
local function misplaced(place, j, id, value, state)
    local what
    if not value then
        what = 'missing'
    elseif #value < 24
        or byte(value) % 128 >= 64 and (#value < 46 or byte(value, 31) >= 128 and #value < 70) then
        what = 'not one of ours'
    elseif byte(value) % 8 ~= state then
        what = 'in another state'
    else
        return nil
    end
    return 'job ' .. id .. ' is in ' .. place .. ', but ' .. what .. ' in ' .. j
end

-- PART damage
-- What an audit finds and a repair mends: enum damage (node/store/op.h).
local NONE, NO_PLACE, TWO_PLACES, NO_JOB, WRONG_TIME, NO_BODY, NO_VALUE = 0, 1, 2, 3, 4, 5, 6
local NO_EXPIRY, NOT_LISTED, NO_EVENT, WRONG_BYTES = 7, 8, 9, 10
local PLACES = {[DELAYED] = 'd', [RESERVED] = 'v', [DEAD] = 'x'}

-- The expiry that e should have for the job; 0: none.
local function watched_until(value)
    return byte(value) % 8 ~= DEAD and expires(value) or 0
end

-- What is wrong with the topic itself, and its next event as far as the places show. A planned
-- event that is due, or comes within SOON_MS, is never too late: a scan that met a
-- contradiction looks again a second later.
local function topic_damage(key, j, t, a, topic)
    local first = math.huge
    for letter in string.gmatch('dve', '.') do
        local score = call('ZRANGE', key[letter], 0, 0, 'WITHSCORES')[2]
        first = math.min(first, tonumber(score) or math.huge)
    end
    local is_listed = call('ZSCORE', a, topic) or call('HLEN', j) == 0
    local SOON_MS = 2000
    local planned = tonumber(call('ZSCORE', t, topic) or math.huge)
    local is_late = planned > math.max(first, now + SOON_MS)
    return not is_listed and NOT_LISTED or is_late and NO_EVENT or NONE, first
end

-- What w should say of the topic, counted anew; nil: it is right, or there are too many jobs to
-- count them in one call.   (needs is_ours)
local function recounted(key, j, w, topic)
    local COUNT_MAX = 500
    local told, counted, p = call('HGET', w, topic), 0, key.p
    if not told or call('HLEN', j) > COUNT_MAX then
        return nil
    end
    local all = call('HRANDFIELD', j, COUNT_MAX, 'WITHVALUES') -- each of them once
    for i = 1, #all, 2 do
        local id, value = all[i], all[i + 1]
        if is_ours(value) then
            -- HERE counted
        end
    end
    return counted ~= tonumber(told) and counted or nil
end

-- PART is_indexed
-- Is the job indexed, and does o name this topic for its id? (Ids are unique within a topic only.)
local function is_indexed(o, value, id, topic)
    if byte(value) % 32 >= 16 then
        local entry = call('HGET', o, id)
        return entry and sub(entry, 7) == topic
    end
end

-- PART belongings
-- What a job has beside its place: a body in p, an entry in o, bytes that count in w. Read before the first write; for
-- forget.   (needs is_indexed)
local is_big = byte(value) % 16 >= 8
if is_big then
    call('HLEN', p)
end
local has_entry = is_indexed(o, value, id, topic)
local counted = 0
-- HERE counted
-- HERE counter

-- PART counted
-- Adds the bytes of a job's body to `counted`, if they count for its topic's max_bytes. Before the
-- first write.
if (byte(value, 20) or 0) >= 128 then
    if byte(value) % 16 >= 8 then
        counted = counted + call('HSTRLEN', p, id)
    else
        -- HERE body_from
        counted = counted + #value - body_from(value) + 1
    end
end

-- PART body_bytes
-- The bytes of a job's body.
local function body_bytes(value, p, id)
    if byte(value) % 16 >= 8 then
        return call('HSTRLEN', p, id)
    end
    -- HERE body_from
    return #value - body_from(value) + 1
end

-- PART counter
-- What the topic's counter in w will say when the bytes of `counted` are gone; nil: it stays as it
-- is. Before the first write.
local w, bytes
if counted > 0 then
    w = sub(j, 1, -#topic - 3) .. 'w'
    bytes = (tonumber(call('HGET', w, topic) or nil) or 0) - counted
end

-- PART set_counter
if bytes and bytes > 0 then
    call('HSET', w, topic, format('%d', bytes))
elseif bytes then
    call('HDEL', w, topic)
end

-- PART note
-- A note in z of a reservation for an owner: its field, and its value.
local function note_of(stamp, topic, id)
    return pack('>I6', stamp), pack('>I6B', now, #topic) .. topic .. id
end

local function keep_notes(z, notes)
    local KEEP_MS = '691200000' -- OP_NOTES_KEEP_MS
    call('HSET', z, unpack(notes))
    call('PEXPIRE', z, KEEP_MS)
end

-- PART forget
-- The job goes, after its entry in its place; `e` where it has a ttl.
if e then
    call('ZREM', e, id)
end
if has_entry then
    call('HDEL', o, id)
end
call('HDEL', j, id)
if is_big then
    call('HDEL', p, id)
end
-- HERE set_counter

-- PART die
-- One job dies. x has been read, and e where the job expires. The caller takes the job out of
-- its old place, and calls the scan, which prunes: event(t, topic, now + 1000).   (needs moved
-- expires)
local function die(j, x, e, id, value, reason)
    call('ZADD', x, format('%d', now), id)
    call('HSET', j, id, moved(value, DEAD, pack('>I6', reason)))
    if expires(value) > 0 then
        call('ZREM', e, id)
    end
end

-- PART tombstones
-- How many tombstones stand at the head of r, as far as is looked: first at one entry, because
-- most lists have none.   (needs names_ready)
local function tombstones_among(j, r, count)
    local entries, ids = call('LRANGE', r, 0, count - 1), {}
    for i = 1, #entries do
        ids[i] = sub(entries[i], 7)
    end
    local values = #ids > 0 and call('HMGET', j, unpack(ids)) or {}
    for i = 1, #entries do
        if names_ready(entries[i], values[i]) then
            return i - 1
        end
    end
    return #entries
end

local function tombstones_at_head(j, r)
    local LOOK_MAX = 100
    return tombstones_among(j, r, 1) > 0 and tombstones_among(j, r, LOOK_MAX) or 0
end

-- At an end of r the live entries move away from it, in their order; then the end is cut off. A
-- script that breaks off in between leaves a live entry in two places. Elsewhere the tombstones
-- are marked, and then found by the mark, from the nearer end on: LREM costs 20 ns for each
-- entry that it passes.
local function clear(r, clearing)
    local entries, live, first = clearing.entries, clearing.live, clearing.first
    local free = #entries - #live
    if clearing.is_between then
        local next = 1
        for i = 1, #entries do
            if entries[i] == live[next] then
                next = next + 1
            else
                call('LSET', r, first + i - 1, '')
            end
        end
        call('LREM', r, clearing.is_front and free or -free, '')
    elseif first == 0 then
        for i = #live, 1, -1 do
            if entries[free + i] ~= live[i] then
                call('LSET', r, free + i - 1, live[i])
            end
        end
        call('LTRIM', r, free, -1)
    else
        for i = 1, #live do
            if entries[i] ~= live[i] then
                call('LSET', r, first + i - 1, live[i])
            end
        end
        call('LTRIM', r, 0, first + #live - 1)
    end
end

-- Plans the removal of one window of tombstones, where most of a long r is tombstones. Nil:
-- nothing to do. r gets so long only where clients keep taking jobs away behind one that nobody
-- pops. The look costs as much as a large pop, so few calls look. The first window and the last
-- are best; where they are mostly live, a window between them, which the clock chooses anew
-- each time. More than half of r is tombstones then, so one window in three or more is worth
-- it, unless they stand out of reach.
local function plan_clearing(j, topic, r)
    local MANY, WINDOW, WORTH, REACH = 1000, 1000, 250, 50000
    local length, ready = call('LLEN', r), 0
    if length > MANY then
        ready = call('HLEN', j)
        for letter in string.gmatch('dvxq', '.') do
            ready = ready - call('ZCARD', sub(j, 1, -#topic - 3) .. letter .. ':' .. topic)
        end
    end
    if length - ready <= math.max(ready, 0) + MANY then
        return nil
    end
    local firsts, is_front = {0, length - WINDOW}, true
    local between = math.min(math.ceil(length / WINDOW) - 2, 2 * REACH / WINDOW)
    if between > 0 then
        local turn = math.floor(micros / 16) % between
        is_front = turn < between / 2
        firsts[3] = is_front and (turn + 1) * WINDOW or length - (between - turn + 1) * WINDOW
    end
    for which, first in ipairs(firsts) do
        local entries, ids, live = call('LRANGE', r, first, first + WINDOW - 1), {}, {}
        for i = 1, #entries do
            ids[i] = sub(entries[i], 7)
        end
        local values = call('HMGET', j, unpack(ids))
        for i = 1, #entries do
            if names_ready(entries[i], values[i]) then
                live[#live + 1] = entries[i]
            end
        end
        if #entries - #live >= WORTH then
            return {entries = entries, live = live, first = first, run = clear,
                is_between = which == 3, is_front = is_front}
        end
    end
end

-- PART count
-- The numbers of a topic: delayed, ready, reserved, dead, ms since its first ready job was due
-- (the older one of the first of r and the first of q), ms until its first delayed job is due
-- (-1: none), and of the ready ones those of a priority before the common one.
--
-- The length of r says nothing, because of the tombstones in it. An orphan (a place names a job
-- that is gone) must not make the difference negative.
local entries_left = 1000 -- a script looks at so many of all ready lists together, or says more

local function age(value)
    return math.max(0, now - parse('>I6', value, 8))
end

local function first_age_of_list(j, r)
    for _, span in ipairs({{0, 0}, {1, 99}}) do
        if entries_left <= span[2] - span[1] then
            return -1
        end
        local entries, ids = call('LRANGE', r, span[1], span[2]), {}
        if #entries == 0 then
            return -1
        end
        entries_left = entries_left - #entries
        for i = 1, #entries do
            ids[i] = sub(entries[i], 7)
        end
        local values = call('HMGET', j, unpack(ids))
        for i = 1, #entries do
            if names_ready(entries[i], values[i]) then
                return age(values[i])
            end
        end
    end
    return -1
end

local function first_age_of_set(j, q)
    local first = call('ZRANGE', q, 0, 0)[1]
    local value = first and call('HGET', j, sub(first, 7))
    return first and names_ready(first, value) and age(value) or -1
end

local function count(j, d, r, v, x, q)
    local live, delayed = call('HLEN', j), call('ZCARD', d)
    local reserved, dead = call('ZCARD', v), call('ZCARD', x)
    local ready, oldest, next = math.max(0, live - delayed - reserved - dead), -1, -1
    if ready > 0 then
        oldest = math.max(first_age_of_list(j, r), first_age_of_set(j, q))
    end
    if delayed > 0 then
        next = math.max(0, math.min(call('ZRANGE', d, 0, 0, 'WITHSCORES')[2] - now, LAST_MS))
    end
    local urgent = ready > 0 and math.min(ready, call('ZCOUNT', q, '-inf', '(' .. COMMON_PRIORITY)) or 0
    return {delayed, ready, reserved, dead, oldest, next, urgent}
end
