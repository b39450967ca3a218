-- topics: some of the bucket's topics in the order of their names, counted.
--
-- KEYS   a, and by rule the topics' own: the name of a with j, d, r, v, x, q for its letter
-- ARGV   the topic before the first ('': none), limit[, 1: with their locks]
-- answer code, now, wait (always -1), number of the bucket's topics, the last topic looked at
--        ('': no more are behind it), then for each topic: its name and what stats answers[, its
--        lock ('': none), of the key that has l for the letter]
-- USES   now names_ready count
--
-- A topic that has just lost its last job is still in a, but not told. A topic with a key of a
-- wrong type is told with zeros: stats says what is wrong.

local a = KEYS[1]
local after, limit = ARGV[1], tonumber(ARGV[2])
local bucket = sub(a, 1, -2)
local has_locks = ARGV[3] ~= nil

-- Reads one name more than it tells, to see whether there are more.
local from = after == '' and '-' or '(' .. after
local names = call('ZRANGEBYLEX', a, from, '+', 'LIMIT', 0, limit + 1)
local has_more = table.remove(names, limit + 1)
local answer = {OK, now, -1, call('ZCARD', a), has_more and names[limit] or ''}

entries_left = math.max(entries_left, 40 * limit)
local locks, keys = {}, {}
for i = 1, has_locks and #names or 0 do
    keys[i] = bucket .. 'l:' .. names[i]
end
if #keys > 0 then
    locks = call('MGET', unpack(keys))
end

for index, name in ipairs(names) do
    local key = {}
    for i, letter in ipairs({'j:', 'd:', 'r:', 'v:', 'x:', 'q:'}) do
        key[i] = bucket .. letter .. name
    end
    local is_read, numbers = pcall(count, unpack(key))
    if not is_read then
        local text = type(numbers) == 'table' and numbers.err or tostring(numbers) -- Redis 7, and 6
        if not string.find(text, 'WRONGTYPE', 1, true) then
            error(numbers, 0)
        end
        numbers = {0, 0, 0, 0, -1, -1, 0}
    end
    if not is_read or numbers[1] + numbers[2] + numbers[3] + numbers[4] > 0 then
        answer[#answer + 1] = name
        for _, number in ipairs(numbers) do
            answer[#answer + 1] = number
        end
        if has_locks then
            answer[#answer + 1] = locks[index] or ''
        end
    end
end
return answer
