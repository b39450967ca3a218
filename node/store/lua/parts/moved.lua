-- The value in another state, with another stamp, and not confirmed.
local function moved(value, state, stamp)
    local first = byte(value)
    return char(first % 32 - first % 8 + state) .. sub(value, 2, 13) .. stamp .. sub(value, 20)
end

