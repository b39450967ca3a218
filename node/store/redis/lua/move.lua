-- move: the job is due at another time, or now, wherever it was.
--
-- KEYS   j r d v x t n q
-- ARGV   topic, id, and packed as '>I6I6B': delay ms, at ms (0: delay counts), the states from
--        which this is done, as the sum of their 2^state
-- answer code, now, wait, due, 1: it was ready already, and stays as it is
-- USES   now wake event moved due_at rank_of key_for raised beside place_of make_ready revived
--
-- A dead job begins anew: no try counted, and no ttl. A ready job that stays ready is left as
-- it is. The others leave their place last: a script that breaks off before that leaves them in
-- two places, not in none.

local j, r, d, v, x, t, n, q = unpack(KEYS)
local topic, id = ARGV[1], ARGV[2]
local delay, at, mask = parse('>I6I6B', ARGV[3])
local DELAY_MAX = 4294967295000 -- JOB_DELAY_MAX_MS

local value = call('HGET', j, id)
if not value then
    return {NOT_FOUND, now, -1}
end
local state, due = byte(value) % 8, at > 0 and at or delay > 0 and start + delay or now
if math.floor(mask / 2 ^ state) % 2 == 0 then
    return {WRONG_STATE, now, -1}
elseif (at > 0 and at - now or delay) > DELAY_MAX then
    return {OUT_OF_RANGE, now, -1}
elseif state == READY and due <= now then
    return {OK, now, -1, (parse('>I6', value, 8)), 1}
end

local place, member = place_of(j, topic, id, value)
local wait = -1
local clearing
if place then
    call('ZCARD', place)
elseif clears then
    -- HERE names_ready tombstones
    clearing = plan_clearing(j, topic, r)
end
if state == DEAD then
    value = revived(value)
end
if due <= now and (state == DEAD or state == DELAYED) then
    value = raised(value, KICKS)
end
value = due_at(value, due)
if due <= now then
    before_ready(r, q, topic, value)
else
    call('ZCARD', d)
end

call('ZREM', v, '') -- even if Redis is full
if clearing then
    clearing.run(r, clearing)
end
if due <= now then
    local key = make_ready(r, q, id, value, pack('>I6', MIDDLE + call('INCR', n)))
    call('HSET', j, id, moved(value, READY, key))
else
    wait = event(t, topic, due)
    call('ZADD', d, format('%d', due), id)
    call('HSET', j, id, moved(value, DELAYED, '\0\0\0\0\0\0'))
end
if place and not (state == DELAYED and due > now) then
    call('ZREM', place, member)
end
return {OK, now, wait, due, 0}
