-- return: the consumers never got these jobs; first in line again, no try lost.
--
-- KEYS   j r v n q
-- ARGV   topic, then for each lease: id, stamp (6 bytes)
-- answer code, now, wait (always -1), number of leases that were not valid any more
-- USES   now moved check_lease wake priority
--
-- Of each priority, the first lease of the call ends up first. A confirmed job stays where it
-- is: a consumer that left before the end of its reply, but touched a job, has that job.

local j, r, v, n, q = unpack(KEYS)
local topic = ARGV[1]

local names = {}
for i = 2, #ARGV, 2 do
    names[#names + 1] = ARGV[i]
end
local found = call('HMGET', j, unpack(names))

local stale, ids, values, ranks = 0, {}, {}, {}
local is_common, is_ranked = false, false
for i = 1, #names do
    if check_lease(found[i], ARGV[2 * i + 1]) ~= OK then
        stale = stale + 1
    elseif byte(found[i]) % 64 < 32 then
        local rank = priority(found[i])
        ids[#ids + 1] = names[i]
        values[#values + 1] = found[i]
        ranks[#ranks + 1] = rank
        is_common = is_common or rank == COMMON_PRIORITY
        is_ranked = is_ranked or rank ~= COMMON_PRIORITY
    end
end
if #ids == 0 then
    return {OK, now, -1, stale}
end

local finds_r_empty = is_common and call('LLEN', r) == 0
local finds_q_empty = is_ranked and call('ZCARD', q) == 0
if finds_r_empty or finds_q_empty then
    wake(j, topic)
end
call('ZREM', v, '') -- even if Redis is full
local last = call('INCRBY', n, #ids)
local ready, entries, ranked = {}, {}, {}

for i = #ids, 1, -1 do
    local key = pack('>I6', MIDDLE - (last - i + 1))
    ready[#ready + 1] = ids[i]
    ready[#ready + 1] = moved(values[i], READY, key)
    if ranks[i] == COMMON_PRIORITY then
        entries[#entries + 1] = key .. ids[i]
    else
        ranked[#ranked + 1] = format('%d', ranks[i])
        ranked[#ranked + 1] = key .. ids[i]
    end
end
if is_common then
    call('LPUSH', r, unpack(entries))
end
if is_ranked then
    call('ZADD', q, unpack(ranked))
end
call('HSET', j, unpack(ready))
call('ZREM', v, unpack(ids))
return {OK, now, -1, stale}
