-- Parts of scan.lua for some topics only, or for clusters in which all nodes scan.

-- PART plan
-- What a scan is about to do with a topic, made by reading alone: the event it will have next, what
-- its settings say, and (in plan.more) what only some topics have: jobs that die, rest or go. A
-- plan has topic, j; left: how many more jobs may move; wrong: why none will. (All fields are
-- there from the beginning: adding one costs as much as a call.)   (needs setting history and of
-- scan.lua: node DUE TIMED_OUT DIED behind_rules)
local FOREVER = 281474976710655

local function plan_event(plan, at)
    plan.next = math.min(plan.next, at)
end

local function more_of(plan)
    if not plan.more then
        plan.more = {gone = {}, gone_count = 0, dying = {}, changed = {}, unwatched = {},
            undelayed = {}, unreserved = {}, unranked = {}, resting = {}, pruned = {}, bodies = {},
            owned = {}, counted = 0, bytes_left = false, lines = {}, tries_died = 0, expired_died = 0,
            leaves_tombstones = false, clearing = false}
    end
    return plan.more
end

-- The settings of the matching rules of the configuration, first first: they are between ARGV 4
-- and the last argument, each behind its pattern.
local function rules_for(topic)
    local rules = {}
    for i = 5, #ARGV - 1, 2 do
        local pattern = ARGV[i]
        local is_prefix = sub(pattern, -1) == '*'
        if pattern == topic or is_prefix and sub(topic, 1, #pattern - 1) == sub(pattern, 1, -2) then
            rules[#rules + 1] = ARGV[i + 1]
        end
    end
    return rules
end

-- row: of c, or false.
local function plan_settings(plan, row, history_bytes)
    local rules = rules_for(plan.topic)
    if not row and #rules == 0 then
        return
    end
    row = row and settings_are_ours(row) and row
    local dead_max = setting(row, rules, SETTING_DEAD_MAX)
    local dead_age = setting(row, rules, SETTING_DEAD_AGE)
    plan.settings = {dead_max = dead_max, dead_age = dead_age, limits_dead = dead_max + dead_age > 0,
        has_history = history_bytes > 0 and setting(row, rules, SETTING_HISTORY) > 0}
    local ends = row and parse('>I6', row) or 0
    if ends > now and ends < FOREVER then
        plan_event(plan, ends)
    elseif ends > 0 and ends <= now then
        plan.settings.row_after_pause = '\0\0\0\0\0\0' .. sub(row, 7)
    end
end

-- A line of the history, with the holder from the job's value. A job with names longer than
-- dueq's limits gets no line, for lack of room; a holder's name that long is cut.
local function plan_line(plan, event, death, at, id, value)
    local NAME_MAX, HOLDER_MAX = 200, 96
    if #plan.topic > NAME_MAX or #id > NAME_MAX then
        return
    end
    local lines, client = more_of(plan).lines, ''
    if byte(value) >= 128 and event ~= DUE then
        local from = behind_rules(value)
        client = sub(value, from + 1, from + math.min(byte(value, from) or 0, HOLDER_MAX))
    end
    lines[#lines + 1] = history_line(event, death, at, parse('>I2', value, 2), plan.topic, id,
        node, client)
end

-- PART plan_deaths
-- The part of a scan's plan that is about the end of jobs: those that expire, those whose tries are
-- used up, and the dead ones beyond their topic's limits.   (needs plan moved due_at expires used_up
-- rest rank_of raised behind_rules misplaced is_indexed)
local function plan_death(plan, id, value, reason)
    local more = more_of(plan)
    more.dying[#more.dying + 1] = id
    more.changed[#more.changed + 1] = id
    more.changed[#more.changed + 1] = moved(value, DEAD, pack('>I6', reason))
    if expires(value) > 0 then
        more.unwatched[#more.unwatched + 1] = id
    end
    if plan.settings and plan.settings.has_history then
        plan_line(plan, DIED, reason, 0, id, value)
    end
end

-- The job leaves the place its state says; an entry of r stays, as a tombstone.
local function plan_leaving(more, id, value, state)
    more.gone[id] = true
    if state == DELAYED then
        more.undelayed[#more.undelayed + 1] = id
    elseif state == RESERVED then
        more.unreserved[#more.unreserved + 1] = id
    elseif rank_of(value) then
        more.unranked[#more.unranked + 1] = sub(value, 14, 19) .. id
    else
        more.leaves_tombstones = true
    end
end

local function plan_expired(plan, e)
    local first = tonumber(call('ZRANGE', e, 0, 0, 'WITHSCORES')[2])
    if not first or first > now or plan.left == 0 then
        return first and plan_event(plan, first)
    end
    local ids = call('ZRANGEBYSCORE', e, '-inf', format('%d', now), 'LIMIT', 0, plan.left)
    local values, more = call('HMGET', plan.j, unpack(ids)), more_of(plan)
    for i = 1, #ids do
        local id, value = ids[i], values[i]
        local state = value and (byte(value) or 0) % 8
        plan.wrong = misplaced(e, plan.j, id, value, state)
        if not plan.wrong and (state == DEAD or expires(value) == 0 or expires(value) > now) then
            plan.wrong = 'job ' .. id .. ' is in ' .. e .. ', but does not expire'
        end
        if plan.wrong then
            return
        end
        plan_leaving(more, id, value, state)
        plan_death(plan, id, value, EXPIRED)
    end
    more.gone_count, more.expired_died, plan.left = #ids, #ids, plan.left - #ids
    plan_event(plan, tonumber(call('ZRANGE', e, #ids, #ids, 'WITHSCORES')[2]) or math.huge)
end

-- A reservation of a job with rules that ran out. An unconfirmed one has used no try, and counts as no
-- timeout. Answers whether the job dies or rests; else it becomes ready, with the value that comes second.
local function plan_end_or_rest(plan, id, value)
    if byte(value) % 64 < 32 then
        return false, value
    end
    value = raised(value, TIMEOUTS)
    if used_up(value) then
        plan_death(plan, id, value, TRIES)
        plan.more.tries_died = plan.more.tries_died + 1
        return true
    end
    local rest_ms = rest(value)
    if rest_ms == 0 then
        return false, value
    end
    local more, due = more_of(plan), start + rest_ms
    more.resting[#more.resting + 1] = format('%d', due)
    more.resting[#more.resting + 1] = id
    more.changed[#more.changed + 1] = id
    more.changed[#more.changed + 1] = due_at(moved(value, DELAYED, '\0\0\0\0\0\0'), due)
    plan_event(plan, due)
    if plan.settings and plan.settings.has_history then
        plan_line(plan, TIMED_OUT, 0, due, id, value)
    end
    return true
end

-- Jobs that do not leave their place anyway, at most as many as may move; and when the next one
-- is due, which is among the others or `behind`.
local function plan_without_gone(plan, place, ids, behind)
    local gone, some = plan.more.gone, {}
    for i = 1, #ids do
        if not gone[ids[i]] then
            if #some == plan.left then
                return some, call('ZSCORE', place, ids[i])
            end
            some[#some + 1] = ids[i]
        end
    end
    for i = 1, #behind, 2 do
        if not gone[behind[i]] then
            return some, behind[i + 1]
        end
    end
    return some, nil
end

-- The first `count` of x are deleted.
local function plan_deleted(plan, x, o, count)
    local more, p, counted = more_of(plan), bucket .. 'p:' .. plan.topic, 0
    local ids = call('ZRANGE', x, 0, count - 1)
    local values = call('HMGET', plan.j, unpack(ids))
    for i = 1, count do
        local id, value = ids[i], values[i]
        plan.wrong = misplaced(x, plan.j, id, value, DEAD)
        if plan.wrong then
            return
        end
        if byte(value) % 16 >= 8 then
            more.bodies[#more.bodies + 1] = id
        end
        if is_indexed(o, value, id, plan.topic) then
            more.owned[#more.owned + 1] = id
        end
        -- HERE counted
    end
    more.pruned, plan.left, more.counted = ids, plan.left - count, counted
end

local function plan_pruning(plan, x, o)
    local dead, dying = call('ZCARD', x), plan.more and #plan.more.dying or 0
    local dead_max, dead_age, wanted = plan.settings.dead_max, plan.settings.dead_age, 0
    if dead_max > 0 then
        wanted = dead + dying - dead_max
    end
    if dead_age > 0 then
        wanted = math.max(wanted, call('ZCOUNT', x, '-inf', format('%d', now - dead_age)))
    end
    local count = math.max(0, math.min(wanted, dead, plan.left))
    if count > 0 then
        plan_deleted(plan, x, o, count)
    end
    if wanted > count then
        plan_event(plan, now)
    elseif dead_age > 0 and dead + dying > count then
        local oldest = call('ZRANGE', x, count, count, 'WITHSCORES')[2]
        plan_event(plan, (tonumber(oldest) or now) + dead_age)
    end
end

-- PART carry_more
-- The part of a scan that carries out what only some topics have planned (plan.more), and the end
-- of a pause. In two halves: the first, before the values are written, fills new places; the
-- second, after that, empties old ones.
local function write(verb, key, members)
    if #members > 0 then
        call(verb, key, unpack(members))
    end
end

local function put_more(plan, more)
    local dead = {}
    for i, id in ipairs(more.dying) do
        dead[2 * i - 1], dead[2 * i] = until_now, id
    end
    write('ZADD', plan.d, more.resting)
    write('ZADD', bucket .. 'x:' .. plan.topic, dead)
end

local function remove_more(plan, more)
    write('ZREM', plan.d, more.undelayed)
    write('ZREM', plan.v, more.unreserved)
    write('ZREM', plan.q, more.unranked)
    write('ZREM', bucket .. 'e:' .. plan.topic, more.unwatched)
    write('ZREM', bucket .. 'x:' .. plan.topic, more.pruned)
    write('HDEL', plan.j, more.pruned)
    write('HDEL', bucket .. 'p:' .. plan.topic, more.bodies)
    write('HDEL', o, more.owned)
    local w, bytes, topic = bucket .. 'w', more.bytes_left, plan.topic
    -- HERE set_counter
end

local function end_pause(topic, row)
    if parse('>I2', row, 7) == 0 then
        call('HDEL', c, topic)
    else
        call('HSET', c, topic, row)
    end
end

-- PART own_topics
-- Which due topics this node scans, where all nodes scan (doc/cluster.md). All that are due are
-- looked at, with one MGET for the locks of each page; nothing is written. Makes topics, first
-- first; claims, by topic, where a lock is to be written: TAKE, TAKE_LATE, TAKE_OVER, or its
-- token where it is to be renewed (a lock that is held on to has none); and next_own, the ms
-- until the node has reason to look again.   (of scan.lua)
--
-- This part runs with every scan, and is tuned for a scan that finds one topic, its own, with
-- its lock on it: what other cases need is made when one occurs, and the page becomes the list.
-- Where more is due than it looks at, topics of others (of a frozen node, say) may hide the
-- node's own behind them. Then the second half of what it looks at is a window behind the first
-- half, chosen by the clock anew each time.
local LOOK_MAX, CONFLICT_MAX_MS, KEPT, LATE = 1000, 1000, 1, 2
local HALF, due = LOOK_MAX / 2, nil -- how many topics are due, where there are windows
local before, looked, count, conflicts, size = 0, 0, 0, 0, nil
local late_count, others -- among the due topics; `others`: topics not the node's own, KEPT or LATE
local late_ms, is_before -- made when it is needed
who, lock_ms, late_ms = sub(share, 1, 32), parse('>I6I6', share, 33)
l = bucket .. 'l:'

-- As SHARE_LOCK_MAX_MS in node/store/share.h: a lock that ends later was written by another
-- clock, before a failover.
local most_ms = math.max(lock_ms, 60000)

-- As share_of() in node/store/share.h.
mark_of = function(topic)
    local len = #topic
    if len < 12 then
        topic, len = sub('\0\0\0\0\0\0\0\0\0\0\0' .. topic, -12), 12
    end
    local a, b, c = byte(topic, -3, -1)
    local at = len < 16 and len - 12 or (len - len % 4) / 4
    local first, second = parse('>I6I6', topic, at + 1)
    local sum = first % 65521 * 31 + second % 65521
    return byte(share, 45 + (((sum * 31 + a) * 31 + b) * 31 + c) % 256)
end

repeat
    if looked == HALF then
        due = call('ZCOUNT', t, '-inf', until_now)
        due = due > LOOK_MAX and due
        if due then
            before = HALF + math.floor(now / AGAIN_MS) % math.ceil((due - HALF) / HALF) * HALF
        end
    end
    local page = due and call('ZRANGE', t, before, math.min(before + 100, due) - 1)
        or redis.pcall('ZRANGEBYSCORE', t, '-inf', until_now, 'LIMIT',
            before > 0 and format('%d', before) or '0', '100')
    if page.err then
        topics = page
        break
    end
    local keys, found, locks = {}, 0, NONE
    topics, size = topics or page, #page
    for i = 1, size do
        local topic = page[i]
        local mark, is_late = mark_of(topic), false
        if mark ~= OWN then
            late_count = late_count or call('ZCOUNT', t, '-inf', format('%d', now - late_ms))
            is_late = before + i <= late_count
        end
        if mark ~= OTHERS or is_late then
            found = found + 1
            page[found], keys[found] = topic, l .. topic
            if mark ~= OWN then
                others = others or {}
                others[topic] = is_late and LATE or KEPT
            end
        end
    end
    if found > 0 then
        locks = call('MGET', unpack(keys))
    end
    before, looked = before + size, looked + size
    for i = 1, found do
        local topic, lock, claim = page[i], locks[i], nil
        local other, ends, token = others and others[topic], 0, 0
        if lock and #lock >= 45 then
            ends, token = parse('>I6I7', lock, 33)
        end
        if ends <= now or ends - now > most_ms then
            claim = not other and TAKE or other == LATE and TAKE_LATE
        elseif sub(lock, 1, 32) == who then
            claim = not other and ends - now < lock_ms / 2 and token or HELD
        elseif other then
            claim = sub(lock, 17, 32) == sub(who, 17) and HELD
        else
            local its_view, view = sub(lock, 1, 16), sub(who, 1, 16)
            local is_its_own = sub(lock, 17, 32) == sub(who, 17)
            if not is_before then
                -- HERE precedes
                is_before = precedes
            end
            local has_rolled_back = its_view ~= view and is_before(its_view, view)
            if is_its_own then -- of a newer view: this scan comes late
                claim = has_rolled_back and token or HELD
            elseif has_rolled_back then
                claim = TAKE_OVER
            else
                conflicts = conflicts + 1
                next_own = math.min(next_own, ends - now, CONFLICT_MAX_MS)
            end
        end
        if claim and count == TOPICS_MAX then
            next_own, looked = 0, LOOK_MAX
            break
        elseif claim then
            count = count + 1
            topics[count] = topic
            if claim ~= HELD then
                claims = claims or {}
                claims[topic] = claim
            end
        end
    end
    for i = count + 1, #topics do
        topics[i] = nil
    end
until size < TOPICS_MAX or looked >= LOOK_MAX
if due or size == TOPICS_MAX and looked >= LOOK_MAX then
    next_own = math.min(next_own, AGAIN_MS)
end
answer[SCAN_TAKEN], answer[SCAN_TAKEN_OVER], answer[SCAN_STOLEN] = 0, 0, 0
answer[SCAN_CONFLICTS], filled = conflicts, SCAN_CONFLICTS

-- PART next_own
-- Lowers next_own to the next event of the node's own topics. Most often it is among the first
-- of all.   (of scan.lua)
local AHEAD_MAX = 256
local first, found = call('ZRANGE', t, '0', '3', 'WITHSCORES'), false
for i = 1, #first, 2 do
    local at = tonumber(first[i + 1])
    if at > now and mark_of(first[i]) ~= OTHERS then
        next_own, found = math.min(next_own, at - now), true
        break
    end
end
if #first == 8 and not found then
    local page = call('ZRANGEBYSCORE', t, '(' .. until_now, '+inf', 'WITHSCORES', 'LIMIT', '0', AHEAD_MAX)
    for i = 1, #page, 2 do
        if mark_of(page[i]) ~= OTHERS then
            next_own, found = math.min(next_own, page[i + 1] - now), true
            break
        end
    end
    if #page == 2 * AHEAD_MAX and not found then
        next_own = math.min(next_own, math.max(page[#page] - now, AGAIN_MS))
    end
end

-- PART count_locks
-- After the plan: where more is due, the node comes back at once. Finds the locks to be
-- written, without those of topics that end, or were not reached; and how many are taken, and
-- so need a token.   (of scan.lua)
local reached = #plans + #stuck
next_own = reached < #topics and 0 or next_own
for i = 1, #plans do
    local plan = plans[i]
    next_own = plan.next <= now and 0 or next_own
    if claims and plan.is_over then
        claims[plan.topic] = nil
    end
end
for i = 1, claims and #topics or 0 do
    local claim = claims[topics[i]]
    if i > reached then
        claims[topics[i]] = nil
    elseif claim and claim < HELD then
        local which = claim == TAKE_OVER and SCAN_TAKEN_OVER or SCAN_TAKEN
        tokens, answer[which] = tokens + 1, answer[which] + 1
        answer[SCAN_STOLEN] = answer[SCAN_STOLEN] + (claim == TAKE_LATE and 1 or 0)
    end
end

-- PART write_locks
-- Writes the locks, as doc/cluster.md has it. The tokens come behind the stamps. A stolen lock
-- is of view 0: the topic's own node takes it over with its next scan.   (of scan.lua)
local ends, token, late = now + lock_ms, stamp and stamp + stamps, nil
for i = 1, #topics do
    local claim, holder = claims[topics[i]], who
    local number = claim
    if claim == TAKE_LATE then
        late = late or string.rep('0', 16) .. sub(who, 17)
        holder = late
    end
    if claim and claim < HELD then
        token = token + 1
        number = token
    end
    if claim then
        call('SET', l .. topics[i], holder .. pack('>I6I7', ends, number) .. node,
            'PXAT', format('%d', ends))
    end
end
