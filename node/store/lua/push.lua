-- push: a new job, into delayed or ready.
--
-- KEYS   j p d r t n a
-- ARGV   topic, id ('': make one), body, and packed as '>I5I6I4BB': delay ms, at ms (0: delay
--        counts), TTR ms, number of buckets, this bucket
-- answer code, now, wait, due[, id when it was made here]
-- USES   now wake event
--
-- A body above 1,024 bytes goes to p, so that a change of the header does not copy it. The
-- numbers are packed because reading five of them from text costs as much as storing the job.
--
-- A topic with a job, an entry in r or an event in t is in a: only where it may have had none
-- of them does it come in.

local j, p, d, r, t, n, a = unpack(KEYS)
local topic, id, body = ARGV[1], ARGV[2], ARGV[3]
local delay, at, ttr, buckets, bucket = parse('>I5I6I4BB', ARGV[4])
local BIG_BYTES, IDS_TRIED = 1024, 1000
local DELAY_MAX = 3650 * 86400000

if at ~= 0 then
    delay = math.max(0, at - now)
else
    at = now + delay
end
if delay > DELAY_MAX then
    return {OUT_OF_RANGE, now, -1}
end

-- An id of our own: the counter, far enough ahead to be new even to a Redis that lost some.
local made
if id == '' then
    made = math.max((tonumber(call('GET', n)) or 0), (now - 1767225600000) * 32 - 1)
    local last = made + IDS_TRIED
    repeat
        if made == last then
            return redis.error_reply('DUEQ no free id in ' .. j)
        end
        made = made + 1
        id = format('%d', made * buckets + bucket)
    until call('HEXISTS', j, id) == 0
elseif call('HEXISTS', j, id) == 1 then
    return {DUPLICATE, now, -1}
end

local is_big = #body > BIG_BYTES
if is_big then
    call('HLEN', p)
end

local state, stamp, wait = READY, 0, -1
if at > now then
    local is_first
    state = DELAYED
    wait, is_first = event(t, topic, at)
    if is_first then
        call('ZADD', a, '0', topic)
    end
    call('ZADD', d, format('%d', at), id)
    if made then
        call('SET', n, format('%d', made))
    end
else
    if call('LLEN', r) == 0 then
        wake(j, topic)
        if call('HLEN', j) == 0 then
            call('ZADD', a, '0', topic)
        end
    end
    if made then
        stamp = made + 1
        call('SET', n, format('%d', stamp))
    else
        stamp = call('INCR', n)
    end
    call('RPUSH', r, pack('>I6', stamp) .. id)
end

local header = pack('>BI2I4I6I6I5', state + (is_big and 8 or 0), 0, ttr, at, stamp, delay)
if is_big then
    call('HSET', p, id, body)
    call('HSET', j, id, header)
else
    call('HSET', j, id, header .. body)
end
return {OK, now, wait, at, made and id}
