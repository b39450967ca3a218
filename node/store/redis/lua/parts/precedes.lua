-- Is a before b, byte by byte, as Redis orders? (Lua's < goes by the locale.)
local function precedes(a, b)
    for i = 1, math.min(#a, #b) do
        local x, y = byte(a, i), byte(b, i)
        if x ~= y then
            return x < y
        end
    end
    return #a < #b
end
