-- kick: dead jobs become ready again, the oldest first; or delayed ones, the first due first.
--
-- KEYS   j r x n q d, and by rule the topic's e and the bucket's t
-- ARGV   topic, died at or after (0: any time), died before (0: any time), limit, state, and of the dead: ttl
--        ms from now on (0: none), max_tries from now on (0: as they are)
-- answer code, now, wait, how many, 1: there are more
-- USES   now moved due_at raised revived wake misplaced become_ready

local j, r, x, n, q, d = unpack(KEYS)
local topic, since, before, limit = ARGV[1], ARGV[2], ARGV[3], math.min(tonumber(ARGV[4]), 1000)
local state, ttl, tries = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local place = state == DEAD and x or d

local from, to = '-inf', '+inf'
if state == DEAD then
    from, to = since ~= '0' and since or from, before ~= '0' and '(' .. before or to
else
    ttl, tries = 0, 0
end
local ids = call('ZRANGEBYSCORE', place, from, to, 'LIMIT', 0, limit + 1)
local more = table.remove(ids, limit + 1) and 1 or 0
if #ids == 0 then
    return {OK, now, -1, 0, 0}
end

local renew -- only where the jobs get other rules
local expires_at = ttl > 0 and start + ttl or 0
if ttl + tries > 0 then
    -- HERE ruled
    renew = function(value)
        value = ruled(value)
        return sub(value, 1, 28) .. (tries > 0 and pack('>I2', tries) or sub(value, 29, 30))
            .. sub(value, 31, 40) .. pack('>I6', expires_at) .. sub(value, 47)
    end
end

local values, batch = call('HMGET', j, unpack(ids)), ready_batch({}, {})
for i = 1, #ids do
    local value = values[i]
    local wrong = misplaced(place, j, ids[i], value, state)
    if wrong then
        return redis.error_reply('DUEQ ' .. wrong)
    end
    if state == DEAD then
        value = revived(value)
        value = renew and renew(value) or value
    end
    add_ready(batch, ids[i], due_at(raised(value, KICKS), now))
end
local e, t
if ttl > 0 then
    local bucket = sub(j, 1, -#topic - 3)
    e, t = bucket .. 'e:' .. topic, bucket .. 't'
    call('ZCARD', e)
end
if batch_wakes(batch, r, q) then
    wake(j, topic)
end

call('ZREM', place, '') -- even if Redis is full
local ready, wait, number = {}, -1, call('INCRBY', n, #ids) - #ids
if e then
    -- HERE event
    wait = event(t, topic, expires_at)
    local mortal, score = {}, format('%d', expires_at)
    for i = 1, #ids do
        mortal[2 * i - 1], mortal[2 * i] = score, ids[i]
    end
    call('ZADD', e, unpack(mortal))
end
put_ready(batch, r, q, number, ready)
call('HSET', j, unpack(ready))
call('ZREM', place, unpack(ids))
return {OK, now, wait, #ids, more}
