-- scan: what is due in this bucket moves: delayed jobs to ready, reservations that ran out to ready
-- or delayed, and what is used up or expired to dead; dead ones beyond their topic's limits go.
--
-- KEYS   t n a c h, and by rule the bucket's o and the topics' own: the name of t with o, or with
--        j, p, d, r, q, v, x, e for its letter
-- ARGV   limit: move at most so many jobs; the node's name and bytes the history may take (0: none
--        is written); then for each rule of the configuration: pattern, settings, packed
-- answer code, now, wait (always -1), moved, reservations that ran out, of them dead for their
--        tries, dead for their ttl, dead ones deleted, ms to the bucket's next event (0: more is
--        due now; -1: there is none), number of topics left alone, what is wrong with the first of
--        them (''), then the lateness of each delayed job that became ready
-- USES   moved due_at expires used_up rest priority wake misplaced become_ready owns setting history
--
-- Topics come in the order of their next event. First the plan is made for all of them, by reading
-- alone; then it is carried out. Where a due job is missing, or not in the state its place says,
-- its whole topic is left alone and looked at again a second later: it must not stop the others.
-- One that has no job any more is let go, with the tombstones in its r.
--
-- What is due and expired at once dies. What dies here is counted against the limits at once, but
-- is never among those that go: a dead job stays for one scan at least.

local t, n, a, c, h = unpack(KEYS)
local left, node, history_bytes = math.min(tonumber(ARGV[1]), 1000), ARGV[2], tonumber(ARGV[3])
local TOPICS_MAX, RETRY_MS, FOREVER = 100, 1000, 281474976710655
local DUE, TIMED_OUT, DIED = 2, 7, 9 -- enum job_event
local bucket, until_now = sub(t, 1, -2), format('%d', now)
local o = bucket .. 'o'
local has_rows, has_rules = call('HLEN', c) > 0, #ARGV > 3

-- ---- what the settings say ----

local function rule_for(topic)
    for i = 4, #ARGV, 2 do
        local pattern = ARGV[i]
        local is_prefix = sub(pattern, -1) == '*'
        if pattern == topic or is_prefix and sub(topic, 1, #pattern - 1) == sub(pattern, 1, -2) then
            return ARGV[i + 1]
        end
    end
end

-- In the plan: row, has_history, dead_max, dead_age; and of the pause: is_over (now), ends.
local function read_settings(plan)
    local row = has_rows and call('HGET', c, plan.topic)
    row = row and #row == 45 and row
    local rule = has_rules and rule_for(plan.topic)
    plan.row = row
    plan.dead_max = setting(row, rule, 32, '>I4', 35)
    plan.dead_age = setting(row, rule, 64, '>I6', 39)
    plan.has_history = history_bytes > 0 and setting(row, rule, 128, 'B', 45) > 0
    local ends = row and parse('>I6', row) or 0
    plan.pause_is_over = ends > 0 and ends <= now
    plan.next = ends > now and ends < FOREVER and ends or math.huge
end

-- ---- the plan ----

local function plan_event(plan, at)
    plan.next = math.min(plan.next, at)
end

local function plan_line(plan, event, death, at, id, value)
    if plan.has_history then
        local from = byte(value) % 128 >= 64 and 47 or 25
        local client = byte(value) >= 128 and event ~= DUE
            and sub(value, from + 1, from + (byte(value, from) or 0)) or ''
        plan.lines[#plan.lines + 1] =
            history_line(event, death, at, parse('>I2', value, 2), plan.topic, id, node, client)
    end
end

local function plan_death(plan, id, value, reason)
    local dying = plan.dying
    dying[#dying + 1] = id
    plan.changed[#plan.changed + 1] = id
    plan.changed[#plan.changed + 1] = moved(value, DEAD, pack('>I6', reason))
    plan_line(plan, DIED, reason, 0, id, value)
    if expires(value) > 0 then
        plan.unwatched[#plan.unwatched + 1] = id
    end
end

-- The first of a place that are due, checked. Those of `gone` are passed over: they leave it anyway.
local function due_in(plan, place, state)
    local ids, values, gone = {}, {}, plan.gone
    if plan.left > 0 then
        ids = call('ZRANGEBYSCORE', place, '-inf', until_now, 'LIMIT', 0, plan.left)
    end
    if #ids > 0 then
        values = call('HMGET', plan.j, unpack(ids))
    end
    local due = {}
    for i = 1, #ids do
        if not gone[ids[i]] then
            plan.wrong = plan.wrong or misplaced(place, plan.j, ids[i], values[i], state)
            due[#due + 1] = {ids[i], values[i]}
        end
    end
    local behind = call('ZRANGE', place, #ids, #ids + plan.gone_count, 'WITHSCORES')
    for i = 1, #behind, 2 do
        if not gone[behind[i]] then
            plan_event(plan, tonumber(behind[i + 1]))
            break
        end
    end
    plan.left = plan.left - #due
    return plan.wrong and {} or due
end

local function plan_expired(plan)
    local first = tonumber(call('ZRANGE', plan.e, 0, 0, 'WITHSCORES')[2])
    if not first or first > now or plan.left == 0 then
        plan_event(plan, first or math.huge)
        return
    end
    local ids = call('ZRANGEBYSCORE', plan.e, '-inf', until_now, 'LIMIT', 0, plan.left)
    local values = call('HMGET', plan.j, unpack(ids))
    for i = 1, #ids do
        local id, value = ids[i], values[i]
        local state = value and byte(value) % 8
        plan.wrong = plan.wrong or misplaced(plan.e, plan.j, id, value, state)
        if not plan.wrong and (state == DEAD or expires(value) == 0 or expires(value) > now) then
            plan.wrong = 'job ' .. id .. ' is in ' .. plan.e .. ', but does not expire'
        end
        if plan.wrong then
            return
        end
        plan.gone[id] = true
        if state == READY and priority(value) ~= COMMON_PRIORITY then
            plan.unranked[#plan.unranked + 1] = sub(value, 14, 19) .. id
        elseif state ~= READY then
            local list = state == DELAYED and plan.undelayed or plan.unreserved
            list[#list + 1] = id
        end
        plan_death(plan, id, value, EXPIRED)
    end
    plan.gone_count, plan.left = #ids, plan.left - #ids
    plan_event(plan, tonumber(call('ZRANGE', plan.e, #ids, #ids, 'WITHSCORES')[2]) or math.huge)
end

-- A reservation that ran out. Who never had the job confirmed has used no try.
local function plan_timed_out(plan, id, value)
    local has_rules = byte(value) % 128 >= 64 and byte(value) % 64 >= 32
    if has_rules and used_up(value) then
        plan.tries_died = plan.tries_died + 1
        plan_death(plan, id, value, TRIES)
        return
    end
    local rest_ms = has_rules and rest(value) or 0
    if rest_ms > 0 then
        local due = now + rest_ms
        plan.resting[#plan.resting + 1] = format('%d', due)
        plan.resting[#plan.resting + 1] = id
        plan.changed[#plan.changed + 1] = id
        plan.changed[#plan.changed + 1] = due_at(moved(value, DELAYED, '\0\0\0\0\0\0'), due)
        plan_event(plan, due)
        plan_line(plan, TIMED_OUT, 0, due, id, value)
    else
        add_ready(plan.batch, id, value)
        plan_line(plan, TIMED_OUT, 0, parse('>I6', value, 8), id, value)
    end
end

local function plan_pruning(plan)
    if plan.dead_max == 0 and plan.dead_age == 0 then
        if #plan.dying > 0 then
            call('ZCARD', plan.x)
        end
        return
    end
    local dead, too_many, too_old = call('ZCARD', plan.x), 0, 0
    if plan.dead_max > 0 then
        too_many = math.max(0, dead + #plan.dying - plan.dead_max)
    end
    if plan.dead_age > 0 then
        too_old = call('ZCOUNT', plan.x, '-inf', format('%d', now - plan.dead_age))
    end
    local wanted = math.max(too_many, too_old)
    local count = math.min(wanted, dead, plan.left)
    if count > 0 then
        plan.pruned = call('ZRANGE', plan.x, 0, count - 1)
        local values = call('HMGET', plan.j, unpack(plan.pruned))
        for i = 1, count do
            local id, value = plan.pruned[i], values[i]
            plan.wrong = plan.wrong or misplaced(plan.x, plan.j, id, value, DEAD)
            if plan.wrong then
                return
            end
            if byte(value) % 16 >= 8 then
                plan.bodies[#plan.bodies + 1] = id
            end
            if owns(o, value, id, plan.topic) then
                plan.owned[#plan.owned + 1] = id
            end
        end
        plan.left = plan.left - count
    end
    if wanted > count then
        plan_event(plan, now)
    elseif plan.dead_age > 0 and dead + #plan.dying > count then
        local oldest = call('ZRANGE', plan.x, count, count, 'WITHSCORES')[2]
        plan_event(plan, (tonumber(oldest) or now) + plan.dead_age)
    end
end

local function plan_for(topic)
    local plan = {topic = topic, left = left, gone = {}, gone_count = 0, dying = {}, changed = {},
        unwatched = {}, undelayed = {}, unreserved = {}, unranked = {}, resting = {}, pruned = {},
        bodies = {}, owned = {}, lines = {}, batch = ready_batch(), tries_died = 0}
    for letter in string.gmatch('jpdrqvxe', '.') do
        plan[letter] = bucket .. letter .. ':' .. topic
    end
    read_settings(plan)
    plan_expired(plan)
    plan.expired_died = #plan.dying
    local delayed = plan.wrong and {} or due_in(plan, plan.d, DELAYED)
    local ran_out = plan.wrong and {} or due_in(plan, plan.v, RESERVED)
    for _, job in ipairs(delayed) do
        add_ready(plan.batch, job[1], job[2])
        plan_line(plan, DUE, 0, 0, job[1], job[2])
    end
    for _, job in ipairs(ran_out) do
        plan_timed_out(plan, job[1], job[2])
    end
    plan.delayed, plan.ran_out = delayed, ran_out
    if not plan.wrong then
        plan_pruning(plan)
    end
    if plan.wrong then
        return plan
    end
    plan.count = left - plan.left
    plan.is_over = plan.count == #plan.pruned and plan.next == math.huge
        and call('HLEN', plan.j) == #plan.pruned
    if plan.is_over then
        call('ZCARD', a)
    end
    if #plan.bodies > 0 then
        call('HLEN', plan.p)
    end
    plan.wakes = batch_wakes(plan.batch, plan.r, plan.q) or plan.pause_is_over
    if #plan.unranked > 0 then
        call('ZCARD', plan.q)
    end
    return plan
end

local plans, stuck, first_wrong, stamps, lines = {}, {}, '', 0, {}
local answer = {OK, now, -1, 0, 0, 0, 0, 0, -1, 0, ''}

for _, topic in ipairs(call('ZRANGEBYSCORE', t, '-inf', until_now, 'LIMIT', 0, TOPICS_MAX)) do
    if left == 0 then
        break
    end
    local plan = plan_for(topic)
    if plan.wrong then
        first_wrong = #stuck == 0 and plan.wrong or first_wrong
        stuck[#stuck + 1] = topic
    else
        plans[#plans + 1] = plan
        left = plan.left
        stamps = stamps + #plan.batch.ids
        for _, job in ipairs(plan.delayed) do
            answer[#answer + 1] = now - parse('>I6', job[2], 8)
        end
        for i, count in ipairs({plan.count, #plan.ran_out, plan.tries_died, plan.expired_died,
            #plan.pruned}) do
            answer[3 + i] = answer[3 + i] + count
        end
        for _, line in ipairs(plan.lines) do
            lines[#lines + 1] = line
        end
    end
end
local history_length = #lines > 0 and call('XLEN', h)

-- ---- carried out ----

for _, plan in ipairs(plans) do
    if plan.wakes then
        wake(t, plan.topic)
    end
end
call('ZREM', t, '') -- even if Redis is full
local stamp = stamps > 0 and call('INCRBY', n, stamps) - stamps

-- Removes what there is to be removed.
local function remove(verb, key, members)
    if #members > 0 then
        call(verb, key, unpack(members))
    end
end

-- First where a job goes, then what it is, then where it was: cut off in between by a Redis that
-- fails, it is in two places, never in none.
local function carry_out(plan)
    local dead = {}
    put_ready(plan.batch, plan.r, plan.q, stamp, plan.changed)
    stamp = stamp and stamp + #plan.batch.ids
    if #plan.resting > 0 then
        call('ZADD', plan.d, unpack(plan.resting))
    end
    for i, id in ipairs(plan.dying) do
        dead[2 * i - 1], dead[2 * i] = until_now, id
    end
    if #dead > 0 then
        call('ZADD', plan.x, unpack(dead))
    end
    if #plan.changed > 0 then
        call('HSET', plan.j, unpack(plan.changed))
    end
    remove('ZREM', plan.d, plan.undelayed)
    remove('ZREM', plan.v, plan.unreserved)
    remove('ZREM', plan.q, plan.unranked)
    remove('ZREM', plan.e, plan.unwatched)
    if #plan.delayed > 0 then
        call('ZREMRANGEBYRANK', plan.d, 0, #plan.delayed - 1)
    end
    if #plan.ran_out > 0 then
        call('ZREMRANGEBYRANK', plan.v, 0, #plan.ran_out - 1)
    end
    remove('ZREM', plan.x, plan.pruned)
    remove('HDEL', plan.j, plan.pruned)
    remove('HDEL', plan.p, plan.bodies)
    remove('HDEL', o, plan.owned)
    if plan.pause_is_over then
        local row = '\0\0\0\0\0\0' .. sub(plan.row, 7)
        if parse('>I2', row, 7) == 0 then
            call('HDEL', c, plan.topic)
        else
            call('HSET', c, plan.topic, row)
        end
    end
    if plan.next < math.huge then
        call('ZADD', t, format('%d', plan.next), plan.topic)
    else
        call('ZREM', t, plan.topic)
    end
    if plan.is_over then
        call('UNLINK', plan.r)
        call('ZREM', a, plan.topic)
    end
end

for _, plan in ipairs(plans) do
    carry_out(plan)
end
for _, topic in ipairs(stuck) do
    call('ZADD', t, format('%d', now + RETRY_MS), topic)
end
if history_length then
    write_history(h, history_length, lines, history_bytes)
end

local next = tonumber(call('ZRANGE', t, 0, 0, 'WITHSCORES')[2])
answer[9] = next and math.max(0, next - now) or -1
answer[10], answer[11] = #stuck, first_wrong
return answer
