-- beat: this process is there, and owns reservations; which others are silent.
--
-- KEYS   m
-- ARGV   0: says nothing of itself, 1: it is there, 2: it leaves; its name (16 hex digits); who was not
--        there for longer than so many ms is told (0: nobody); one to be forgotten ('': none), if
--        this is when it was there the last time
-- answer code, now, wait (always -1), then for each that is silent: its name, when it was there
-- USES   now
--
-- The caller may be among them. One that was there only in times to come counts as silent, too: the clock has gone back.

local m, says, name, age, forgotten = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local ROWS_MAX = 64 -- OP_BEATS_MAX
local rows, answer = age > 0 and call('HGETALL', m) or {}, {OK, now, -1}
local forgets = forgotten ~= '' and call('HGET', m, forgotten) == ARGV[5]

call('HDEL', m, '') -- even if Redis is full
if says == '1' then
    call('HSET', m, name, format('%d', now))
elseif says == '2' then
    call('HDEL', m, name)
end
if forgets then
    call('HDEL', m, forgotten)
end
for i = 1, #rows, 2 do
    local last = tonumber(rows[i + 1])
    if last and (last > now or now - last > age) and #answer < 3 + 2 * ROWS_MAX then
        answer[#answer + 1], answer[#answer + 2] = rows[i], math.max(0, math.min(last, LAST_MS))
    end
end
return answer
