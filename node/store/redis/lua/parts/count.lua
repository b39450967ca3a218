-- The numbers of a topic: delayed, ready, reserved, dead, ms since its first ready job was due
-- (the older one of the first of r and the first of q), ms until its first delayed job is due
-- (-1: none).
--
-- The length of r says nothing, because of the tombstones in it. An orphan (a place names a job
-- that is gone) must not make the difference negative.
local entries_left = 1000 -- of ready lists: what a script looks at in all topics together

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
    return {delayed, ready, reserved, dead, oldest, next}
end
