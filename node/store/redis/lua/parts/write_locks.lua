-- As doc/cluster.md has it. The tokens come behind the stamps.   (of scan.lua)
local ends, token = now + lock_ms, stamp and stamp + stamps
for i = 1, #topics do
    local number = claims[topics[i]]
    if number and number < HELD then
        token = token + 1
        number = token
    end
    if number then
        call('SET', l .. topics[i], who .. pack('>I6I7', ends, number) .. node, 'PXAT', format('%d', ends))
    end
end
