-- scan: moves what is due in this bucket: delayed jobs to ready, reservations that ran out to
-- ready or delayed, used-up and expired jobs to dead; deletes dead jobs beyond their topic's
-- limits.
--
-- KEYS   t n a c h f, and by rule the bucket's o and the topics' own: the name of t with o, or with
--        j, p, d, r, q, v, x, e for its letter
-- ARGV   limit: move at most so many jobs; the node's name and bytes the history may take (0: none
--        is written); pops, packed: for each the topic behind its length, count, 1 where the owners
--        are remembered; then for each rule of the configuration: pattern, settings, packed; last
--        the leader's token
-- answer code, now, wait (always -1); where it is FENCED, the token seen; else the fields of enum
--        scan_field (wire/decode.h), then the lateness of each delayed job that became ready, then
--        for each pop that ran: its number, 1 where it left some, how many elements follow, and
--        those that a pop has for its jobs
-- USES   now moved wake become_ready
--
-- Where all nodes scan, the last argument is the node's share instead of the token, 300 bytes: view 16
-- and owner 16 in hex; how long a lock lasts, and from when on a topic is late, 6 each; a mark for each of
-- 256 shares. Then the script checks each topic's lock (by rule: the name of t with l) instead
-- of the token: see own_topics in lib/scan.lua. The ms to the next event are those of the
-- node's own topics; and the answer has the fields of locks, too.
--
-- Topics come in the order of their next event. First the plan is made for all of them, by reading
-- alone; then it is carried out. Where a due job is missing, or not in the state its place
-- says, its whole topic is left alone and looked at again a second later: it must not stop the
-- others. The same holds for a topic with a key of a wrong type, or one that needs the bucket's
-- a or o of a wrong type. With t, n, c or f of a wrong type the scan ends in an error that
-- names the key; with h, no history is written. A topic without jobs goes, with the tombstones
-- in its r. In other topics the tombstones at the head of r go, for topics that nobody pops;
-- but looking costs, and most have none: so the scan looks in one ms of TRIM_EVERY, where r is
-- written anyway. (A prime, so that no rhythm of the scans passes it by.)
--
-- Consumers that wait at the node that scans need no wake-up: it brings their pops, and each runs
-- where jobs of its topic are moved into the line, after all moves. Only what a pop leaves, or could not
-- pop, is published. (Behind the scan, without a wake-up, a pop could be lost with the connection,
-- and other nodes would not know of the jobs.) Where the line is empty, and the pop wants all that
-- is due, jobs without rules or a large body are reserved at once: half of the calls.
--
-- A job that is due and expired dies. A job that dies here counts against its topic's limits at
-- once, but is not deleted: a dead job stays for one scan at least.

local t, n, a, c, h = unpack(KEYS)
local share = #ARGV[#ARGV] == 300 and ARGV[#ARGV] -- OP_TOKEN_MAX is 64
if not share then
    -- HERE fenced
end
local left, node, history_bytes = math.min(tonumber(ARGV[1]), 1000), ARGV[2], tonumber(ARGV[3])
local TOPICS_MAX, RETRY_MS, TRIM_EVERY, NONE = 100, 1000, 17, {}
local DUE, TIMED_OUT, DIED = 2, 7, 9 -- enum job_event
local OWN, OTHERS, AGAIN_MS = 43, 45, 100 -- + and -; what is neither, ~, is kept
local HELD, TAKE, TAKE_LATE, TAKE_OVER = -1, -2, -3, -4 -- claims of locks; or a token
local bucket, until_now = sub(t, 1, -2), format('%d', now)
local o = bucket .. 'o'
local has_rules = #ARGV > 5
local has_ttl, has_rows = false, false -- may one of the topics have an e? may one have settings?
local tombstones = false -- by plan, how many to drop from the head of r

-- By topic. Whether its jobs go straight to their consumers stands here, because a 17th field of a plan
-- would double its table.
local pops
if ARGV[4] ~= '' then
    local at, number, packed = 1, 0, ARGV[4]
    pops = {}
    while at < #packed do
        local behind = at + byte(packed, at) + 1
        number = number + 1
        local count, remembers = byte(packed, behind, behind + 1)
        pops[sub(packed, at + 1, behind - 1)] = {number = number, count = count,
            remembers = remembers == 1, is_straight = false}
        at = behind + 2
    end
end

-- ---- the plan ----

-- Functions that only some topics need are made when the first one needs them: they cost as
-- much as moving five jobs.
local made
local function rare()
    if not made then
        -- HERE due_at expires used_up rest rank_of raised behind_rules misplaced is_indexed history setting
        -- HERE rules_are_ours settings_are_ours plan plan_deaths carry_more
        made = {misplaced = misplaced, write_history = write_history, settings = plan_settings,
            line = plan_line, expired = plan_expired, without_gone = plan_without_gone,
            end_or_rest = plan_end_or_rest, pruning = plan_pruning, put_more = put_more,
            remove_more = remove_more, end_pause = end_pause}
    end
    return made
end

-- The first due jobs of a place, and when the next one is due. Mostly there is one or none, and the
-- first two tell all.
local function first_in(plan, place)
    local gone_count = plan.more and plan.more.gone_count or 0
    if gone_count == 0 then
        local two = call('ZRANGE', place, 0, 1, 'WITHSCORES')
        if plan.left == 0 or not two[2] or tonumber(two[2]) > now then
            return NONE, two[2]
        elseif not two[4] or tonumber(two[4]) > now then
            return {two[1]}, two[4]
        end
    end
    local ids = NONE
    if plan.left > 0 then
        ids = call('ZRANGEBYSCORE', place, '-inf', until_now, 'LIMIT', 0, plan.left + gone_count)
    end
    local behind = call('ZRANGE', place, #ids, #ids + gone_count, 'WITHSCORES')
    if gone_count > 0 then
        return rare().without_gone(plan, place, ids, behind)
    end
    return ids, behind[2]
end

-- The first due jobs of a place, checked; and whether any of them has rules.
local function due_in(plan, place, state)
    local values, has_rules = NONE, false
    local ids, next = first_in(plan, place)
    if #ids > 0 then
        values = call('HMGET', plan.j, unpack(ids))
    end
    for i = 1, #ids do
        local value = values[i]
        local first, least = value and byte(value) or 0, 24
        if first >= 64 and first % 128 >= 64 then
            has_rules, least = true, (byte(value, 31) or 0) >= 128 and 70 or 46
        end
        if first % 8 ~= state or #value < least then
            plan.wrong = plan.wrong or rare().misplaced(place, plan.j, ids[i], value, state)
        end
    end
    plan.left = plan.left - #ids
    plan.next = math.min(plan.next, tonumber(next) or math.huge)
    return ids, values, has_rules
end

-- A place that has a job before its time is not believed.
local function plan_delayed(plan)
    local ids, values, has_rules = due_in(plan, plan.d, DELAYED)
    local lateness = #ids > 0 and {} or NONE
    for i = 1, plan.wrong and 0 or #ids do
        local late = now - parse('>I6', values[i], 8)
        lateness[i] = late
        if late < 0 then
            plan.wrong = 'job ' .. ids[i] .. ' is in ' .. plan.d .. ', but not due yet'
        end
    end
    plan.lateness = lateness
    local is_batch = #ids > 0 and not has_rules
    local has_history = plan.settings and plan.settings.has_history
    plan.batch = ready_batch(is_batch and ids or {}, is_batch and values or {})
    for i = 1, (has_rules or has_history) and not plan.wrong and #ids or 0 do
        if has_rules then
            add_ready(plan.batch, ids[i], values[i])
        end
        if has_history then
            rare().line(plan, DUE, 0, 0, ids[i], values[i])
        end
    end
end

local function plan_timed_out(plan)
    local ids, values = due_in(plan, plan.v, RESERVED)
    plan.timed_out = #ids
    for i = 1, plan.wrong and 0 or #ids do
        local id, value, is_over = ids[i], values[i], false
        if byte(value) % 128 >= 64 then
            is_over, value = rare().end_or_rest(plan, id, value)
        end
        if not is_over then
            add_ready(plan.batch, id, value)
            if plan.settings and plan.settings.has_history then
                rare().line(plan, TIMED_OUT, 0, parse('>I6', value, 8), id, value)
            end
        end
    end
end

local function pop_of(plan)
    return pops and #plan.batch.ids > 0 and pops[plan.topic]
end

-- May the topic's jobs go straight to those who wait, past the line? All are wanted, the line is empty,
-- and nothing is to be known of them but that they are delayed.
local function may_go_straight(plan, pop)
    local ids, values = plan.batch.ids, plan.batch.values
    if plan.more or plan.settings or plan.timed_out > 0 or #ids > pop.count then
        return false
    end
    for i = 1, #ids do
        local first = byte(values[i])
        if first % 16 ~= DELAYED or first % 128 >= 64 then -- INDEXED may be
            return false
        end
    end
    return call('EXISTS', plan.r, bucket .. 'q:' .. plan.topic) == 0
        and (not pop.remembers or type(redis.pcall('HLEN', o)) == 'number')
end

-- The last reads before the first write.
local function read_the_rest(plan)
    local more, pruned, pop = plan.more, 0, pop_of(plan)
    if pop and may_go_straight(plan, pop) then
        pop.is_straight = true
        return
    end
    plan.q = (more or plan.batch.ranks) and bucket .. 'q:' .. plan.topic
    plan.wakes = batch_wakes(plan.batch, plan.r, plan.q)
        or plan.settings and plan.settings.row_after_pause
    if now % TRIM_EVERY == 0 and #plan.batch.ids > plan.batch.ranked then
        -- HERE names_ready tombstones
        tombstones = tombstones or {} -- no field of a plan, as above
        tombstones[plan] = tombstones_at_head(plan.j, plan.r)
    end
    if more then
        pruned = #more.pruned
        if #more.bodies > 0 then
            call('HLEN', bucket .. 'p:' .. plan.topic)
        end
        if more.counted > 0 then
            local j, topic, counted = plan.j, plan.topic, more.counted
            -- HERE counter
            more.bytes_left = bytes
        end
        if #more.unranked > 0 then
            call('ZCARD', plan.q)
        end
        if #more.dying > 0 then
            call('ZCARD', bucket .. 'x:' .. plan.topic)
        end
        if more.leaves_tombstones then
            -- HERE names_ready tombstones
            more.clearing = plan_clearing(plan.j, plan.topic, plan.r)
        end
    end
    if plan.next == math.huge and left - plan.left == pruned and call('HLEN', plan.j) == pruned then
        plan.is_over = true
        call('ZCARD', a)
        call('LLEN', plan.r)
    end
end

local function plan_for(topic)
    local plan = {topic = topic, left = left, next = math.huge, j = bucket .. 'j:' .. topic,
        d = bucket .. 'd:' .. topic, v = bucket .. 'v:' .. topic, r = bucket .. 'r:' .. topic,
        q = false, batch = false, more = false, wrong = false, settings = false, lateness = false,
        timed_out = 0, wakes = false, is_over = false}
    if has_rows or has_rules then
        rare().settings(plan, has_rows and call('HGET', c, topic), history_bytes)
    end
    if has_ttl then
        rare().expired(plan, bucket .. 'e:' .. topic)
    end
    if not plan.wrong then
        plan_delayed(plan)
        plan_timed_out(plan)
    end
    if not plan.wrong and plan.settings and plan.settings.limits_dead then
        rare().pruning(plan, bucket .. 'x:' .. topic, o)
    end
    if not plan.wrong then
        read_the_rest(plan)
    end
    return plan
end

local watched, tokens = {c}, 0
local answer, filled = {OK, now, -1, 0, 0, 0, 0, 0, -1, 0, ''}, SCAN_WRONG
local topics, claims, next_own, mark_of, who, lock_ms, l = nil, nil, math.huge, nil, nil, nil, nil
if share then
    -- HERE own_topics
else
    topics = redis.pcall('ZRANGEBYSCORE', t, '-inf', until_now, 'LIMIT', 0, TOPICS_MAX)
end
if topics.err then
    -- HERE wrong_type
    return redis.error_reply('DUEQ ' .. (wrong_type(bucket, 't') or topics.err))
end
for i = 1, #topics do
    watched[i + 1] = bucket .. 'e:' .. topics[i]
end
if call('EXISTS', unpack(watched)) > 0 then
    local rows = redis.pcall('HLEN', c)
    if type(rows) == 'table' then
        -- HERE wrong_type
        return redis.error_reply('DUEQ ' .. (wrong_type(bucket, 'c') or rows.err))
    end
    has_ttl, has_rows = true, rows > 0
end

local plans, stuck, first_wrong, stamps, lines = {}, {}, '', 0, {}

local function add_up(plan)
    local more = plan.more
    answer[SCAN_MOVED] = answer[SCAN_MOVED] + left - plan.left
    answer[SCAN_TIMED_OUT] = answer[SCAN_TIMED_OUT] + plan.timed_out
    local lateness = plan.lateness
    for i = 1, #lateness do
        answer[filled + i] = lateness[i]
    end
    filled = filled + #lateness
    if more then
        answer[SCAN_TRIES_DIED] = answer[SCAN_TRIES_DIED] + more.tries_died
        answer[SCAN_EXPIRED_DIED] = answer[SCAN_EXPIRED_DIED] + more.expired_died
        answer[SCAN_PRUNED] = answer[SCAN_PRUNED] + #more.pruned
        for _, line in ipairs(more.lines) do
            lines[#lines + 1] = line
        end
    end
end

for _, topic in ipairs(topics) do
    if left == 0 then
        break
    end
    local is_read, plan = pcall(plan_for, topic)
    if not is_read then
        -- HERE wrong_type
        local wrong = wrong_type(bucket, 'jpdqvxer', topic) or wrong_type(bucket, 'aow')
        if not wrong then
            error(plan, 0)
        end
        plan = {wrong = wrong}
    end
    if plan.wrong then
        first_wrong = #stuck == 0 and plan.wrong or first_wrong
        stuck[#stuck + 1] = topic
    else
        plans[#plans + 1] = plan
        stamps = stamps + #plan.batch.ids
        add_up(plan)
        left = plan.left
    end
end
if share then
    -- HERE count_locks
end
local history_length = #lines > 0 and redis.pcall('XLEN', h)
if type(history_length) == 'table' then
    -- HERE wrong_type
    first_wrong = first_wrong ~= '' and first_wrong or wrong_type(bucket, 'h') or history_length.err
    history_length = false
end

-- ---- carried out ----

for _, plan in ipairs(plans) do
    if plan.wakes and not pop_of(plan) then
        wake(t, plan.topic)
    end
end
call('ZREM', t, '') -- even if Redis is full
local stamp = stamps + tokens > 0 and redis.pcall('INCRBY', n, stamps + tokens)
if type(stamp) == 'table' then
    -- HERE wrong_type
    return redis.error_reply('DUEQ ' .. (wrong_type(bucket, 'n') or n .. ': ' .. stamp.err))
end
stamp = stamp and stamp - stamps - tokens
if claims then
    -- HERE write_locks
end

-- First the job's new place, then its value, then its old place: where Redis fails in between,
-- the job is in two places, never in none.
local function carry_out(plan)
    local more = plan.more
    local changed = more and more.changed or {}
    local clearing = more and more.clearing
    if clearing then
        clearing.run(plan.r, clearing)
    end
    if #plan.batch.ids > 0 then
        put_ready(plan.batch, plan.r, plan.q, stamp, changed)
        stamp = stamp + #plan.batch.ids
    end
    if more then
        rare().put_more(plan, more)
    end
    if #changed > 0 then
        call('HSET', plan.j, unpack(changed))
    end
    if more then
        rare().remove_more(plan, more)
    end
    if #plan.lateness > 0 then
        call('ZREMRANGEBYRANK', plan.d, 0, #plan.lateness - 1)
    end
    if plan.timed_out > 0 then
        call('ZREMRANGEBYRANK', plan.v, 0, plan.timed_out - 1)
    end
    if not clearing and tombstones and (tombstones[plan] or 0) > 0 then
        call('LTRIM', plan.r, tombstones[plan], -1)
    end
    if plan.next < math.huge then
        call('ZADD', t, format('%d', math.max(0, math.min(plan.next, LAST_MS))), plan.topic)
    else
        call('ZREM', t, plan.topic)
    end
    if plan.is_over then
        if share then
            call('UNLINK', l .. plan.topic)
        end
        call('UNLINK', plan.r)
        call('ZREM', a, plan.topic)
    end
end

-- Carries out a plan whose jobs go straight to their consumers, and answers as their pop would: see
-- pop_jobs. It cannot fail half-way, because all of its keys have been read. The counter has given the
-- jobs numbers for places in the line, too, so that leases have the same numbers either way.
local function reserve(plan, pop)
    local UNCONFIRMED_MS, INDEXED = 5000, 16 -- OP_UNCONFIRMED_MS
    local ids, values, count = plan.batch.ids, plan.batch.values, #plan.batch.ids
    local number, soon = call('INCRBY', n, count) - count, now + UNCONFIRMED_MS
    local deadline = format('%d', soon)
    local deadlines, reserved, indexed, popped = {}, {}, {}, {OK, now, -1, 0}
    for i = 1, count do
        local id, lease = ids[i], pack('>I6', number + i)
        local is_new = pop.remembers and byte(values[i]) % 32 < INDEXED
        local value = moved(values[i], RESERVED + (is_new and INDEXED or 0), lease)
        if pop.remembers then
            indexed[2 * i - 1], indexed[2 * i] = id, lease .. plan.topic
        end
        deadlines[2 * i - 1], deadlines[2 * i] = deadline, id
        reserved[2 * i - 1], reserved[2 * i] = id, value
        popped[2 * i + 3], popped[2 * i + 4] = id, value
    end
    if pop.remembers then
        call('HSET', o, unpack(indexed))
    end
    call('ZADD', plan.v, unpack(deadlines))
    call('HSET', plan.j, unpack(reserved))
    call('ZREMRANGEBYRANK', plan.d, 0, count - 1)
    call('ZADD', t, format('%d', math.max(0, math.min(plan.next, soon))), plan.topic)
    return popped
end

for _, plan in ipairs(plans) do
    local pop = pop_of(plan)
    if pop and pop.is_straight then
        stamp = stamp + #plan.batch.ids
    else
        carry_out(plan)
    end
    if plan.settings and plan.settings.row_after_pause then
        rare().end_pause(plan.topic, plan.settings.row_after_pause)
    end
end
for _, topic in ipairs(stuck) do
    call('ZADD', t, format('%d', now + RETRY_MS), topic)
end

-- ---- the pops, in the order of the plans ----

local room, pop_made = 32768, nil -- OP_SCAN_BYTES_MAX

-- The answer of pop.lua. Where the pop fails, it says that there is more: nobody knows.
local function pop_from_the_line(plan, pop)
    if not pop_made then
        -- HERE pop_jobs
        pop_made = pop_jobs
    end
    local topic = plan.topic
    local keys = {plan.j, bucket .. 'p:' .. topic, plan.r, plan.v, t, n, o, bucket .. 'q:' .. topic, c}
    local is_done, popped, room_left = pcall(pop_made, keys, topic, pop.count, pop.remembers, nil, room)
    if not is_done or popped.err then
        popped = {OK, now, -1, 1}
    end
    room = room_left or room
    if popped[4] > 0 and plan.wakes then
        pcall(wake, t, topic) -- jobs have moved: their scan must not end in an error
    end
    return popped
end

for _, plan in ipairs(pops and plans or NONE) do
    local pop = pop_of(plan)
    if pop then
        local popped = pop.is_straight and reserve(plan, pop) or pop_from_the_line(plan, pop)
        answer[filled + 1], answer[filled + 2] = pop.number, popped[4] > 0 and 1 or 0
        answer[filled + 3] = #popped - 4
        filled = filled + 3
        for k = 5, #popped do
            filled = filled + 1
            answer[filled] = popped[k]
        end
    end
end

if history_length then
    rare().write_history(h, history_length, lines, history_bytes)
end

if share then
    if next_own > 0 then
        -- HERE next_own
    end
    answer[SCAN_NEXT_MS] = next_own < math.huge and math.min(next_own, LAST_MS) or -1
else
    local next = tonumber(call('ZRANGE', t, 0, 0, 'WITHSCORES')[2])
    answer[SCAN_NEXT_MS] = next and math.max(0, math.min(next - now, LAST_MS)) or -1
end
answer[SCAN_STUCK], answer[SCAN_WRONG] = #stuck, first_wrong
return answer
