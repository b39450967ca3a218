-- identities: all of them, where they have changed.
--
-- KEYS   i
-- ARGV   the id of the last change that the caller has read ('': tell all)
-- answer code, now, wait (always -1), 1: it is still the last one; else 0, the highest version, the
--        horizon, the last change's id ('': none), then for each identity: its name, version (0: not
--        written by dueq), line ('': a tombstone)
-- USES   now identities

local i, known = KEYS[1], ARGV[1]

if known ~= '' then
    local last = call('HGET', i, ' ')
    if last and string.match(last, '^%d+ (%x+) %d+$') == known then
        return {OK, now, -1, 1}
    end
end
local rows, highest, id, horizon = read_identities(i)
local answer = {OK, now, -1, 0, highest, horizon, id}
for _, row in ipairs(rows) do
    for n = 1, 3 do
        answer[#answer + 1] = row[n]
    end
end
return answer
