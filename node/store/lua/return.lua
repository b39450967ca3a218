-- return: the consumers never got these jobs; first in line again, no try lost.
--
-- KEYS   j r v n
-- ARGV   topic, then for each lease: id, stamp (6 bytes)
-- answer code, now, wait (always -1), number of leases that were not valid any more
-- USES   now moved check_lease wake
--
-- The first lease of the call ends up first. What is confirmed stays where it is: a consumer that
-- left before the end of its reply, and touched a job of it, has that job.

local j, r, v, n = unpack(KEYS)
local topic = ARGV[1]

local names = {}
for i = 2, #ARGV, 2 do
    names[#names + 1] = ARGV[i]
end
local found = call('HMGET', j, unpack(names))

local stale, ids, values = 0, {}, {}
for i = 1, #names do
    if check_lease(found[i], ARGV[2 * i + 1]) ~= OK then
        stale = stale + 1
    elseif byte(found[i]) < 32 then
        ids[#ids + 1] = names[i]
        values[#values + 1] = found[i]
    end
end
if #ids == 0 then
    return {OK, now, -1, stale}
end

if call('LLEN', r) == 0 then
    wake(j, topic)
end
call('ZREM', v, '') -- even if Redis is full
local last = call('INCRBY', n, #ids)
local entries, ready = {}, {}

for i = 1, #ids do
    local stamp = pack('>I6', last - #ids + i)
    entries[#ids + 1 - i] = stamp .. ids[i]
    ready[2 * i - 1], ready[2 * i] = ids[i], moved(values[i], READY, stamp)
end
call('ZREM', v, unpack(ids))
call('LPUSH', r, unpack(entries))
call('HSET', j, unpack(ready))
return {OK, now, -1, stale}
