-- The part of a scan that carries out what only some topics have planned (plan.more), and the end
-- of a pause. In two halves: first where jobs go, and behind what they become, what they leave.
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
end

local function end_pause(topic, row)
    if parse('>I2', row, 7) == 0 then
        call('HDEL', c, topic)
    else
        call('HSET', c, topic, row)
    end
end
