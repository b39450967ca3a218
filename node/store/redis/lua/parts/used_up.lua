-- Has the job been handed over as often as it may be? (Its tries are counted already.)
local function used_up(value)
    if byte(value) % 128 < 64 then
        return false
    end
    local most = parse('>I2', value, 29)
    return most > 0 and parse('>I2', value, 2) >= most
end
