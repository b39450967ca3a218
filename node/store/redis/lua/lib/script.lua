-- How a script runs and answers: who may run it, the clock, the counter, a key of a wrong
-- type, the history.

-- PART now
-- The clock this script runs by, floored to the millisecond. Durations are counted from
-- `start`, the next millisecond, so that nothing ends before its time.
local time = call('TIME')
local micros = tonumber(time[2])
local now = time[1] * 1000 + (micros - micros % 1000) / 1000
local start = now + 1
local LAST_MS = 281474976710655 -- no time is later; a score may be anything, where others write, too
local clears = micros % 16 == 0 -- does this call look for tombstones, where it leaves one?

-- PART epoch
-- The counter follows the clock: so many numbers for each millisecond since 2026 began.
local EPOCH_MS, NUMBERS_PER_MS = 1767225600000, 32

-- PART ring
local ENTRY_BYTES = 20 -- of the ledger's ring: PUSH_LEDGER_ENTRY

-- PART precedes
-- Is a before b, byte by byte, as Redis orders? (Lua's < goes by the locale.)
local function precedes(a, b)
    for i = 1, math.min(#a, #b) do
        local x, y = byte(a, i), byte(b, i)
        if x ~= y then
            return x < y
        end
    end
    return #a < #b
end

-- PART fenced
-- May the caller run this? The last key is f, the last argument the caller's token: '' of a
-- standalone node, else ensemble ':' epoch, in digits of fixed width (ha/rule/token.h). FENCED,
-- with the token of f, where that is higher or of another ensemble; '' is lower than any. A
-- higher token of the caller's is kept in f. `standalone` in f: an operator has given the
-- bucket to standalone nodes (fence.lua).
local seen, token = redis.pcall('GET', KEYS[#KEYS]) or '', ARGV[#ARGV]
if seen ~= token and not (token == '' and seen == 'standalone') then
    if type(seen) == 'table' then
        -- HERE wrong_type
        return redis.error_reply('DUEQ ' .. (wrong_type(sub(KEYS[#KEYS], 1, -2), 'f') or seen.err))
    end
    -- HERE precedes
    if token == '' or seen ~= '' and (sub(token, 1, 33) ~= sub(seen, 1, 33) or precedes(token, seen)) then
        local FENCED = 7
        return {FENCED, now, -1, seen}
    end
    call('PERSIST', KEYS[#KEYS]) -- even if Redis is full
    call('SET', KEYS[#KEYS], token)
end

-- PART wrong_type
-- Names the key of a wrong type after a read has failed: among the bucket's keys, and the
-- topic's where one is named; nil: none is wrong.
local function wrong_type(bucket, letters, topic)
    local TYPES = {t = 'zset', n = 'string', a = 'zset', c = 'hash', w = 'hash', h = 'stream', o = 'hash', f = 'string',
        j = 'hash', p = 'hash', d = 'zset', q = 'zset', v = 'zset', x = 'zset', e = 'zset', r = 'list'}
    for letter in string.gmatch(letters, '.') do
        local key = bucket .. letter .. (topic and ':' .. topic or '')
        local found = call('TYPE', key).ok
        if found ~= TYPES[letter] and found ~= 'none' then
            return key .. ' is a ' .. found .. ', not a ' .. TYPES[letter]
        end
    end
end

-- PART refuse
-- A push that is refused when it is retried is noted, too, with its code for an id: the first
-- try may still come, and might succeed then.   (of push.lua)
if u and note % THERE >= AGAIN then
    call('SETRANGE', u, ARGV[5], pack('>I6I7I6B', number, code, 0, REFUSED))
end

-- PART history
-- The bucket's history: one line, and lines written, with what there is cut to about `bytes_max`
-- every so often. The caller has read the length of h before its first write.
local function history_line(event, death, at, tries, topic, id, node, client)
    return pack('>BBI6I6I2', event, death, now, at, tries) .. char(#topic) .. topic
        .. char(#id) .. id .. char(#node) .. node .. char(#client) .. client
end

local function write_history(h, length, lines, bytes_max)
    local CUT_EVERY = 64
    for i = 1, #lines do
        call('XADD', h, '*', 'e', lines[i])
    end
    local grown = length + #lines
    if math.floor(length / CUT_EVERY) == math.floor(grown / CUT_EVERY) then
        return
    end
    local bytes = call('MEMORY', 'USAGE', h)
    if bytes > bytes_max then
        call('XTRIM', h, 'MAXLEN', '~', format('%d', math.floor(grown * bytes_max / bytes)))
    end
end
