-- audit: is each of the topic's jobs in exactly one place, and each place's a job? A page of them.
--
-- KEYS   j f, and by rule all others: the name of j with another letter
-- ARGV   topic, the last answer's next ('': from the first), limit, the leader's token
-- answer code, now, wait (always -1); where it is FENCED, the token seen; else next ('': no more),
--        how much it looked at, then for each suspect: id ('': the topic itself), number of the damage
-- USES   now fenced beside rank_of expires rules_are_ours is_ours damage
--
-- First the topic, then its jobs, then the places, each by its own cursor: `phase:cursor`.
-- Damage found may be over when it is told; only repair says for sure. Damage without room in
-- an answer is found the next time.
--
-- The ready list is not looked through: its tombstones are no damage. A job's entry in a long
-- list is found by guessing from its key, which grows along the list, each second time by
-- halving. A step in the middle of a list takes time, so a call looks at as many jobs as about
-- PROBES steps are enough for. (Jobs behind PROBES_MAX count as sound: a page of a small hash
-- is all of it, but then its list is long only by tombstones.) The bodies of p are not read,
-- because they are large; of many, some at random are looked at. A stray entry in the middle of
-- a large q, which repair does not find, is not told: it goes when it comes first, as
-- tombstones do.

local j = KEYS[1]
local topic, after, limit = ARGV[1], ARGV[2], math.min(tonumber(ARGV[3]), 100)
local PAGE, PROBES, PROBES_MAX, SHORT = 80, 100, 1200, 1000 -- a page of 200 took 1 to 2 ms
local STEPS = 5 -- a job, about
local IN_SIGHT = 500 -- of repair: so many of q from both ends on

-- HERE keys
local answer, looked = {OK, now, -1, '', 0}, 0

local function suspect(id, damage)
    if damage ~= NONE and #answer < 5 + 2 * limit then
        answer[#answer + 1] = id
        answer[#answer + 1] = damage
    end
end

-- ---- the jobs ----

local function scores_of(place, ids)
    return #ids > 0 and call('ZMSCORE', place, unpack(ids)) or {}
end

local probes, length, first_key, last_key, entries = 0, 0, 0, 0, {}

local function key_in(entry)
    return #entry >= 6 and parse('>I6', entry) or math.huge
end

-- Between low and high, whose keys are about low_key and high_key.
local function guess(low, high, low_key, high_key, wanted)
    local part = (wanted - low_key) / (high_key - low_key)
    if part >= 0 and part <= 1 then
        return low + math.floor(part * (high - low - 1))
    end
    return low
end

local function is_in_long_list(key_of_it, id)
    local wanted, by_halves = parse('>I6', key_of_it), false
    local low, high, low_key, high_key = 0, length, first_key, last_key
    while low < high do
        local at = math.floor((low + high) / 2)
        if not by_halves then
            at = guess(low, high, low_key, high_key, wanted)
        end
        by_halves, probes = not by_halves, probes + 1
        local entry = call('LINDEX', key.r, at)
        if entry == key_of_it .. id then
            return true
        elseif key_in(entry) < wanted then
            low, low_key = at + 1, key_in(entry)
        else
            high, high_key = at, key_in(entry)
        end
    end
    return false
end

local function is_in_list(key_of_it, id)
    if length <= SHORT then
        return entries[key_of_it .. id]
    end
    return probes > PROBES_MAX or is_in_long_list(key_of_it, id)
end

-- A short list is read as a whole. Returns how many jobs to look at.
local function read_list()
    length = call('LLEN', key.r)
    if length <= SHORT then
        for _, entry in ipairs(call('LRANGE', key.r, 0, -1)) do
            entries[entry] = true
        end
        return PAGE
    end
    first_key, last_key = key_in(call('LINDEX', key.r, 0)), key_in(call('LINDEX', key.r, -1))
    return math.floor(PROBES / STEPS)
end

local function place_damage(id, value, score)
    local state = byte(value) % 8
    local stamp = sub(value, 14, 19)
    if state == READY and not rank_of(value) then
        return is_in_list(stamp, id) and NONE or NO_PLACE
    elseif state == READY then
        score = tonumber(call('ZSCORE', key.q, stamp .. id) or nil)
        return score == rank_of(value) and NONE or NO_PLACE
    elseif not score then
        return NO_PLACE
    end
    local is_late = state == DELAYED and tonumber(score) ~= parse('>I6', value, 8)
    return is_late and WRONG_TIME or NONE
end

local function job_damage(id, value, score, watched)
    local found = place_damage(id, value, score)
    if byte(value) % 16 >= 8 and call('HEXISTS', key.p, id) == 0 then
        return NO_BODY
    elseif found == NONE and tonumber(watched or 0) ~= watched_until(value) then
        return NO_EXPIRY
    end
    return found
end

local function look_at_jobs(cursor)
    local page = call('HSCAN', j, cursor, 'COUNT', read_list())
    local sorted, ids, values = {[DELAYED] = {}, [READY] = {}, [RESERVED] = {}, [DEAD] = {}}, {}, {}
    for i = 1, #page[2], 2 do
        local id, value = page[2][i], page[2][i + 1]
        if is_ours(value) then
            local list = sorted[byte(value) % 8]
            list[#list + 1] = id
            values[id] = value
        else
            suspect(id, NO_VALUE)
        end
    end
    for state, list in pairs(sorted) do
        local scores = PLACES[state] and scores_of(key[PLACES[state]], list) or {}
        local watched = scores_of(key.e, list)
        for i, id in ipairs(list) do
            suspect(id, job_damage(id, values[id], scores[i], watched[i]))
        end
    end
    return page[1], #page[2] / 2
end

-- ---- the places ----

-- judge: of the job's value (false: there is none), the score and the member.
local function look_at_set(letter, judge, first)
    return function(cursor)
        local page = call('ZSCAN', key[letter], cursor, 'COUNT', PAGE)
        local ids = {}
        for i = 1, #page[2], 2 do
            ids[#ids + 1] = sub(page[2][i], first or 1)
        end
        local values = #ids > 0 and call('HMGET', j, unpack(ids)) or {}
        for i, id in ipairs(ids) do
            if not values[i] or is_ours(values[i]) then
                suspect(id, judge(values[i], page[2][2 * i], page[2][2 * i - 1]))
            end
        end
        return page[1], #ids
    end
end

local function holds(state)
    return function(value)
        return not value and NO_JOB or byte(value) % 8 == state and NONE or TWO_PLACES
    end
end

local function is_in_sight(member)
    local rank = call('ZRANK', key.q, member)
    return rank and math.min(rank, call('ZCARD', key.q) - rank - 1) < IN_SIGHT
end

local function is_ranked(value, score, member)
    if value and byte(value) % 8 == READY and sub(value, 14, 19) == sub(member, 1, 6) then
        return rank_of(value) == tonumber(score) and NONE or TWO_PLACES
    end
    return not is_in_sight(member) and NONE or value and TWO_PLACES or NO_JOB
end

local function is_watched(value, score)
    return not value and NO_JOB or watched_until(value) == tonumber(score) and NONE or NO_EXPIRY
end

-- The cursor counts the pages that are left: all of a few, or three times as many as would hold
-- all of many.
local function look_at_bodies(cursor)
    local left, length = tonumber(cursor), call('HLEN', key.p)
    if left == 0 then
        left = length > PAGE and math.ceil(3 * length / PAGE) or 1
    end
    local ids = call('HRANDFIELD', key.p, PAGE)
    local values = #ids > 0 and call('HMGET', j, unpack(ids)) or {}
    for i, id in ipairs(ids) do
        local value = values[i]
        if not value or is_ours(value) and byte(value) % 16 < 8 then
            suspect(id, NO_JOB)
        end
    end
    return format('%d', left - 1), #ids
end

local function look_at_topic()
    local found = topic_damage(key, j, bucket .. 't', bucket .. 'a', topic)
    if found == NONE and recounted(key, j, bucket .. 'w', topic) then
        found = WRONG_BYTES
    end
    suspect('', found)
    return '0', 1
end

-- ---- page after page, until it was enough ----

local PHASES = {look_at_topic, look_at_jobs, look_at_set('d', holds(DELAYED)),
    look_at_set('v', holds(RESERVED)), look_at_set('x', holds(DEAD)), look_at_set('q', is_ranked, 7),
    look_at_set('e', is_watched), look_at_bodies}

local phase, cursor = '1', '0'
if after ~= '' then
    phase, cursor = string.match(after, '^([1-8]):(%d+)$')
    if not phase or #cursor > 19 then
        return {OUT_OF_RANGE, now, -1}
    end
end
phase = tonumber(phase)
local is_read, problem = pcall(function()
    repeat
        local count
        cursor, count = PHASES[phase](cursor)
        looked = looked + count
        if cursor == '0' then
            phase = phase + 1
        end
    until phase > #PHASES or looked >= PAGE or probes >= PROBES / 2
end)
if not is_read then
    -- HERE wrong_type
    problem = type(problem) == 'table' and problem.err or tostring(problem) -- Redis 7, and 6
    local wrong = wrong_type(bucket, 'jpdqvxer', topic) or wrong_type(bucket, 'taw')
    return redis.error_reply(wrong and 'DUEQ ' .. wrong or problem)
end

answer[4] = phase <= #PHASES and phase .. ':' .. cursor or ''
answer[5] = looked
return answer
