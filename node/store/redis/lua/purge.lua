-- purge: jobs of one state are gone.
--
-- KEYS   j p d r q v x o t a, and by rule the topic's e: the name of j with that letter
-- ARGV   topic, state, of the dead: died at or after, died before (0: any time), limit
-- answer code, now, wait (always -1), how many, 1: there are more
-- USES   now misplaced expires is_indexed beside names_ready merged
--
-- Ready jobs go in the order of their service, with the tombstones up to the next job that is left:
-- of r LOOK_MAX entries are looked at, so a call may find none and yet say that there are more.
-- Freeing a large body takes long: a call frees BIG_MAX of them.

local j, p, d, r, q, v, x, o, t, a = unpack(KEYS)
local topic, state, since, before = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local limit = math.min(tonumber(ARGV[5]), 1000)
local LOOK_MAX, LOOK_STEP, BIG_MAX = 1000, 100, 200

local ids, values, bodies, wrong = {}, {}, {}, nil

-- Takes as many of these entries as there is room for, without tombstones; answers how many
-- entries that were.
local function take(place, names, members)
    local found = #names > 0 and call('HMGET', j, unpack(names)) or {}
    for i = 1, #names do
        local value = found[i]
        if not members or names_ready(members[i], value) then
            if #ids == limit then
                return i - 1
            end
            wrong = wrong or misplaced(place, j, names[i], value, state)
            if wrong then
                return i
            end
            if byte(value) % 16 >= 8 then
                if #bodies == BIG_MAX then
                    return i - 1
                end
                bodies[#bodies + 1] = names[i]
            end
            ids[#ids + 1] = names[i]
            values[#values + 1] = value
        end
    end
    return #names
end

-- The ids behind the keys of ready entries.
local function ids_in(members)
    local names = {}
    for i = 1, #members do
        names[i] = sub(members[i], 7)
    end
    return names
end

-- A sorted set in its order, from score to score. Answers the members to be removed, and
-- whether these are all.
local function take_set(place, from, to, is_keyed)
    local members = call('ZRANGEBYSCORE', place, from, to, 'LIMIT', 0, limit - #ids + 1)
    local more = table.remove(members, limit - #ids + 1)
    local taken = take(place, is_keyed and ids_in(members) or members, is_keyed and members)
    local all = taken == #members and not more
    while #members > taken do
        table.remove(members)
    end
    return members, all
end

-- From the first of r on, with those of q that stand among them; answers how many entries of r are to
-- be cut off, the members to be removed, and whether these are all.
local function take_common()
    local shared, passed, members = call('ZCOUNT', q, COMMON_PRIORITY, COMMON_PRIORITY), 0, {}
    while passed < LOOK_MAX do
        local size = math.min(math.max(limit - #ids + 1, LOOK_STEP), LOOK_MAX - passed)
        local entries, is_of_q
        if shared > 0 then
            entries, is_of_q = merged(r, q, passed, #members, size)
        else
            entries = call('LRANGE', r, passed, passed + size - 1)
        end
        local taken = take(r, ids_in(entries), entries)
        for i = 1, taken do
            if is_of_q and is_of_q[i] then
                members[#members + 1] = entries[i]
            else
                passed = passed + 1
            end
        end
        if taken < size then
            break
        end
    end
    return passed, members, passed == call('LLEN', r) and #members == shared
end

local removals, cut, all = {}, 0, nil
if state == READY then
    removals[1], all = take_set(q, '-inf', '(' .. COMMON_PRIORITY, true)
    if all then
        cut, removals[2], all = take_common()
    end
    if all then
        removals[3], all = take_set(q, '(' .. COMMON_PRIORITY, '+inf', true)
    end
else
    local from, to = '-inf', '+inf'
    if state == DEAD then
        from, to = since ~= '0' and since or from, before ~= '0' and '(' .. before or to
    end
    removals[1], all = take_set(({[DELAYED] = d, [RESERVED] = v, [DEAD] = x})[state], from, to)
end
if wrong then
    return redis.error_reply('DUEQ ' .. wrong)
end

local e, expiring, owned, counted = beside(j, topic, 'e'), {}, {}, 0
for i = 1, #ids do
    local id, value = ids[i], values[i]
    if state ~= DEAD and expires(value) > 0 then
        expiring[#expiring + 1] = id
    end
    if is_indexed(o, value, id, topic) then
        owned[#owned + 1] = id
    end
    -- HERE counted
end
-- HERE counter
if #expiring > 0 then
    call('ZCARD', e)
end
if #bodies > 0 then
    call('HLEN', p)
end

-- With its last jobs the topic goes, unless a place names others: these are left to the scan.
local place = ({[DELAYED] = d, [READY] = q, [RESERVED] = v, [DEAD] = x})[state]
local removed = 0
for _, members in pairs(removals) do
    removed = removed + #members
end
local is_last = #ids > 0 and call('HLEN', j) == #ids
if is_last then
    local is_emptied = removed > 0 and call('ZCARD', place) == removed
    is_last = call('EXISTS', d, q, v, x) == (is_emptied and 1 or 0)
    call('ZCARD', t)
    call('ZCARD', a)
end

for _, members in pairs(removals) do
    if #members > 0 then
        call('ZREM', place, unpack(members))
    end
end
if is_last then
    call('UNLINK', r)
elseif cut > 0 then
    call('LTRIM', r, cut, -1)
end
if #expiring > 0 then
    call('ZREM', e, unpack(expiring))
end
if #ids > 0 then
    call('HDEL', j, unpack(ids))
end
if #bodies > 0 then
    call('HDEL', p, unpack(bodies))
end
if #owned > 0 then
    call('HDEL', o, unpack(owned))
end
-- HERE set_counter
if is_last then
    call('ZREM', t, topic)
    call('ZREM', a, topic)
end
return {OK, now, -1, #ids, (all or is_last) and 0 or 1}
