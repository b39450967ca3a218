-- get: look at a job.
--
-- KEYS   j p v x
-- ARGV   id, and perhaps the bytes that the answer may bring of a big body
-- answer code, now, wait (always -1), the time of its place (reserved: its deadline; dead: when
--        it died; else: when it is due), value, and where it is big its body; or where that is more than
--        the answer may bring, its bytes alone
-- USES   now place_ms

local j, p, v, x = unpack(KEYS)
local id = ARGV[1]

local value = call('HGET', j, id)
if not value then
    return {NOT_FOUND, now, -1}
end
local at = place_ms(v, x, id, value)
if byte(value) % 16 < 8 then
    return {OK, now, -1, at, value}
end
local size = ARGV[2] and call('HSTRLEN', p, id)
if size and size > tonumber(ARGV[2]) then
    return {OK, now, -1, size}
end
local body = call('HGET', p, id)
if not body then
    return redis.error_reply('DUEQ no body of ' .. id .. ' in ' .. p)
end
return {OK, now, -1, at, value, body}
