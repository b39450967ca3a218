-- meta: whose data this is; written when there is nothing yet.
--
-- KEYS   <prefix>:meta
-- ARGV   schema, number of buckets, a key for leases' checks (32 bytes), for where there is none
-- answer code, now, wait (always -1), the schema and the number of buckets that hold here; 0 for
--        what is there and is no number: somebody else's. Then the key for leases' checks, and
--        whether the data are older than it: 0 or 1
-- USES   now

local meta, key = KEYS[1], ARGV[3]
local found = call('HMGET', meta, 'schema', 'buckets', 'lease_key', 'bare_leases')

if call('EXISTS', meta) == 0 then
    call('HSET', meta, 'schema', ARGV[1], 'buckets', ARGV[2], 'created_ms', format('%d', now), 'lease_key', key)
    found = {ARGV[1], ARGV[2], key}
elseif found[1] == ARGV[1] and found[2] == ARGV[2] and #(found[3] or '') ~= #key then
    call('HDEL', meta, '') -- a full Redis takes the next write, too
    call('HSET', meta, 'lease_key', key, 'bare_leases', '1')
    found[3], found[4] = key, '1'
end
return {OK, now, -1, tonumber(found[1]) or 0, tonumber(found[2]) or 0, found[3] or '', found[4] and 1 or 0}
