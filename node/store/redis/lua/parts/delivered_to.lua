-- The value of a reservation that its consumer has now: confirmed, the try counted, and the
-- consumer's name (nil or '': nobody knows it) in the place of who had it before.
local function delivered_to(value, holder)
    local first, tries = byte(value), math.min(parse('>I2', value, 2) + 1, 65535)
    if first < 128 and not holder then
        return pack('>BI2', first + 32, tries) .. sub(value, 4)
    end
    local from = first % 128 >= 64 and 47 or 25
    local body = first >= 128 and from + 1 + byte(value, from) or from
    if holder and holder ~= '' then
        return pack('>BI2', first % 128 + 160, tries) .. sub(value, 4, from - 1)
            .. char(#holder) .. holder .. sub(value, body)
    end
    return pack('>BI2', first % 128 + 32, tries) .. sub(value, 4, from - 1) .. sub(value, body)
end
