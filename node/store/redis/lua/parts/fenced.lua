-- Who may run this? The last key is f, the last argument the caller's token: '' of a standalone
-- node, else ensemble ':' epoch, in digits of fixed width (ha/rule/token.h). FENCED, with what f has,
-- where that is higher or of another ensemble; '' is lower than any. What is higher is kept.
-- `standalone` in f: an operator has given the bucket to standalone nodes (fence.lua).
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
