-- The value in another state, with another stamp, and not confirmed.
local function moved(value, state, stamp)
    local first = byte(value)
    return char(first - first % 8 - (first % 64 >= 32 and 32 or 0) + state)
        .. sub(value, 2, 13) .. stamp .. sub(value, 20)
end
