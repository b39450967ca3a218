-- A job becomes ready, or will be: the wake-up, and the topic's event for the scan.

-- PART event
-- The topic has an event at `at`. Answers in how many ms, where that event became the first,
-- else -1. Most topics have an earlier one.
--
-- A script that fails after this does no harm: t holds lower bounds.
local function event(t, topic, at)
    return call('ZADD', t, 'LT', 'CH', format('%d', at), topic) == 1 and math.max(at - now, 0) or -1
end

-- PART wake
-- The topic has no ready job and is about to have one. `key` is any key of the bucket.
-- Stands before the first write: Redis may refuse PUBLISH (rights on the channel), and no
-- listener can act before the script is over. (But for what a scan's pops leave, which is known
-- behind the moves alone.)
local function wake(key, topic)
    call('PUBLISH', sub(key, 1, string.find(key, '{', 1, true) - 1) .. 'ready', topic)
end

-- PART make_ready
-- One job becomes ready: first the wake-up, which must stand before the first write, then its
-- entry, by its own key or the one that was drawn. Answers the key.   (needs rank_of key_for wake)
--
-- A script that turns r, or q, from empty to not empty publishes the topic: waiting nodes have
-- seen both empty.
local function before_ready(r, q, topic, value)
    local count = rank_of(value) and call('ZCARD', q) or call('LLEN', r)
    if count == 0 then
        wake(r, topic)
    end
end

local function make_ready(r, q, id, value, key)
    local rank = rank_of(value)
    key = key_for(value, key)
    if rank then
        call('ZADD', q, format('%d', rank), key .. id)
    else
        call('RPUSH', r, key .. id)
    end
    return key
end

-- PART become_ready
-- Many jobs become ready, last of their priorities: collected while the plan is made, with the
-- wake-up before the first write, and then put into their places. A batch begins with some that
-- have no rules; both arrays are its own from then on.   (needs moved wake)
local function ready_batch(ids, values)
    return {ids = ids, values = values, ranks = false, ranked = 0}
end

local function add_ready(batch, id, value)
    local at = #batch.ids + 1
    batch.ids[at], batch.values[at] = id, value
    if byte(value) % 128 >= 64 then
        -- HERE rank_of
        local rank = rank_of(value)
        if rank then
            batch.ranks = batch.ranks or {}
            batch.ranks[at], batch.ranked = rank, batch.ranked + 1
        end
    end
end

-- Must the topic be published? Reads the keys that will be written.
local function batch_wakes(batch, r, q)
    local wakes = #batch.ids > batch.ranked and call('LLEN', r) == 0
    return batch.ranked > 0 and call('ZCARD', q) == 0 or wakes
end

-- `number`: the counter before the batch's own numbers. Adds ids and values to `values`, for a
-- HSET of j.
local function put_ready(batch, r, q, number, values)
    local entries, ranked, listed, count = {}, {}, 0, #values
    local ids, olds, ranks = batch.ids, batch.values, batch.ranks
    for i = 1, #ids do
        local id, key, rank = ids[i], pack('>I6', MIDDLE + number + i), ranks and ranks[i]
        if rank then
            -- HERE key_for
            key = key_for(olds[i], key)
            ranked[#ranked + 1] = format('%d', rank)
            ranked[#ranked + 1] = key .. id
        else
            listed = listed + 1
            entries[listed] = key .. id
        end
        values[count + 1], values[count + 2] = id, moved(olds[i], READY, key)
        count = count + 2
    end
    if listed > 0 then
        call('RPUSH', r, unpack(entries))
    end
    if #ranked > 0 then
        call('ZADD', q, unpack(ranked))
    end
end
