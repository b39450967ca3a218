-- raise: is this bucket as it was left? Its counter is not below what a node has already seen.
--
-- KEYS   n u
-- ARGV   highest number seen; of the ledger (push.lua): the highest number that was noted ('0': none),
--        the first and the last byte of its entry in u
-- answer code, now, wait (always -1), by how much the counter had fallen back (0: it had not), 1: that
--        push is not noted any more, and then all of u
-- USES   now
--
-- A Redis that came back older (lost its last writes, or was restored) would give out ids and
-- stamps a second time. The counter is set well above what was seen, because other nodes may
-- have seen more.

local n, u, seen, number = KEYS[1], KEYS[2], tonumber(ARGV[1]), tonumber(ARGV[2])
local AHEAD, ENTRY_BYTES = 2 ^ 20, 20
local current = tonumber(call('GET', n)) or 0
local is_lost, ring = 0, ''

if number > 0 then
    local entry = call('GETRANGE', u, ARGV[3], ARGV[4])
    if #entry < ENTRY_BYTES or parse('>I6', entry) < number then
        is_lost, ring = 1, call('GET', u) or ''
    end
end
if current < seen then
    call('PERSIST', n) -- even if Redis is full
    call('SET', n, format('%d', seen + AHEAD))
end
return {OK, now, -1, math.max(0, seen - current), is_lost, ring}
