-- settings: of a topic, or of some of the bucket's.
--
-- KEYS   c
-- ARGV   topic ('': some), the last answer's next ('': from the first)
-- answer code, now, wait (always -1), next ('': no more), then for each topic: its name, its
--        settings, packed (node/store/settings.h)
-- USES   now

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
return {OK, now, -1, page[1] ~= '0' and page[1] or '', unpack(page[2])}
