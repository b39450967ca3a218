-- raise: is this bucket as it was left? No number of its counter is given out twice.
--
-- KEYS   n u l
-- ARGV   highest number seen; of the ledger (push.lua): the highest number that was noted ('0':
--        none), the first and the last byte of its entry in u, how long u is kept (ms); this life
--        of Redis (process:history), '1': the caller has been here in this life, what l begins with
--        where somebody has (a first replica changes the history, but it is the same life)
-- answer code, now, wait (always -1), by how much the counter had fallen back (0: it had not), 1:
--        that push is not noted any more, and then all of u
-- USES   now epoch ring
--
-- A Redis that rolled back (lost its last writes, or was restored) would give out ids and
-- stamps a second time, and the first node to come may not know the last ones. So the first
-- node in a life raises the counter above all that can have been given out: well above the
-- clock, which the counter follows (to the clock alone where there is nothing: ids keep their
-- time in a new Redis, and an emptied one had not been ahead of the clock for long). l has the
-- life, and behind a space the counter as it was then, with which later nodes compare what they
-- have seen in an earlier life. A counter that is gone while l is there was taken away by hand:
-- it begins at the clock, too.

local n, u, l, seen, number = KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1]), tonumber(ARGV[2])
local keep, life, is_known, goes_on = ARGV[5], ARGV[6], ARGV[7] == '1', ARGV[8]
local AHEAD = 2 ^ 20
for i = 1, #KEYS do
    local found = call('TYPE', KEYS[i]).ok
    if found ~= 'string' and found ~= 'none' then
        return redis.error_reply('DUEQ ' .. KEYS[i] .. ' is a ' .. found .. ', not a string')
    end
end
local current, is_lost, ring = tonumber(call('GET', n)) or 0, 0, ''
local began = call('GET', l) or ''
local found = sub(began, 1, #goes_on) == goes_on and tonumber(string.match(began, ' (.*)$'))

if number > 0 then
    local entry = call('GETRANGE', u, ARGV[3], ARGV[4])
    if #entry < ENTRY_BYTES or parse('>I6', entry) < number then
        is_lost, ring = 1, call('GET', u) or ''
    end
end
call('PERSIST', n) -- even if Redis is full
if not found or current == 0 then
    call('SET', l, life .. ' ' .. format('%d', current))
    local clock = math.max(0, (now - 1 - EPOCH_MS) * NUMBERS_PER_MS) -- 0: nobody has set the clock
    local is_used = current + seen > 0
    call('SET', n, format('%d', is_used and math.max(current, seen, clock) + AHEAD or clock))
elseif current < seen then
    call('SET', n, format('%d', seen + AHEAD))
end
if call('PEXPIRE', u, keep) == 0 then
    call('SET', u, '', 'PX', keep)
end
local was = found and not is_known and found or current
return {OK, now, -1, math.max(0, seen - was), is_lost, ring}
