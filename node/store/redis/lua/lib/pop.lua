-- A pop, by itself (pop.lua) or behind the moves of a scan.

-- PART pop_jobs
-- Reserves the oldest ready jobs; the answer of pop.lua, and what is left of `room`. keys: as there.
-- `reserve` of scan.lua does the same with jobs that pass the line.
-- A scan gives a room, in bytes of big bodies, which not even the first job may exceed.   (needs now)
--
-- The deadline is provisional, until `delivered` says that the consumer has the job, and the
-- same for every TTR: a short one would be over before the reply has been read.
--
-- `more` is 1 where the line is not empty: no push to it will be announced, so the caller asks
-- anew. The script may bring fewer jobs than wanted: it drops tombstones and lets expired jobs die,
-- but only so many a call; and big bodies together have ROOM bytes at most, unless there is a
-- single one. (A reply of 64 large bodies would hold up Redis, the node's loop and all its
-- clients.)
--
-- Most buckets have no settings and most topics no priorities: one call finds that out, and then
-- r is all of the line. Jobs leave the line last: a script that breaks off before that leaves
-- them in two places, not in none.
local function pop_jobs(keys, topic, count, id_only, may_bring, room)
    local j, p, r, v, t, n, o, q, c, z = unpack(keys)
    local LOOK_MAX, LOOK_STEP = room and 100 or 1000, 100 -- a scan may bring 32
    local ROOM, UNCONFIRMED_MS = 1048576, 5000 -- OP_POP_BYTES_MAX, OP_UNCONFIRMED_MS
    local FOREVER = 281474976710655 -- SETTINGS_FOREVER

    local ids, values, bodies, seen, look = {}, {}, {}, 0, count
    local left, more = room or ROOM, 0
    local dead -- expired jobs: ids, and id to value
    local members, next_of_line -- entries seen in q, and the next of the line: only where there is a q

    if call('EXISTS', q, c) > 0 then
        local settings = call('HGET', c, topic)
        local ends = 0
        if settings then
            -- HERE rules_are_ours settings_are_ours
            ends = settings_are_ours(settings) and parse('>I6', settings) or 0
        end
        if ends > now then
            local wait = -1
            -- Waiting consumers are told at the pause's end by the scan, which needs an event then.
            -- Tombstones count, too: with one in the line the next push announces nothing. An event
            -- too many is harmless.
            if ends < FOREVER and call('EXISTS', r, q) > 0 then
                local score = format('%d', ends)
                call('ZREM', v, '') -- even if Redis is full
                if call('ZADD', t, 'LT', 'CH', score, topic) == 1 then
                    wait = ends - now
                end
            end
            return {OK, now, wait, 0}
        end
        if call('EXISTS', q) == 1 then
            -- The line has three stages: q before the common priority, that priority, and q behind it.
            -- The first looks one priority too far, to see whether there are jobs BY_ID in the second.
            local stage, passed, has_both, common = 1, 0, false, format('%d', COMMON_PRIORITY)
            -- Some entries, and whether they are of q: all of them, or for each; none at the end of
            -- the line.
            members = {}
            next_of_line = function(size)
                while stage <= 3 do
                    local entries, is_of_q = {}, true
                    if stage == 1 then
                        local found = call('ZRANGEBYSCORE', q, '-inf', common, 'WITHSCORES', 'LIMIT', #members, size)
                        for i = 1, #found, 2 do
                            has_both = found[i + 1] == common
                            if has_both then
                                break
                            end
                            entries[#entries + 1] = found[i]
                        end
                    elseif stage == 3 then
                        entries = call('ZRANGEBYSCORE', q, '(' .. common, '+inf', 'LIMIT', #members - passed, size)
                    elseif has_both then
                        -- HERE merged
                        entries, is_of_q = merged(r, q, seen - #members, #members - passed, size)
                    else
                        entries, is_of_q = call('LRANGE', r, seen - #members, seen - #members + size - 1), false
                    end
                    if #entries > 0 then
                        return entries, is_of_q
                    end
                    stage, passed = stage + 1, #members
                end
                return {}
            end
        end
    end

    while #ids < count and seen < LOOK_MAX do
        -- One entry is the common case, and LINDEX half the price.
        local entries, is_q
        if next_of_line then
            entries, is_q = next_of_line(look)
        elseif look == 1 then
            entries = {call('LINDEX', r, '0') or nil}
        else
            entries = call('LRANGE', r, seen, seen + look - 1)
        end
        if #entries == 0 then
            break
        end
        local names = {}
        for i = 1, #entries do
            names[i] = sub(entries[i], 7)
        end
        local found = call('HMGET', j, unpack(names))
        for i = 1, #entries do
            local id, value = names[i], found[i]
            if #ids == count then
                break
            end
            if value and byte(value) % 8 == READY and sub(value, 14, 19) == sub(entries[i], 1, 6) then
                local first = byte(value)
                local expires = first % 128 >= 64 and parse('>I6', value, 41) or 0
                if expires > 0 and expires <= now then
                    dead = dead or {}
                    dead[#dead + 1] = id
                    dead[id] = value
                else
                    if first % 16 >= 8 then
                        -- The body's size first: reading a body that is not taken would cost as
                        -- much as taking it.
                        local is_first = #ids == 0 and not room
                        local size = (may_bring or not is_first) and call('HSTRLEN', p, id) or 0
                        if not is_first and size > left then
                            count, more = #ids, 1
                            break
                        elseif may_bring and ROOM - left + size > may_bring then
                            return {OK, now, -1, count > 1 and math.max(ROOM, size) or size}
                        end
                        local body = call('HGET', p, id)
                        if not body then
                            return redis.error_reply('DUEQ no body of ' .. id .. ' in ' .. p)
                        end
                        bodies[#ids + 1] = body
                        left = left - #body
                    end
                    ids[#ids + 1] = id
                    values[#values + 1] = value
                end
            end
            seen = seen + 1
            if is_q and (is_q == true or is_q[i]) then
                members[#members + 1] = entries[i]
            end
        end
        look = LOOK_STEP
    end

    local of_q = members and #members or 0
    local of_r = seen - of_q
    if (#ids == count or seen >= LOOK_MAX)
        and (call('LLEN', r) > of_r or next_of_line and call('ZCARD', q) > of_q) then
        more = 1
    end
    if #ids == 0 and not dead then
        if of_r > 0 then
            call('LTRIM', r, of_r, -1)
        end
        if of_q > 0 then
            call('ZREM', q, unpack(members))
        end
        return {OK, now, -1, more}, left
    end

    local bury -- only where there is one to bury
    if dead then
        -- HERE moved
        local bucket = sub(j, 1, -#topic - 3)
        local x, e = bucket .. 'x:' .. topic, bucket .. 'e:' .. topic
        call('ZCARD', x)
        call('ZCARD', e)
        bury = function()
            local died, deaths, buried = format('%d', now), {}, {}
            for i = 1, #dead do
                local id = dead[i]
                deaths[2 * i - 1], deaths[2 * i] = died, id
                buried[2 * i - 1], buried[2 * i] = id, moved(dead[id], DEAD, pack('>I6', EXPIRED))
            end
            call('ZADD', x, unpack(deaths))
            call('HSET', j, unpack(buried))
            call('ZREM', e, unpack(dead))
        end
    end

    if room and id_only then
        call('HLEN', o) -- which no scan declares: read it before the first write
    end
    if z then
        call('HLEN', z)
    end
    call('ZREM', v, '') -- even if Redis is full
    local soon, wait = bury and 1000 or UNCONFIRMED_MS, -1 -- a death calls the scan, which prunes
    local score = format('%d', now + soon)
    if call('ZADD', t, 'LT', 'CH', score, topic) == 1 then
        wait = soon
    end
    local answer = {OK, now, wait, more}

    if #ids > 0 then
        local last = #ids == 1 and call('INCR', n) or call('INCRBY', n, #ids)
        local deadline = bury and format('%d', now + UNCONFIRMED_MS) or score
        local deadlines, reserved, indexed = {}, {}, {}

        for i = 1, #ids do
            local id, stamp = ids[i], pack('>I6', last - #ids + i)
            local value, first = values[i], byte(values[i]) - READY + RESERVED
            if id_only and first % 32 < 16 then
                first = first + 16
            end
            value = char(first) .. sub(value, 2, 13) .. stamp .. sub(value, 20)

            if id_only then -- the stamp is for nodes of the version before
                indexed[2 * i - 1], indexed[2 * i] = id, stamp .. topic
            end
            deadlines[2 * i - 1], deadlines[2 * i] = deadline, id
            reserved[2 * i - 1], reserved[2 * i] = id, value
            answer[#answer + 1] = id
            answer[#answer + 1] = value
            answer[#answer + 1] = bodies[i]
        end
        if id_only then
            call('HSET', o, unpack(indexed))
        end
        if z then
            -- HERE note
            local notes = {}
            for i = 1, #ids do
                notes[2 * i - 1], notes[2 * i] = note_of(last - #ids + i, topic, ids[i])
            end
            keep_notes(z, notes)
        end
        call('ZADD', v, unpack(deadlines))
        call('HSET', j, unpack(reserved))
    end
    if bury then
        bury()
    end
    if of_q > 0 then
        call('ZREM', q, unpack(members))
    end
    if of_r == 1 then
        call('LPOP', r)
    elseif of_r > 0 then
        call('LTRIM', r, of_r, -1)
    end
    return answer, left
end
