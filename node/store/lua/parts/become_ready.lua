-- Many jobs become ready, last of their priorities: collected while the plan is made, with what
-- must stand before the first write, and put where they belong.   (needs moved priority wake)
local function ready_batch()
    return {ids = {}, values = {}, ranks = {}, common = 0}
end

local function add_ready(batch, id, value)
    local at, rank = #batch.ids + 1, priority(value)
    batch.ids[at], batch.values[at], batch.ranks[at] = id, value, rank
    if rank == COMMON_PRIORITY then
        batch.common = batch.common + 1
    end
end

-- Must the topic be told of? Reads what will be written.
local function batch_wakes(batch, r, q)
    local wakes = batch.common > 0 and call('LLEN', r) == 0
    return batch.common < #batch.ids and call('ZCARD', q) == 0 or wakes
end

-- `number`: the last of the counter before those that are theirs. Adds ids and values to `values`,
-- for a HSET of j.
local function put_ready(batch, r, q, number, values)
    local entries, ranked = {}, {}
    for i = 1, #batch.ids do
        local id, key = batch.ids[i], pack('>I6', MIDDLE + number + i)
        if batch.ranks[i] == COMMON_PRIORITY then
            entries[#entries + 1] = key .. id
        else
            ranked[#ranked + 1] = format('%d', batch.ranks[i])
            ranked[#ranked + 1] = key .. id
        end
        values[#values + 1] = id
        values[#values + 1] = moved(batch.values[i], READY, key)
    end
    if #entries > 0 then
        call('RPUSH', r, unpack(entries))
    end
    if #ranked > 0 then
        call('ZADD', q, unpack(ranked))
    end
end
