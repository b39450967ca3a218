-- The rank of the first member of a sorted set that stands behind this one, which may be gone: by
-- halving those of its score.   (needs precedes)
local function rank_behind(place, score, member)
    local low = call('ZCOUNT', place, '-inf', '(' .. score)
    local high = call('ZCOUNT', place, '-inf', score)
    while low < high do
        local middle = math.floor((low + high) / 2)
        if precedes(member, call('ZRANGE', place, middle, middle)[1]) then
            high = middle
        else
            low = middle + 1
        end
    end
    return low
end
