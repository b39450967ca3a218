-- The value in another state, with another stamp.
local function moved(value, state, stamp)
    local first = byte(value)
    return char(first - first % 8 + state) .. sub(value, 2, 13) .. stamp .. sub(value, 20)
end

