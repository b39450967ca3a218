-- The time of the job's place: reserved, its deadline; dead, when it died; else, or where the
-- place does not know it, when it is due.
local function place_ms(v, x, id, value)
    local place = ({[RESERVED] = v, [DEAD] = x})[byte(value) % 8]
    local score = place and tonumber(call('ZSCORE', place, id) or nil)
    return score and math.max(0, math.min(score, LAST_MS)) or (parse('>I6', value, 8))
end
