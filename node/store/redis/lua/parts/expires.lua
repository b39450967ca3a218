-- When the job expires; 0: never.
local function expires(value)
    return byte(value) % 128 >= 64 and parse('>I6', value, 41) or 0
end
