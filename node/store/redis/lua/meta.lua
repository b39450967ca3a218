-- meta: whose data this is; written when there is nothing yet.
--
-- KEYS   <prefix>:meta
-- ARGV   schema, number of buckets, a key for leases' checks (32 bytes), for where there is none;
--        1: leases without a check are out, as far as the node knows; or 0
-- answer code, now, wait (always -1), the schema and the number of buckets that hold here; 0 for
--        what is there and is no number: somebody else's. Then the key for leases' checks, and
--        whether leases without a check may be out: 0 or 1
-- USES   now

local meta, key, bare = KEYS[1], ARGV[3], ARGV[4]
local found = call('HMGET', meta, 'schema', 'buckets', 'lease_key', 'bare_leases')

if call('EXISTS', meta) == 0 then
    call('HSET', meta, 'schema', ARGV[1], 'buckets', ARGV[2], 'created_ms', format('%d', now),
        'lease_key', key, 'bare_leases', bare)
    found = {ARGV[1], ARGV[2], key, bare}
elseif found[1] == ARGV[1] and found[2] == ARGV[2] then
    local held = found[3] and #found[3] == #key and found[3]
    if bare ~= '1' then
        bare = found[4] or (held and '0' or '1') -- with neither, an older version has begun the store
    end
    if not held or bare ~= found[4] then
        call('HDEL', meta, '') -- a full Redis takes the next write, too
        call('HSET', meta, 'lease_key', held or key, 'bare_leases', bare)
    end
    found[3], found[4] = held or key, bare
end
return {OK, now, -1, tonumber(found[1]) or 0, tonumber(found[2]) or 0, found[3] or '', found[4] == '1' and 1 or 0}
