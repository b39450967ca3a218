-- The value with another holder's name ('': nobody's) behind its header and rules.
local function held(value, holder)
    local first = byte(value)
    local from = first % 128 >= 64 and 47 or 25
    local body = first >= 128 and from + 1 + byte(value, from) or from
    if holder == '' then
        return char(first % 128) .. sub(value, 2, from - 1) .. sub(value, body)
    end
    return char(first % 128 + 128) .. sub(value, 2, from - 1) .. char(#holder) .. holder
        .. sub(value, body)
end
