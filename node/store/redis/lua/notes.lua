-- notes: some of what a process has reserved for owners, and that may be over.
--
-- KEYS   z
-- ARGV   limit
-- answer code, now, wait (always -1), then for each note: stamp, when it was made, topic, id
-- USES   now
--
-- In no order, each once. What was not written by dueq is left out.

local rows, answer = call('HRANDFIELD', KEYS[1], ARGV[1], 'WITHVALUES'), {OK, now, -1}
for i = 1, #rows, 2 do
    local stamp, value = rows[i], rows[i + 1]
    local length = #value >= 9 and byte(value, 7) or #value
    if #stamp == 6 and parse('>I6', stamp) < MIDDLE and #value > 7 + length then
        local at = #answer
        answer[at + 1], answer[at + 2] = parse('>I6', stamp), (parse('>I6', value))
        answer[at + 3], answer[at + 4] = sub(value, 8, 7 + length), sub(value, 8 + length)
    end
end
return answer
