-- raise: the counter is not below what a node has already seen.
--
-- KEYS   n
-- ARGV   highest number seen
-- answer code, now, wait (always -1), by how much the counter had fallen back (0: it had not)
-- USES   now
--
-- A Redis that came back older (lost its last writes, or was restored) would give out ids and
-- stamps a second time. The number is set well above what was seen, because other nodes may
-- have seen more.

local n, seen = KEYS[1], tonumber(ARGV[1])
local AHEAD = 2 ^ 20
local current = tonumber(call('GET', n)) or 0

if current >= seen then
    return {OK, now, -1, 0}
end
call('PERSIST', n) -- even if Redis is full
call('SET', n, format('%d', seen + AHEAD))
return {OK, now, -1, seen - current}
