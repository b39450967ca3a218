-- settings: of a topic, or of some of the bucket's.
--
-- KEYS   c, and by rule the bucket's a
-- ARGV   topic ('': some), the last answer's next ('': from the first)
-- answer code, now, wait (always -1), next ('': no more), then for each topic: its name, its
--        settings, packed (node/store/settings.h)
-- USES   now
--
-- The scan of a topic ends its pause, but a topic that is not in a is not scanned. So a page
-- drops rows that hold nothing but a pause that is over. The other rows are told even where
-- Redis refuses that write.

local c = KEYS[1]
local topic, after = ARGV[1], ARGV[2]

if topic ~= '' then
    local row = call('HGET', c, topic)
    return row and {OK, now, -1, '', topic, row} or {OK, now, -1, ''}
end
if not string.match(after, '^%d*$') or #after > 19 then
    return {OUT_OF_RANGE, now, -1}
end
local page = call('HSCAN', c, after == '' and '0' or after, 'COUNT', 100)
local answer, over = {OK, now, -1, page[1] ~= '0' and page[1] or ''}, {}
local a = sub(c, 1, -2) .. 'a'
for i = 1, #page[2], 2 do
    local name, row = page[2][i], page[2][i + 1]
    if #row >= SETTINGS_LEAST and not string.find(row, '[^%z]', 7) and parse('>I6', row) <= now and not call('ZSCORE', a, name) then
        over[#over + 1] = name
    else
        answer[#answer + 1] = name
        answer[#answer + 1] = row
    end
end
if #over > 0 then
    redis.pcall('HDEL', c, unpack(over))
end
return answer
