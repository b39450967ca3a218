-- scan: move what is due in this bucket: delayed jobs and expired reservations to ready.
--
-- KEYS   t n a, and by rule the topics' own: the name of t with j, d, r, v for its letter
-- ARGV   limit: move at most so many jobs
-- answer code, now, wait (always -1), moved, expired, ms to the bucket's next event (0: more
--        is due now; -1: there is none), number of topics left alone, what is wrong with the
--        first of them (''), then the lateness of each delayed job
-- USES   now moved wake
--
-- Topics come in the order of their next event. First the plan is made for all of them, by
-- reading alone; then it is carried out. Where a due job is missing, or not in the state its
-- place says, its whole topic is left alone and looked at again a second later: it must not
-- stop the others. One that has no job any more is let go, with the tombstones in its r.

local t, n, a = unpack(KEYS)
local left = math.min(tonumber(ARGV[1]), 1000)
local TOPICS_MAX, RETRY_MS = 100, 1000
local bucket, until_now = sub(t, 1, -2), format('%d', now)

-- The due jobs of a place, at most `limit`, and the score of the one after them; nil, and what
-- is wrong.
local function due_in(place, j, state, limit)
    local ids, values = {}, {}
    if limit > 0 then
        ids = call('ZRANGEBYSCORE', place, '-inf', until_now, 'LIMIT', 0, limit)
    end
    if #ids > 0 then
        values = call('HMGET', j, unpack(ids))
    end
    for i = 1, #ids do
        if not values[i] or byte(values[i]) % 8 ~= state then
            return nil, 'job ' .. ids[i] .. ' is in ' .. place .. ', but '
                .. (values[i] and 'in another state' or 'missing') .. ' in ' .. j
        end
    end
    local next = call('ZRANGE', place, #ids, #ids, 'WITHSCORES')[2]
    return {ids = ids, values = values, next = tonumber(next) or math.huge}
end

local function plan_for(topic)
    local j, r = bucket .. 'j:' .. topic, bucket .. 'r:' .. topic
    local d, v = bucket .. 'd:' .. topic, bucket .. 'v:' .. topic
    local expired
    local delayed, wrong = due_in(d, j, DELAYED, left)
    if delayed then
        expired, wrong = due_in(v, j, RESERVED, left - #delayed.ids)
    end
    if wrong then
        return nil, wrong
    end
    local count, next = #delayed.ids + #expired.ids, math.min(delayed.next, expired.next)
    local is_over = count == 0 and next == math.huge and call('HLEN', j) == 0
    if is_over then
        call('ZCARD', a)
    end
    return {topic = topic, j = j, d = d, r = r, v = v, delayed = delayed, expired = expired,
        next = next, count = count, wakes = count > 0 and call('LLEN', r) == 0,
        is_over = is_over}
end

local plans, stuck, first_wrong = {}, {}, ''
local answer, moved_count, expired_count = {OK, now, -1, 0, 0, -1, 0, ''}, 0, 0

for _, topic in ipairs(call('ZRANGEBYSCORE', t, '-inf', until_now, 'LIMIT', 0, TOPICS_MAX)) do
    if left == 0 then
        break
    end
    local plan, wrong = plan_for(topic)
    if plan then
        plans[#plans + 1] = plan
        left = left - plan.count
        for _, value in ipairs(plan.delayed.values) do
            answer[#answer + 1] = now - parse('>I6', value, 8)
        end
        expired_count = expired_count + #plan.expired.ids
        moved_count = moved_count + plan.count
    else
        first_wrong = #stuck == 0 and wrong or first_wrong
        stuck[#stuck + 1] = topic
    end
end

for _, plan in ipairs(plans) do
    if plan.wakes then
        wake(t, plan.topic)
    end
end
call('ZREM', t, '') -- even if Redis is full
local stamp = moved_count > 0 and call('INCRBY', n, moved_count) - moved_count

local function carry_out(plan)
    local entries, ready = {}, {}
    local function add(ids, values)
        for i = 1, #ids do
            stamp = stamp + 1
            local packed = pack('>I6', stamp)
            entries[#entries + 1] = packed .. ids[i]
            ready[#ready + 1] = ids[i]
            ready[#ready + 1] = moved(values[i], READY, packed)
        end
    end
    add(plan.delayed.ids, plan.delayed.values)
    add(plan.expired.ids, plan.expired.values)
    if #plan.delayed.ids > 0 then
        call('ZREMRANGEBYRANK', plan.d, 0, #plan.delayed.ids - 1)
    end
    if #plan.expired.ids > 0 then
        call('ZREMRANGEBYRANK', plan.v, 0, #plan.expired.ids - 1)
    end
    if #entries > 0 then
        call('RPUSH', plan.r, unpack(entries))
        call('HSET', plan.j, unpack(ready))
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

local next = tonumber(call('ZRANGE', t, 0, 0, 'WITHSCORES')[2])
answer[4], answer[5] = moved_count, expired_count
answer[6] = next and math.max(0, next - now) or -1
answer[7], answer[8] = #stuck, first_wrong
return answer
