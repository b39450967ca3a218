-- How many tombstones stand at the head of r, as far as is looked.   (needs names_ready)
local function tombstones_at_head(j, r)
    local LOOK_MAX = 100
    local entries, ids = call('LRANGE', r, 0, LOOK_MAX - 1), {}
    for i = 1, #entries do
        ids[i] = sub(entries[i], 7)
    end
    local values = #ids > 0 and call('HMGET', j, unpack(ids)) or {}
    for i = 1, #entries do
        if names_ready(entries[i], values[i]) then
            return i - 1
        end
    end
    return #entries
end
