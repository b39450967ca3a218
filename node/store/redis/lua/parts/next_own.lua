-- When the next of the node's own topics has its event: next_own is lowered. Most often it is among
-- the first of all.   (of scan.lua)
local AHEAD_MAX = 256
local first, found = call('ZRANGE', t, '0', '3', 'WITHSCORES'), false
for i = 1, #first, 2 do
    local at = tonumber(first[i + 1])
    if at > now and mark_of(first[i]) ~= OTHERS then
        next_own, found = math.min(next_own, at - now), true
        break
    end
end
if #first == 8 and not found then
    local page = call('ZRANGEBYSCORE', t, '(' .. until_now, '+inf', 'WITHSCORES', 'LIMIT', '0', AHEAD_MAX)
    for i = 1, #page, 2 do
        if mark_of(page[i]) ~= OTHERS then
            next_own, found = math.min(next_own, page[i + 1] - now), true
            break
        end
    end
    if #page == 2 * AHEAD_MAX and not found then
        next_own = math.min(next_own, math.max(page[#page] - now, AGAIN_MS))
    end
end
