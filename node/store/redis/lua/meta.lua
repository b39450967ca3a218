-- meta: whose data this is; written when there is nothing yet.
--
-- KEYS   <prefix>:meta
-- ARGV   schema, number of buckets
-- answer code, now, wait (always -1), the schema and the number of buckets that hold here; 0 for
--        what is there and is no number: somebody else's
-- USES   now

local meta = KEYS[1]
local found = call('HMGET', meta, 'schema', 'buckets')

if call('EXISTS', meta) == 0 then
    call('HSET', meta, 'schema', ARGV[1], 'buckets', ARGV[2], 'created_ms', format('%d', now))
    found = ARGV
end
return {OK, now, -1, tonumber(found[1]) or 0, tonumber(found[2]) or 0}
