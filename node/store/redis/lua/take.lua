-- take: reserve the job with this id, wherever it was: ready, delayed or dead.
--
-- KEYS   j p r d v x t n o q, then z where the reservation is to be noted, and by rule others of the topic: the name of j with another letter
-- ARGV   topic, id, 1: index it in o, and perhaps the bytes that the answer may bring of a big body
-- answer code, now, wait, 0, id, value, and where it is big its body; or where that is more than the
--        answer may bring, its bytes alone
-- USES   now event rank_of expires beside place_of moved due_at revived
--
-- As a pop does it: the reservation is not confirmed. One that was not ready is due now: should its
-- consumer never get it, it is ready. A dead job begins anew, as by a move. An expired job is
-- not handed out; the scan buries it.
--
-- The job leaves its place last: a script that breaks off before that leaves it in two places, not
-- in none.

local j, p, r, d, v, x, t, n, o, q, z = unpack(KEYS)
local topic, id, indexes, may_bring = ARGV[1], ARGV[2], ARGV[3] == '1', tonumber(ARGV[4])
local UNCONFIRMED_MS, INDEXED = 5000, 16 -- OP_UNCONFIRMED_MS

local value = call('HGET', j, id)
local state = value and byte(value) % 8
if not value or state ~= DEAD and expires(value) > 0 and expires(value) <= now then
    return {NOT_FOUND, now, -1}
elseif state == RESERVED then
    return {WRONG_STATE, now, -1}
end
local body
if byte(value) % 16 >= 8 then
    local size = may_bring and call('HSTRLEN', p, id)
    if size and size > may_bring then
        return {OK, now, -1, size}
    end
    body = call('HGET', p, id)
    if not body then
        return redis.error_reply('DUEQ no body of ' .. id .. ' in ' .. p)
    end
end
local place, member = place_of(j, topic, id, value)
local clearing
if place then
    call('ZCARD', place)
elseif clears then
    -- HERE names_ready tombstones
    clearing = plan_clearing(j, topic, r)
end
if indexes then
    call('HLEN', o)
end
if z then
    call('HLEN', z)
end

call('ZREM', v, '') -- even if Redis is full
local wait = event(t, topic, now + UNCONFIRMED_MS)
if clearing then
    clearing.run(r, clearing)
end
if state == DEAD then
    value = revived(value)
end
if state ~= READY then
    value = due_at(value, now)
end
local flag = indexes and byte(value) % 32 < INDEXED and INDEXED or 0
local number = call('INCR', n)
local stamp = pack('>I6', number)
value = moved(value, RESERVED + flag, stamp)
if indexes then
    call('HSET', o, id, stamp .. topic)
end
if z then
    -- HERE note
    keep_notes(z, {note_of(number, topic, id)})
end
call('ZADD', v, format('%d', now + UNCONFIRMED_MS), id)
call('HSET', j, id, value)
if place then
    call('ZREM', place, member)
end
return {OK, now, wait, 0, id, value, body}
