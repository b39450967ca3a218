-- list: the jobs of one state, in order, behind a cursor.
--
-- KEYS   j p d r q v x
-- ARGV   state, the last answer's next ('': from the first), limit
-- answer code, now, wait (always -1), next ('': no more), then for each job: id, its value without
--        the body, the body's bytes, and its deadline, time of death or due
-- USES   now misplaced precedes rank_behind index_from body_from names_ready merged
--
-- The cursor names the last job told, as `score:id`, or a ready one as `priority:key`; so jobs
-- may come and go between the pages. The cursor's place is found by halving. Tombstones are
-- passed over, but only so many a call: then the page is shorter than asked, and ends with a
-- cursor.

local j, p, d, r, q, v, x = unpack(KEYS)
local state, after, limit = tonumber(ARGV[1]), ARGV[2], math.min(tonumber(ARGV[3]), 100)
local LOOK_MAX, LAST = 1000, '\255' -- behind all ids with the same key

local answer, told, next, wrong = {OK, now, -1, ''}, 0, '', nil

local function tell(place, id, value, place_ms)
    wrong = wrong or misplaced(place, j, id, value, state)
    if wrong then
        return
    end
    local from = body_from(value)
    local at, is_big = #answer, byte(value) % 16 >= 8
    answer[at + 1], answer[at + 2] = id, sub(value, 1, from - 1)
    answer[at + 3] = is_big and call('HSTRLEN', p, id) or #value - from + 1
    answer[at + 4] = place_ms and math.max(0, math.min(place_ms, LAST_MS)) or parse('>I6', value, 8)
    told = told + 1
end

local function values_of(members, first)
    local ids = {}
    for i = 1, #members do
        ids[i] = sub(members[i], first)
    end
    return ids, #ids > 0 and call('HMGET', j, unpack(ids)) or {}
end

local function list_set(place, score, name)
    local from = score and rank_behind(place, score, name) or 0
    local found = call('ZRANGE', place, from, from + limit, 'WITHSCORES')
    local members, scores = {}, {}
    for i = 1, #found, 2 do
        members[#members + 1], scores[#scores + 1] = found[i], tonumber(found[i + 1])
    end
    local more = table.remove(members, limit + 1)
    local ids, values = values_of(members, 1)
    for i = 1, #ids do
        tell(place, ids[i], values[i], state ~= DELAYED and scores[i])
    end
    if more then
        next = format('%d', scores[limit]) .. ':' .. members[limit]
    end
end

local function key_in(entry)
    return format('%d', #entry >= 6 and parse('>I6', entry) or 0)
end

-- The ranks from `from` to before `to` of q. Answers whether it told them all.
local function list_ranked(from, to)
    local last = math.min(to, from + limit - told) - 1
    local found = last >= from and call('ZRANGE', q, from, last, 'WITHSCORES') or {}
    local members = {}
    for i = 1, #found, 2 do
        members[#members + 1] = found[i]
        next = found[i + 1] .. ':' .. key_in(found[i])
    end
    local ids, values = values_of(members, 7)
    for i = 1, #ids do
        if names_ready(members[i], values[i]) then
            tell(q, ids[i], values[i])
        end
    end
    return last == to - 1
end

-- The entries of r from an index on, and of those of q that stand among them, which are `shared`, from
-- a number on. Answers whether it told them all.
local function list_common(from, number, shared)
    local looked, of_q = 0, 0
    while told < limit and looked + of_q < LOOK_MAX do
        local entries, is_of_q
        if shared > 0 then
            entries, is_of_q = merged(r, q, from + looked, number + of_q, limit)
        else
            entries = call('LRANGE', r, from + looked, from + looked + limit - 1)
        end
        if #entries == 0 then
            return true
        end
        local ids, values = values_of(entries, 7)
        for i = 1, #ids do
            local value = values[i]
            if told == limit then
                break
            end
            if names_ready(entries[i], value) then
                tell(r, ids[i], value)
            end
            if is_of_q and is_of_q[i] then
                of_q = of_q + 1
            else
                looked = looked + 1
            end
            next = COMMON_PRIORITY .. ':' .. key_in(entries[i])
        end
    end
    return from + looked == call('LLEN', r) and number + of_q >= shared
end

local function list_ready(rank, key)
    local middle = call('ZCOUNT', q, '-inf', '(' .. COMMON_PRIORITY)
    local shared = call('ZCOUNT', q, COMMON_PRIORITY, COMMON_PRIORITY)
    local count, behind, index = call('ZCARD', q), 0, 0
    if rank then
        behind = rank_behind(q, format('%d', rank), pack('>I6', key) .. LAST)
    end
    if rank == COMMON_PRIORITY then
        local found
        index, found = index_from(r, key)
        index = index + (found and key_in(found) == format('%d', key) and 1 or 0)
    end
    local is_all = behind >= middle or list_ranked(behind, middle)
    if is_all and (not rank or rank <= COMMON_PRIORITY) then
        is_all = list_common(index, math.max(behind - middle, 0), shared)
    end
    if is_all and list_ranked(math.max(behind, middle + shared), count) then
        next = ''
    end
end

local score, name
if after ~= '' then
    score, name = string.match(after, '^(%d+):(.*)$')
    if not score or #score > 15 or state == READY and not string.match(name, '^%d+$') then
        return {OUT_OF_RANGE, now, -1}
    end
end
if state == READY then
    list_ready(tonumber(score), tonumber(name))
else
    list_set(({[DELAYED] = d, [RESERVED] = v, [DEAD] = x})[state], score, name)
end
if wrong then
    return redis.error_reply('DUEQ ' .. wrong)
end
answer[4] = next
return answer
