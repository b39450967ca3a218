-- keep: the consumers are still reading their reply; reserved for some seconds more.
--
-- KEYS   j v t
-- ARGV   topic, then for each lease: id, stamp (6 bytes)
-- answer code, now, wait, number of leases that were not valid any more
-- USES   now check_lease event
--
-- A confirmed reservation stays as it is: a keep may come after a confirmation or a touch.

local j, v, t = unpack(KEYS)
local topic = ARGV[1]

-- HERE leases

local stale, deadline, deadlines = 0, format('%d', now + 5000), {} -- OP_UNCONFIRMED_MS
for i = 1, #ids do
    if check_lease(values[i], ARGV[2 * i + 1]) ~= OK then
        stale = stale + 1
    elseif byte(values[i]) % 64 < 32 then
        deadlines[#deadlines + 1] = deadline
        deadlines[#deadlines + 1] = ids[i]
    end
end
if #deadlines == 0 then
    return {OK, now, -1, stale}
end

call('ZREM', v, '') -- even if Redis is full
local wait = event(t, topic, now + 5000)
call('ZADD', v, unpack(deadlines))
return {OK, now, wait, stale}
