-- The value of a reservation that its consumer is known to have, and the try counted: once, for
-- a confirmation may come again, and behind a touch. Only for one that is not confirmed.
local function confirmed(value)
    local tries = math.min(parse('>I2', value, 2) + 1, 65535)
    return pack('>BI2', byte(value) + 32, tries) .. sub(value, 4)
end
