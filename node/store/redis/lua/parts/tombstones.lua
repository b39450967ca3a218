-- How many tombstones stand at the head of r, as far as is looked: first at one entry, for most
-- lists have none.   (needs names_ready)
local function tombstones_among(j, r, count)
    local entries, ids = call('LRANGE', r, 0, count - 1), {}
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

local function tombstones_at_head(j, r)
    local LOOK_MAX = 100
    return tombstones_among(j, r, 1) > 0 and tombstones_among(j, r, LOOK_MAX) or 0
end
