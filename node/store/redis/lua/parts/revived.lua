-- The value of a dead job that is to live again: no try counted, no ttl any more.
local function revived(value)
    value = sub(value, 1, 1) .. '\0\0' .. sub(value, 4)
    if byte(value) % 128 >= 64 then
        value = sub(value, 1, 40) .. '\0\0\0\0\0\0' .. sub(value, 47)
    end
    return value
end
