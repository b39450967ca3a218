-- How many tombstones stand at the head of r, as far as is looked: first at one entry, for most
-- lists have none.   (needs names_ready)
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

-- At an end of r those that are live move away from it, in their order; then the end is cut off. Cut off
-- before that, one of them is in two places. Elsewhere those that are not are marked, and then found by
-- the mark, from the nearer end on: LREM costs 20 ns for each entry that it passes.
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

-- Where most of a long r is tombstones: what is to be written, so that those of one window can go. Nil:
-- nothing. r is longer than that only where clients keep taking jobs away behind one that nobody pops.
-- It costs as much as a large pop, so few calls look. The first window and the last are best; where they
-- are mostly live, one between them, another one each time: the clock says which. More than half of r is
-- tombstones then, so one window in three or more is worth it, unless they stand out of reach.
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
