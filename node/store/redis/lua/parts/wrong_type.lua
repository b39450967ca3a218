-- What is wrong, where a read has ended in an error because a key is of another type than its letter says:
-- of the bucket, and of the topic where one is named; nil: nothing.
local function wrong_type(bucket, letters, topic)
    local TYPES = {t = 'zset', n = 'string', a = 'zset', c = 'hash', h = 'stream', o = 'hash', f = 'string',
        j = 'hash', p = 'hash', d = 'zset', q = 'zset', v = 'zset', x = 'zset', e = 'zset', r = 'list'}
    for letter in string.gmatch(letters, '.') do
        local key = bucket .. letter .. (topic and ':' .. topic or '')
        local found = call('TYPE', key).ok
        if found ~= TYPES[letter] and found ~= 'none' then
            return key .. ' is a ' .. found .. ', not a ' .. TYPES[letter]
        end
    end
end
