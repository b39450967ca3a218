-- The time of the job's place: reserved, its deadline; dead, when it died; else, or where the
-- place does not know it, when it is due.
local function place_ms(v, x, id, value)
    local place = ({[RESERVED] = v, [DEAD] = x})[byte(value) % 8]
    return place and tonumber(call('ZSCORE', place, id) or nil) or (parse('>I6', value, 8))
end
