-- fence: asserts the caller's token on the bucket.
--
-- KEYS   f
-- ARGV   1: it is right even where f has one of another ensemble; the token
-- answer code, now, wait (always -1)
-- USES   now
--
-- Taking over from another ensemble is an operator's decision: only an operator knows which of
-- two ensembles is right. After a takeover by a standalone node f says `standalone`, and a
-- leader that still lives is refused.

local f = KEYS[1]
if ARGV[1] == '1' then
    local kept, mine = call('GET', f) or '', ARGV[2] == '' and 'standalone' or ARGV[2]
    if sub(kept, 1, 33) ~= sub(mine, 1, 33) then
        call('PERSIST', f) -- even if Redis is full
        call('SET', f, mine)
        return {OK, now, -1}
    end
end
-- HERE fenced
return {OK, now, -1}
