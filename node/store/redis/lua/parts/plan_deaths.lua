-- The part of a scan's plan that is about the end of jobs: those that expire, those whose tries are
-- used up, and the dead ones beyond their topic's limits.   (needs plan moved due_at expires used_up
-- rest priority misplaced owns)
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

-- It leaves the place its state says; an entry of r stays, as a tombstone.
local function plan_leaving(more, id, value, state)
    more.gone[id] = true
    if state == DELAYED then
        more.undelayed[#more.undelayed + 1] = id
    elseif state == RESERVED then
        more.unreserved[#more.unreserved + 1] = id
    elseif priority(value) ~= COMMON_PRIORITY then
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

-- A reservation of a job with rules that ran out. Who never had it has used no try. Answers whether
-- it dies, or rests; else it becomes ready.
local function plan_end_or_rest(plan, id, value)
    if byte(value) % 64 < 32 then
        return false
    elseif used_up(value) then
        plan_death(plan, id, value, TRIES)
        plan.more.tries_died = plan.more.tries_died + 1
        return true
    end
    local rest_ms = rest(value)
    if rest_ms == 0 then
        return false
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

-- Those that do not leave their place anyway, but no more than may move; and when the next one is
-- due, which is among the others or `behind`.
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
    local more = more_of(plan)
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
        if owns(o, value, id, plan.topic) then
            more.owned[#more.owned + 1] = id
        end
    end
    more.pruned, plan.left = ids, plan.left - count
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
