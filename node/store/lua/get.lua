-- get: look at a job.
--
-- KEYS   j p
-- ARGV   id
-- answer code, now, wait (always -1), value, and where it is big its body
-- USES   now

local j, p = unpack(KEYS)
local id = ARGV[1]

local value = call('HGET', j, id)
if not value then
    return {NOT_FOUND, now, -1}
end
if byte(value) % 16 < 8 then
    return {OK, now, -1, value}
end
local body = call('HGET', p, id)
if not body then
    return redis.error_reply('DUEQ no body of ' .. id .. ' in ' .. p)
end
return {OK, now, -1, value, body}
