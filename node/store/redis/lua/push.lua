-- push: a new job, into delayed or ready.
--
-- KEYS   j p d r t n a, then u where the push is to be noted. Not named, because a key that is named
--        costs, but made here from the name of j: q and e for a job that has rules, for a job that is
--        replaced its place and the bucket's o, which one to be indexed needs, too, and where bytes are limited w
-- ARGV   topic, id ('': make one), body, and packed as '>I6I6I4BBBBI6': delay ms, at ms (0: delay
--        counts), TTR ms, number of buckets, this bucket, what to do where the id lives (0:
--        refuse, 1: replace, 2: leave it; and 4 where the ttl counts from when it is due, not from
--        now, 8 where it is to be indexed), how it is noted (1: say how long u is kept, too; 2: it is a retry; 4: u must be
--        there), its number in the ledger; and behind it, where one of them is limited, as '>I4I6' how
--        many jobs the topic may have and how many bytes of bodies (0: any number); then the first and
--        the last byte of its entry in u. For a job that has rules also those, packed as in a value,
--        with the ttl where `expires` stands; and its EXTRA, with any key where it is BY_ID.
-- answer code, now, wait, due, 1: one with this id lived[, id when it was made here]
-- USES   now epoch ring
--
-- A body above 1,024 bytes goes to p, so that a change of the header does not copy it. The
-- numbers are packed because reading five of them from text costs as much as storing the job.
--
-- A topic with a job, an entry in r or an event in t is in a: so it is added only where it may
-- have had none of these.
--
-- A replaced job leaves its place last: a script that breaks off before that leaves two of it,
-- not none.
--
-- An entry of the ledger, packed as '>I6I7I6B': number, id when it was made here (else 0), due,
-- 1: one was replaced + 2: the topic's first event (or 4: refused, with the code for an id).
-- Every push reads the entry, because a retry may overtake the first try, which is still in the
-- buffers of a lost connection: the second to come finds that the push has happened. A higher
-- number there says that the ring has been round since. The entry is written last of all, with
-- the job.

local j, p, d, r, t, n, a, u = unpack(KEYS)
local topic, id, body, rules = ARGV[1], ARGV[2], ARGV[3], ARGV[7]
local delay, at, ttr, buckets, bucket, mode, note, number = parse('>I6I6I4BBBBI6', ARGV[4])
local BIG_BYTES, IDS_TRIED, LIMITS_AT = 1024, 1000, 27
local DELAY_MAX, DELAY_KEPT_MAX = 4294967295000, 549755813887 -- JOB_DELAY_MAX_MS, JOB_DELAY_KEPT_MAX_MS
local REPLACE, IGNORE, TTL_FROM_DUE, INDEXED = 1, 2, 4, 8
local KEEP_MS = '3600000' -- PUSH_LEDGER_KEEP_MS
local RENEWS, AGAIN, THERE = 1, 2, 4
local REPLACED, EVENT, REFUSED = 1, 2, 4
local index = mode >= INDEXED and sub(j, 1, -#topic - 3) .. 'o'
mode = mode % INDEXED

if u then
    local entry = call('GETRANGE', u, ARGV[5], ARGV[6])
    local noted = #entry == ENTRY_BYTES and parse('>I6', entry) or 0
    if noted == number then
        local id_made, due, flags = parse('>I7I6B', entry, 7)
        local wait = flags >= EVENT and math.max(0, due - now) or -1
        if flags >= REFUSED then
            return {id_made, now, -1}
        end
        return {OK, now, wait, due, flags % EVENT, id == '' and format('%d', id_made) or nil}
    elseif noted > number or note >= THERE and call('EXISTS', u) == 0 then
        local UNKNOWN = 8
        return {UNKNOWN, now, -1}
    end
end

if at ~= 0 then
    delay = math.max(0, at - now)
else
    at = delay > 0 and start + delay or now
end
if delay > DELAY_MAX then
    local code = OUT_OF_RANGE
    -- HERE refuse
    return {code, now, -1}
end
local e, q, rank, expires_at -- e where it expires; q and rank where it is not served from r
local by_id -- does it keep its key?
if rules then
    local bucket, ttl = sub(j, 1, -#topic - 3), parse('>I6', rules, 17)
    rank = parse('>I4', rules)
    by_id = #rules > 22 and byte(rules, 25) >= 128
    q = (rank ~= COMMON_PRIORITY or by_id) and bucket .. 'q:' .. topic
    if ttl > 0 then
        expires_at = ttl + (mode >= TTL_FROM_DUE and delay > 0 and at or start)
        rules = sub(rules, 1, 16) .. pack('>I6', expires_at) .. sub(rules, 23)
        if expires_at <= at then
            local code = OUT_OF_RANGE
            -- HERE refuse
            return {code, now, -1}
        end
        e = bucket .. 'e:' .. topic
        call('ZCARD', e)
    end
end

-- An id of our own: the counter, far enough ahead to be new even to a Redis that lost some.
local made, old
if id == '' then
    made = math.max((tonumber(call('GET', n)) or 0), (now - EPOCH_MS) * NUMBERS_PER_MS - 1)
    local last = made + IDS_TRIED
    repeat
        if made == last then
            return redis.error_reply('DUEQ no free id in ' .. j)
        end
        made = made + 1
        id = format('%d', made * buckets + bucket)
    until call('HEXISTS', j, id) == 0
elseif call('HEXISTS', j, id) == 1 then
    mode = mode % TTL_FROM_DUE
    old = mode ~= 0 and call('HGET', j, id)
    if mode == IGNORE then
        if u and note % THERE >= AGAIN then
            local due = parse('>I6', old, 8)
            call('SETRANGE', u, ARGV[5], pack('>I6I7I6B', number, 0, due, REPLACED))
        end
        return {OK, now, -1, parse('>I6', old, 8), 1}
    elseif mode ~= REPLACE then
        local code = DUPLICATE
        -- HERE refuse
        return {code, now, -1}
    end
end

-- The quotas. `mark` is COUNTED where the body will count for max_bytes, and `bytes` what w will say then. Of
-- an empty topic nothing counts, whatever w says.
local mark, w, bytes = 0, nil, nil
if old or #ARGV[4] >= LIMITS_AT then
    local TOPIC_FULL, TOPIC_FULL_BYTES, COUNTED = 9, 10, 549755813888 -- JOB_COUNTED
    local value, counted, jobs_max, bytes_max = old, 0, 0, 0
    if old then
        -- HERE counted
    end
    if #ARGV[4] >= LIMITS_AT then
        jobs_max, bytes_max = parse('>I4I6', ARGV[4], LIMITS_AT)
    end
    local live, code = 1, OK
    if not old and jobs_max + bytes_max > 0 then
        live = call('HLEN', j)
    end
    local most = counted -- of what grows nothing
    if old and bytes_max > 0 and counted == 0 then
        -- HERE body_bytes
        most = body_bytes(old, p, id)
    end
    if counted + bytes_max > 0 then
        w = sub(j, 1, -#topic - 3) .. 'w'
        bytes = tonumber(call('HGET', w, topic) or nil) or 0
        bytes = (live > 0 and bytes or 0) - counted
    end
    if bytes_max > 0 then
        mark, bytes = COUNTED, bytes + #body
    end
    if jobs_max > 0 and live >= jobs_max and not old then
        code = TOPIC_FULL
    elseif bytes_max > 0 and #body > most and bytes > bytes_max then
        code = TOPIC_FULL_BYTES
    end
    if code ~= OK then
        -- HERE refuse
        return {code, now, -1}
    end
end

local is_big = #body > BIG_BYTES
if is_big then
    call('HLEN', p)
end
if index then
    call('HLEN', index)
end

-- The remains of the replaced job, for the end of the script.
local leftovers, clearing
if old then
    leftovers = {}
    -- HERE rank_of expires beside place_of is_indexed
    local o = sub(beside(j, topic, 'o'), 1, -#topic - 2)
    local place, member = place_of(j, topic, id, old)
    if place and not (place == d and at > now) then
        call('ZCARD', place)
        leftovers[1] = {'ZREM', place, member}
    elseif not place and clears then
        -- HERE names_ready tombstones
        clearing = plan_clearing(j, topic, r)
    end
    if not e and byte(old) % 8 ~= DEAD and expires(old) > 0 then
        local watched = beside(j, topic, 'e')
        call('ZCARD', watched)
        leftovers[#leftovers + 1] = {'ZREM', watched, id}
    end
    if not index and is_indexed(o, old, id, topic) then
        leftovers[#leftovers + 1] = {'HDEL', o, id}
    end
    if byte(old) % 16 >= 8 and not is_big then
        call('HLEN', p)
        leftovers[#leftovers + 1] = {'HDEL', p, id}
    end
end

local state, stamp, wait = READY, 0, -1
local number_by_id = made
if at > now then
    -- HERE event
    state = DELAYED
    wait = event(t, topic, at) -- before it expires
    if wait >= 0 then
        call('ZADD', a, '0', topic)
    end
    if made then
        call('SET', n, format('%d', made))
    elseif by_id then
        number_by_id = call('INCR', n)
    end
    if clearing then
        clearing.run(r, clearing)
    end
    call('ZADD', d, format('%d', at), id)
    if e then
        call('ZADD', e, format('%d', expires_at), id)
    end
else
    if (q and call('ZCARD', q) or call('LLEN', r)) == 0 then
        -- HERE wake
        wake(j, topic)
        if call('HLEN', j) == 0 then
            call('ZADD', a, '0', topic)
        end
    end
    if e then
        -- HERE event
        wait = event(t, topic, expires_at)
    end
    if made then
        stamp = made + 1
        call('SET', n, format('%d', stamp))
    else
        stamp = call('INCR', n)
        number_by_id = stamp
    end
    stamp = by_id and number_by_id or stamp
    if e then
        call('ZADD', e, format('%d', expires_at), id)
    end
    stamp = MIDDLE + stamp
    if clearing then
        clearing.run(r, clearing)
    end
    if q then
        call('ZADD', q, format('%d', rank), pack('>I6', stamp) .. id)
    else
        call('RPUSH', r, pack('>I6', stamp) .. id)
    end
end

local flags = (is_big and 8 or 0) + (index and 16 or 0) + (rules and 64 or 0)
local value = pack('>BI2I4I6I6I5', state + flags, 0, ttr, at, stamp, math.min(delay, DELAY_KEPT_MAX) + mark)
if rules and #rules > 22 then
    local key = by_id and MIDDLE + number_by_id or 0
    value = value .. sub(rules, 1, 24) .. pack('>I6I6', key, now) .. sub(rules, 37)
elseif rules then
    value = value .. rules
end
if index then
    call('HSET', index, id, '\0\0\0\0\0\0' .. topic)
end
if is_big then
    call('HSET', p, id, body)
    call('HSET', j, id, value)
else
    call('HSET', j, id, value .. body)
end
if leftovers then
    for i = 1, #leftovers do
        call(unpack(leftovers[i]))
    end
end
-- HERE set_counter
if u then
    call('SETRANGE', u, ARGV[5], pack('>I6I7I6B', number, made and made * buckets + bucket or 0, at,
        (old and REPLACED or 0) + (wait >= 0 and EVENT or 0)))
    if note % AGAIN == RENEWS then
        call('PEXPIRE', u, KEEP_MS)
    end
end
return {OK, now, wait, at, old and 1 or 0, made and id}
