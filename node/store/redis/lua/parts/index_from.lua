-- The index of the first entry of a ready list whose key is `key` or a later one, and that entry
-- (nil: all are earlier): by halving, for r is in the order of its keys.
local function index_from(r, key)
    local low, high, found = 0, call('LLEN', r), nil
    while low < high do
        local middle = math.floor((low + high) / 2)
        local entry = call('LINDEX', r, middle)
        if #entry >= 6 and parse('>I6', entry) < key then
            low = middle + 1
        else
            high, found = middle, entry
        end
    end
    return low, found
end
