-- kick: dead jobs become ready again, the oldest first.
--
-- KEYS   j r x n q
-- ARGV   topic, died at or after (0: any time), died before (0: any time), limit
-- answer code, now, wait (always -1), how many, 1: there are more
-- USES   now moved due_at raised revived wake misplaced become_ready

local j, r, x, n, q = unpack(KEYS)
local topic, since, before, limit = ARGV[1], ARGV[2], ARGV[3], math.min(tonumber(ARGV[4]), 1000)

local from, to = since ~= '0' and since or '-inf', before ~= '0' and '(' .. before or '+inf'
local ids = call('ZRANGEBYSCORE', x, from, to, 'LIMIT', 0, limit + 1)
local more = table.remove(ids, limit + 1) and 1 or 0
if #ids == 0 then
    return {OK, now, -1, 0, 0}
end

local values, batch = call('HMGET', j, unpack(ids)), ready_batch({}, {})
for i = 1, #ids do
    local wrong = misplaced(x, j, ids[i], values[i], DEAD)
    if wrong then
        return redis.error_reply('DUEQ ' .. wrong)
    end
    add_ready(batch, ids[i], due_at(raised(revived(values[i]), KICKS), now))
end
if batch_wakes(batch, r, q) then
    wake(j, topic)
end

call('ZREM', x, '') -- even if Redis is full
local ready = {}
put_ready(batch, r, q, call('INCRBY', n, #ids) - #ids, ready)
call('HSET', j, unpack(ready))
call('ZREM', x, unpack(ids))
return {OK, now, -1, #ids, more}
