-- As doc/cluster.md has it. The tokens come behind the stamps. A lock that is taken late is of view 0:
-- the node whose topic it is takes it over with its next scan.   (of scan.lua)
local ends, token, late = now + lock_ms, stamp and stamp + stamps, nil
for i = 1, #topics do
    local claim, holder = claims[topics[i]], who
    local number = claim
    if claim == TAKE_LATE then
        late = late or string.rep('0', 16) .. sub(who, 17)
        holder = late
    end
    if claim and claim < HELD then
        token = token + 1
        number = token
    end
    if claim then
        call('SET', l .. topics[i], holder .. pack('>I6I7', ends, number) .. node,
            'PXAT', format('%d', ends))
    end
end
