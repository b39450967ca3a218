-- scan: move what is due in this bucket: delayed jobs and expired reservations to ready.
--
-- KEYS   t n, and by rule the topics' own: the name of t with j, d, r, v for its letter
-- ARGV   limit: move at most so many jobs
-- answer code, now, wait (always -1), moved, expired, ms to the bucket's next event (0: more
--        is due now; -1: there is none), then the lateness of each delayed job
-- USES   moved wake
--
-- Topics come in the order of their next event. First the plan is made for all of them, by
-- reading alone; a job that is missing, or not in the state its place says, ends the script
-- there. Then the plan is carried out.

local t, n = unpack(KEYS)
local left = math.min(tonumber(ARGV[1]), 1000)
local TOPICS_MAX = 100
local bucket, until_now = sub(t, 1, -2), format('%d', now)

-- The due jobs of a place, as far as the limit allows, and the score of the one after them.
local function due_in(place, j, state)
    local ids, values = {}, {}
    if left > 0 then
        ids = call('ZRANGEBYSCORE', place, '-inf', until_now, 'LIMIT', 0, left)
        left = left - #ids
    end
    if #ids > 0 then
        values = call('HMGET', j, unpack(ids))
    end
    for i = 1, #ids do
        if not values[i] or byte(values[i]) % 8 ~= state then
            error('DUEQ job ' .. ids[i] .. ' is in ' .. place .. ' but not in ' .. j)
        end
    end
    local next = call('ZRANGE', place, #ids, #ids, 'WITHSCORES')[2]
    return ids, values, tonumber(next) or math.huge
end

local plans, answer, moved_count, expired_count = {}, {OK, now, -1, 0, 0, -1}, 0, 0

for _, topic in ipairs(call('ZRANGEBYSCORE', t, '-inf', until_now, 'LIMIT', 0, TOPICS_MAX)) do
    if left == 0 then
        break
    end
    local plan = {topic = topic, j = bucket .. 'j:' .. topic, d = bucket .. 'd:' .. topic,
        r = bucket .. 'r:' .. topic, v = bucket .. 'v:' .. topic}
    local next_due, next_deadline
    plan.ids, plan.values, next_due = due_in(plan.d, plan.j, DELAYED)
    plan.expired_ids, plan.expired_values, next_deadline = due_in(plan.v, plan.j, RESERVED)
    plan.next = math.min(next_due, next_deadline)
    plan.wakes = #plan.ids + #plan.expired_ids > 0 and call('LLEN', plan.r) == 0
    plans[#plans + 1] = plan
    for i = 1, #plan.ids do
        answer[#answer + 1] = now - parse('>I6', plan.values[i], 8)
    end
    expired_count = expired_count + #plan.expired_ids
    moved_count = moved_count + #plan.ids + #plan.expired_ids
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
    add(plan.ids, plan.values)
    add(plan.expired_ids, plan.expired_values)
    if #plan.ids > 0 then
        call('ZREMRANGEBYRANK', plan.d, 0, #plan.ids - 1)
    end
    if #plan.expired_ids > 0 then
        call('ZREMRANGEBYRANK', plan.v, 0, #plan.expired_ids - 1)
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
end

for _, plan in ipairs(plans) do
    carry_out(plan)
end

local next = tonumber(call('ZRANGE', t, 0, 0, 'WITHSCORES')[2])
answer[4], answer[5] = moved_count, expired_count
answer[6] = next and math.max(0, next - now) or -1
return answer
