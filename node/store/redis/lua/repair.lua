-- repair: a job, or its topic, is looked at exactly, and put in order.
--
-- KEYS   j f, and by rule all others: the name of j with another letter
-- ARGV   topic, id ('': the topic itself), 1: with '', the scan is to look at the topic now; the
--        leader's token
-- answer code, now, wait; where it is FENCED, the token seen; else number of the damage (0: it was
--        sound, and nothing was done)
-- USES   now fenced beside rank_of key_for expires moved wake event index_from rules_are_ours is_ours damage
--
-- The header is believed before the places (doc/store.md, Repair). The script reads all, judges
-- what is wrong and what the job has to be and where, and then makes every place say so. Of
-- several damages the answer names the first in the order in which they are looked for.
--
-- Where halving does not find a ready job, its list may be out of order: then LOOK_MAX entries from
-- both ends on are looked through. A job that is not found there gets a new entry, and its old
-- one is a tombstone. Ranked entries with other keys than the header's are tombstones too, so
-- of q no more than LOOK_MAX are looked through: the rest is dropped when it comes first.

local j = KEYS[1]
local topic, id, calls_scan = ARGV[1], ARGV[2], ARGV[3] == '1'
local LOOK_MAX = 1000

-- HERE keys
local t, a, n, o = bucket .. 't', bucket .. 'a', bucket .. 'n', bucket .. 'o'

if id == '' then
    local damage, first = topic_damage(key, j, t, a, topic)
    local w = bucket .. 'w'
    local bytes = recounted(key, j, w, topic)
    if damage == NONE and bytes then
        damage = WRONG_BYTES
    end
    local wait, has_jobs = -1, call('HLEN', j) > 0
    calls_scan = calls_scan and has_jobs
    if calls_scan then
        first = now
    end
    if damage ~= NONE or calls_scan then
        call('ZREM', t, '') -- even if Redis is full
        if first < math.huge then
            wait = event(t, topic, first)
        end
        if has_jobs then
            call('ZADD', a, '0', topic)
        end
        -- HERE set_counter
    end
    return {OK, now, wait, damage}
end

-- ---- read ----

local value = call('HGET', j, id)
local is_mine = value and is_ours(value)
local state = is_mine and byte(value) % 8
local entry = state == READY and sub(value, 14, 19) .. id
local has_body = call('HEXISTS', key.p, id) == 1
local scores = {}
for letter in string.gmatch('dvxe', '.') do
    scores[letter] = tonumber(call('ZSCORE', key[letter], id) or nil)
end

-- The job's entries that are found in q, each behind its score.
local function ranked_entries()
    local entries, size = {}, call('ZCARD', key.q)
    local function note(members)
        for i = 1, #members, 2 do
            if sub(members[i], 7) == id then
                entries[members[i]] = tonumber(members[i + 1])
            end
        end
    end
    if entry and size > 0 then
        entries[entry] = tonumber(call('ZSCORE', key.q, entry) or nil)
    end
    if size > LOOK_MAX then
        note(call('ZRANGE', key.q, -LOOK_MAX / 2, -1, 'WITHSCORES'))
        size = LOOK_MAX / 2
    end
    if size > 0 then
        note(call('ZRANGE', key.q, 0, size - 1, 'WITHSCORES'))
    end
    return entries
end

local function is_in_list()
    local _, found = index_from(key.r, parse('>I6', entry))
    return found == entry
        or call('LPOS', key.r, entry, 'MAXLEN', LOOK_MAX)
        or call('LPOS', key.r, entry, 'RANK', -1, 'MAXLEN', LOOK_MAX)
end

-- ---- judge: the first damage found, what the job becomes (nil: as it is), what is wrong where ----

local damage, becomes, ranked = NONE, nil, ranked_entries()

local function is_damaged(what)
    damage = damage == NONE and what or damage
end

local is_big = is_mine and byte(value) % 16 >= 8
local place = state and PLACES[state] -- where it has to be; nil for a ready one

local function is_in_its_place()
    if place then
        return scores[place] ~= nil
    elseif not rank_of(value) then
        return is_in_list()
    end
    return ranked[entry] == rank_of(value)
end

-- A ready entry needs a number of the counter's: `becomes` is finished when the number is
-- drawn.
local becomes_ready = false

if value and not is_mine then
    is_damaged(NO_VALUE)
elseif is_mine and is_big and not has_body then
    is_damaged(NO_BODY)
    becomes = char(byte(value) - 8) .. sub(value, 2)
    becomes = moved(becomes, DEAD, pack('>I6', DAMAGED))
elseif is_mine and not is_in_its_place() then
    is_damaged(NO_PLACE)
    becomes_ready = state == READY or state == RESERVED
        or state == DELAYED and parse('>I6', value, 8) <= now
    becomes = not becomes_ready and value or nil
end
local is_now = becomes or value
local final = becomes_ready and READY or is_mine and byte(is_now) % 8
local final_place = PLACES[final]

-- The scores that the places must have from now on.
local wanted = {}
if final == DELAYED then
    wanted.d = parse('>I6', value, 8)
elseif final then
    wanted[final_place or ''] = scores[final_place] or now
end
if is_mine and final ~= DEAD and expires(value) > 0 then
    wanted.e = expires(value)
end
local keeps = final == READY and (becomes_ready and key_for(value, '') .. id or entry) -- of its entries in q

local wrong = {}
for letter in string.gmatch('dvxe', '.') do
    if scores[letter] ~= wanted[letter] then
        wrong[#wrong + 1] = letter
        is_damaged(not value and NO_JOB or letter == 'e' and NO_EXPIRY
            or letter == final_place and WRONG_TIME or TWO_PLACES)
    end
end
local unranked = {}
for member in pairs(ranked) do
    if member ~= keeps or not rank_of(value) then
        unranked[#unranked + 1] = member
        is_damaged(value and TWO_PLACES or NO_JOB)
    end
end
local drops_body = has_body and not (is_mine and is_big)
if drops_body then
    is_damaged(NO_JOB)
end
if damage == NONE then
    return {OK, now, -1, NONE}
end

-- ---- mend ----

local owner = value and not is_mine and call('HGET', o, id)
local rank = is_mine and rank_of(value)
if becomes_ready then
    local count = rank and call('ZCARD', key.q) or call('LLEN', key.r)
    if count == 0 then
        wake(j, topic)
    end
end
call('ZREM', key.d, '') -- even if Redis is full
local number = becomes_ready and pack('>I6', MIDDLE + call('INCR', n))
local wait = event(t, topic, now) -- a mended job may be due, or may have stood in the way

if becomes_ready then
    number = key_for(value, number)
    becomes = moved(value, READY, number)
    if rank then
        call('ZADD', key.q, format('%d', rank), number .. id)
    else
        call('RPUSH', key.r, number .. id)
    end
end
for _, letter in ipairs(wrong) do
    if wanted[letter] then
        call('ZADD', key[letter], format('%d', wanted[letter]), id)
    end
end
if becomes and becomes ~= value then
    call('HSET', j, id, becomes)
end
for _, letter in ipairs(wrong) do
    if not wanted[letter] then
        call('ZREM', key[letter], id)
    end
end
if #unranked > 0 then
    call('ZREM', key.q, unpack(unranked))
end
if value and not is_mine then
    call('HDEL', j, id)
    if owner and sub(owner, 7) == topic then
        call('HDEL', o, id)
    end
end
if drops_body then
    call('HDEL', key.p, id)
end
return {OK, now, wait, damage}
