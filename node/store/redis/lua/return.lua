-- return: the consumers never got these jobs; first in line again, no try lost.
--
-- KEYS   j r v n q, then z where the reservations were noted
-- ARGV   topic, then for each lease: id, stamp (6 bytes)
-- answer code, now, wait (always -1), number of leases that were not valid any more
-- USES   now moved check_lease wake rank_of key_for
--
-- Of each priority, the first lease of the call ends up first; jobs BY_ID go where they always are. A
-- confirmed job stays where it is: a consumer that left before the end of its reply, but touched a job,
-- has that job.

local j, r, v, n, q, z = unpack(KEYS)
local topic = ARGV[1]

-- HERE leases

local stale, gone, jobs, ranks = 0, {}, {}, {}
local is_common, is_ranked, over = false, false, {}
for i = 1, #ids do
    local is_stale = check_lease(values[i], ARGV[2 * i + 1]) ~= OK
    local is_over = is_stale or byte(values[i]) % 64 < 32
    if z and is_over then
        over[#over + 1] = ARGV[2 * i + 1]
    end
    if is_stale then
        stale = stale + 1
    elseif is_over then
        local rank = rank_of(values[i]) or false
        gone[#gone + 1] = ids[i]
        jobs[#jobs + 1] = values[i]
        ranks[#ranks + 1] = rank
        is_common = is_common or not rank
        is_ranked = is_ranked or rank ~= false
    end
end
if #over > 0 then
    call('HLEN', z)
end
if #gone == 0 then
    if #over > 0 then
        call('HDEL', z, unpack(over))
    end
    return {OK, now, -1, stale}
end

local finds_r_empty = is_common and call('LLEN', r) == 0
local finds_q_empty = is_ranked and call('ZCARD', q) == 0
if finds_r_empty or finds_q_empty then
    wake(j, topic)
end
call('ZREM', v, '') -- even if Redis is full
local last = call('INCRBY', n, #gone)
local ready, entries, ranked = {}, {}, {}

for i = #gone, 1, -1 do
    local key = key_for(jobs[i], pack('>I6', MIDDLE - (last - i + 1)))
    ready[#ready + 1] = gone[i]
    ready[#ready + 1] = moved(jobs[i], READY, key)
    if ranks[i] then
        ranked[#ranked + 1] = format('%d', ranks[i])
        ranked[#ranked + 1] = key .. gone[i]
    else
        entries[#entries + 1] = key .. gone[i]
    end
end
if is_common then
    call('LPUSH', r, unpack(entries))
end
if is_ranked then
    call('ZADD', q, unpack(ranked))
end
call('HSET', j, unpack(ready))
call('ZREM', v, unpack(gone))
if #over > 0 then
    call('HDEL', z, unpack(over))
end
return {OK, now, -1, stale}
