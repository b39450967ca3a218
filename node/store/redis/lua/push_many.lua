-- push_many: the pushes of one topic that met in one turn of the node's loop.
--
-- KEYS   j p d r t n a u, as push has them
-- ARGV   topic, and packed as '>BBBI6': number of buckets, this bucket, 1: say how long u is kept + 2: they
--        are indexed, the number of the first push in the ledger, and perhaps behind it, as in push, what the
--        topic may have; the first and the last byte of their entries in u; then
--        for each push id ('': make one), body, and packed as '>I6I6I4' delay ms, at ms (0: delay counts),
--        TTR ms, and behind it, where it has any, its rules as in a value, and its EXTRA as in push
-- answer OK, now, wait, then for each push: code, due, and its id when it was made here, else ''
-- USES   now epoch ring
--
-- For each push it does what push does for one, in their order, but it writes each key once. A push that
-- replaces, expires, or is retried comes alone.
--
-- Their entries in the ledger stand side by side. An entry that has its number already, or a higher one,
-- is of a retry that came alone and has overtaken this call: the push has been answered.

local j, p, d, r, t, n, a, u = unpack(KEYS)
local topic = ARGV[1]
local buckets, bucket, renews, number = parse('>BBBI6', ARGV[2])
local FIRST, BIG_BYTES, IDS_TRIED = 5, 1024, 1000
local DELAY_MAX, DELAY_KEPT_MAX = 4294967295000, 549755813887 -- JOB_DELAY_MAX_MS, JOB_DELAY_KEPT_MAX_MS
local KEEP_MS = '3600000' -- PUSH_LEDGER_KEEP_MS
local LIMITS_AT, UNKNOWN, TOPIC_FULL, TOPIC_FULL_BYTES, EVENT = 10, 8, 9, 10, 2
local COUNTED, RENEWS = 549755813888, 1 -- JOB_COUNTED
local index = renews > RENEWS and sub(j, 1, -#topic - 3) .. 'o'
renews = renews % 2

local ids, makes = {}, false
for i = FIRST, #ARGV, 3 do
    ids[#ids + 1] = ARGV[i]
    makes = makes or ARGV[i] == ''
end
local count = #ids
local noted = call('GETRANGE', u, ARGV[3], ARGV[4])
noted = noted .. string.rep('\0', count * ENTRY_BYTES - #noted)
local living = call('HMGET', j, unpack(ids))

-- So many more jobs and bytes may come; `mark` and `bytes` are as in push.
local room, bytes_room, mark, w, bytes = math.huge, math.huge, 0, nil, nil
if #ARGV[2] >= LIMITS_AT then
    local jobs_max, bytes_max = parse('>I4I6', ARGV[2], LIMITS_AT)
    local live = call('HLEN', j)
    if jobs_max > 0 then
        room = jobs_max - live
    end
    if bytes_max > 0 then
        w = sub(j, 1, -#topic - 3) .. 'w'
        bytes = tonumber(call('HGET', w, topic) or nil) or 0
        bytes = live > 0 and bytes or 0
        mark, bytes_room = COUNTED, bytes_max - bytes
    end
end

-- Each push's code and due time; where an id is made here, the numbers run on from `last`. `drawn` are those
-- of other pushes; `ranks` the priority of what goes to q, `keys` the number in the key of what is BY_ID.
local last = makes and tonumber(call('GET', n)) or 0
local codes, dues, delays, stamps, made, seen, ranks, keys = {}, {}, {}, {}, {}, {}, {}, {}
local soonest, listed, ranked, drawn, done, big = math.huge, 0, 0, 0, 0, false
for i = 1, count do
    local packed, id, length = ARGV[FIRST + 3 * i - 1], ids[i], #ARGV[FIRST + 3 * i - 2]
    local delay, at = parse('>I6I6', packed)
    if at ~= 0 then
        delay = math.max(0, at - now)
    else
        at = delay > 0 and start + delay or now
    end
    local code = OK
    if parse('>I6', noted, (i - 1) * ENTRY_BYTES + 1) >= number + i - 1 then
        code = UNKNOWN
    elseif delay > DELAY_MAX then
        code = OUT_OF_RANGE
    elseif id ~= '' and (living[i] or seen[id]) then
        code = DUPLICATE
    elseif done >= room then
        code = TOPIC_FULL
    elseif length > bytes_room and length > 0 then
        code = TOPIC_FULL_BYTES
    elseif id == '' then
        last = math.max(last, (now - EPOCH_MS) * NUMBERS_PER_MS - 1)
        local most = last + IDS_TRIED
        repeat
            if last == most then
                return redis.error_reply('DUEQ no free id in ' .. j)
            end
            last = last + 1
            id = format('%d', last * buckets + bucket)
        until not seen[id] and call('HEXISTS', j, id) == 0
        ids[i], made[i], keys[i] = id, last * buckets + bucket, last
    end
    if code == OK then
        seen[id], done = true, done + 1
        big = big or length > BIG_BYTES
        bytes_room, bytes = bytes_room - length, bytes and bytes + length
        local is_by_id = false
        if #packed > 16 then
            local rank = parse('>I4', packed, 17)
            is_by_id = #packed > 38 and byte(packed, 41) >= 128
            ranks[i] = (rank ~= COMMON_PRIORITY or is_by_id) and rank
        end
        if at > now then
            soonest = math.min(soonest, at)
        elseif ranks[i] then
            ranked = ranked + 1
        else
            listed = listed + 1
        end
        if at <= now or is_by_id and not made[i] then
            last, drawn = last + (makes and 1 or 0), drawn + 1
            stamps[i] = makes and last or drawn
        end
        keys[i] = is_by_id and (keys[i] or stamps[i])
    end
    codes[i], dues[i], delays[i] = code, at, delay
end

if big then
    call('HLEN', p)
end
if index then
    call('HLEN', index)
end
local is_first, wait = false, -1
local q = ranked > 0 and sub(j, 1, -#topic - 3) .. 'q:' .. topic
local finds_r_empty, finds_q_empty = listed > 0 and call('LLEN', r) == 0, q and call('ZCARD', q) == 0
if finds_r_empty or finds_q_empty then
    -- HERE wake
    wake(j, topic)
    if finds_r_empty and finds_q_empty then
        wake(j, topic) -- once for each, as single pushes do
    end
    is_first = call('HLEN', j) == 0
end
if soonest < math.huge then
    -- HERE event
    wait = event(t, topic, soonest)
end
if is_first or wait >= 0 then
    call('ZADD', a, '0', topic)
end
if makes and done > 0 then
    call('SET', n, format('%d', last))
elseif drawn > 0 then
    last = call('INCRBY', n, drawn) - drawn
end
local base = makes and 0 or last

local places, entries, members, values, bodies, notes, answer = {}, {}, {}, {}, {}, {}, {OK, now, wait}
local named, entry = {}, '\0\0\0\0\0\0' .. topic
for i = 1, count do
    local id, code, at, stamp = ids[i], codes[i], dues[i], 0
    local note = sub(noted, (i - 1) * ENTRY_BYTES + 1, i * ENTRY_BYTES)
    if code == OK then
        local body, packed = ARGV[FIRST + 3 * i - 2], ARGV[FIRST + 3 * i - 1]
        local is_big, rules, state = #body > BIG_BYTES, sub(packed, 17), DELAYED
        local key = keys[i] and MIDDLE + keys[i] + (made[i] and 0 or base)
        if at <= now and ranks[i] then
            state, stamp = READY, key or MIDDLE + stamps[i] + base
            members[#members + 1] = format('%d', ranks[i])
            members[#members + 1] = pack('>I6', stamp) .. id
        elseif at <= now then
            state, stamp = READY, MIDDLE + stamps[i] + base
            entries[#entries + 1] = pack('>I6', stamp) .. id
        else
            places[#places + 1] = format('%d', at)
            places[#places + 1] = id
        end
        if #rules > 22 then
            rules = sub(rules, 1, 24) .. pack('>I6I6', key or 0, now) .. sub(rules, 37)
        end
        values[#values + 1] = id
        values[#values + 1] = pack('>BI2', state + (is_big and 8 or 0) + (index and 16 or 0) + (rules ~= '' and 64 or 0), 0)
            .. sub(packed, 13, 16) .. pack('>I6I6I5', at, stamp, math.min(delays[i], DELAY_KEPT_MAX) + mark) .. rules
            .. (is_big and '' or body)
        if index then
            named[#named + 1], named[#named + 2] = id, entry
        end
        if is_big then
            bodies[#bodies + 1] = id
            bodies[#bodies + 1] = body
        end
        note = pack('>I6I7I6B', number + i - 1, made[i] or 0, at, state == DELAYED and wait >= 0 and EVENT or 0)
    end
    notes[i] = note
    answer[3 * i + 1], answer[3 * i + 2], answer[3 * i + 3] = code, at, made[i] and id or ''
end
if #places > 0 then
    call('ZADD', d, unpack(places))
end
if #entries > 0 then
    call('RPUSH', r, unpack(entries))
end
if #members > 0 then
    call('ZADD', q, unpack(members))
end
if #bodies > 0 then
    call('HSET', p, unpack(bodies))
end
if #named > 0 then
    call('HSET', index, unpack(named))
end
if #values > 0 then
    call('HSET', j, unpack(values))
    -- HERE set_counter
end
if done > 0 then
    call('SETRANGE', u, ARGV[3], table.concat(notes))
    if renews == 1 then
        call('PEXPIRE', u, KEEP_MS)
    end
end
return answer
