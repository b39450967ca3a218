-- Which topics are this node's to scan where many nodes do, and their locks (doc/cluster.md). First
-- those that are due are looked at, the page's locks with one MGET; nothing is written but by
-- write_locks, which comes when all has been read.   (of scan.lua; needs precedes)
local LOOK_MAX, AHEAD_MAX, AGAIN_MS, BARRED_MAX_MS = 1000, 256, 100, 1000
local OWN, OTHERS = 43, 45 -- + and -; what is neither, ~, was its own
local HELD, TAKE, TAKE_LATE, TAKE_OVER = -1, -2, -3, -4 -- claims; or a token, to be renewed
local who, view, owner = sub(share, 1, 32), sub(share, 1, 16), sub(share, 17, 32)
local lock_ms, late_ms = parse('>I6I6', share, 33)
local l, claims, next_own, barred, late_count = bucket .. 'l:', {}, math.huge, 0, nil

-- As share_of() in node/store/share.h.
local function mark_of(topic)
    local len = #topic
    local a, b, c = byte(topic, -3, -1)
    if len < 3 then
        a, b, c = byte('\0\0' .. topic, -3, -1)
    end
    local middle = byte(topic, (len - len % 2) / 2 + 1)
    return byte(share, 45 + (((middle * 31 + a) * 31 + b) * 31 + c) % 256)
end

-- The index-th of those that are due; counted once, for the first topic of another.
local function is_late(index)
    late_count = late_count or call('ZCOUNT', t, '-inf', format('%d', now - late_ms))
    return index <= late_count
end

-- nil: the topic is left alone.
local function claim_of(mark, late, lock)
    local ends, token = 0, 0
    if lock and #lock >= 45 then
        ends, token = parse('>I6I7', lock, 33)
    end
    if ends <= now then
        return mark == OWN and TAKE or late and TAKE_LATE or nil
    elseif sub(lock, 17, 32) == owner then
        local is_old = ends - now < lock_ms / 2 or sub(lock, 1, 32) ~= who
        return mark == OWN and is_old and token or HELD
    elseif mark == OWN then
        local its_view = sub(lock, 1, 16)
        if its_view ~= view and precedes(its_view, view) then
            return TAKE_OVER
        end
        barred = barred + 1
        next_own = math.min(next_own, ends - now, BARRED_MAX_MS)
    end
end

-- Those of a page that the node may scan go to `own`. False: there are more than enough.
local function look_at(own, page, before)
    local topics, keys, marks, lates = {}, {}, {}, {}
    for i = 1, #page do
        local topic = page[i]
        local mark = mark_of(topic)
        local late = mark ~= OWN and is_late(before + i)
        if mark ~= OTHERS or late then
            local k = #topics + 1
            topics[k], keys[k], marks[k], lates[k] = topic, l .. topic, mark, late
        end
    end
    local locks = #keys > 0 and call('MGET', unpack(keys)) or NONE
    for i = 1, #topics do
        local claim = claim_of(marks[i], lates[i], locks[i])
        if claim and #own == TOPICS_MAX then
            next_own = 0
            return false
        elseif claim then
            own[#own + 1] = topics[i]
            claims[#own] = claim
        end
    end
    return true
end

local function own_topics()
    local own, before = {}, 0
    repeat
        local page = call('ZRANGEBYSCORE', t, '-inf', until_now, 'LIMIT', before, TOPICS_MAX)
        before = before + #page
        if not look_at(own, page, before - #page) or #page < TOPICS_MAX then
            return own
        end
    until before == LOOK_MAX
    next_own = math.min(next_own, AGAIN_MS)
    return own
end

-- All is planned, `count` of the topics. One that comes to its end needs no lock; where more is due
-- the node comes back at once. Answers how many locks are to be taken, which is counted.
local function settle(own, count, plans)
    local is_over, taken = {}, 0
    for _, plan in ipairs(plans) do
        is_over[plan.topic] = plan.is_over
        next_own = plan.next <= now and 0 or next_own
    end
    next_own = count < #own and 0 or next_own
    for i = 1, count do
        local claim = is_over[own[i]] and HELD or claims[i]
        claims[i] = claim
        if claim < HELD then
            taken = taken + 1
            local of_answer = claim == TAKE_OVER and 13 or 12
            answer[of_answer] = answer[of_answer] + 1
            answer[14] = answer[14] + (claim == TAKE_LATE and 1 or 0)
        end
    end
    answer[15] = barred
    return taken
end

-- token: the last one given.
local function write_locks(own, count, token)
    local ends = now + lock_ms
    for i = 1, count do
        local number = claims[i]
        if number < HELD then
            token = token + 1
            number = token
        end
        if number ~= HELD then
            call('SET', l .. own[i], who .. pack('>I6I7', ends, number) .. node,
                'PXAT', format('%d', ends))
        end
    end
end

-- Ms to the next event of the node's own topics, with those that were; -1: none is near.
local function wait_for_own()
    local before, last = 0, nil
    while next_own > 0 and before < AHEAD_MAX do
        local size = before == 0 and 4 or AHEAD_MAX - before
        local page = call('ZRANGEBYSCORE', t, '(' .. until_now, '+inf', 'WITHSCORES',
            'LIMIT', before, size)
        for i = 1, #page, 2 do
            if mark_of(page[i]) ~= OTHERS then
                return math.min(next_own, page[i + 1] - now)
            end
        end
        if #page < 2 * size then
            break
        end
        before, last = before + size, page[#page]
    end
    if before == AHEAD_MAX then
        next_own = math.min(next_own, math.max(last - now, AGAIN_MS))
    end
    return next_own < math.huge and next_own or -1
end
