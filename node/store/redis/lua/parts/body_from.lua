-- Where the body begins in a value: behind header, rules and holder.
local function body_from(value)
    local first = byte(value)
    local from = first % 128 >= 64 and 47 or 25
    if first >= 128 then
        from = from + 1 + (byte(value, from) or 0)
    end
    return from
end
