-- The bucket's history: one line, and lines written, with what there is cut to about `bytes_max`
-- every so often. Whoever writes them has read the length of h before its first write.
local function history_line(event, death, at, tries, topic, id, node, client)
    return pack('>BBI6I6I2', event, death, now, at, tries) .. char(#topic) .. topic
        .. char(#id) .. id .. char(#node) .. node .. char(#client) .. client
end

local function write_history(h, length, lines, bytes_max)
    local CUT_EVERY = 64
    for i = 1, #lines do
        call('XADD', h, '*', 'e', lines[i])
    end
    local grown = length + #lines
    if math.floor(length / CUT_EVERY) == math.floor(grown / CUT_EVERY) then
        return
    end
    local bytes = call('MEMORY', 'USAGE', h)
    if bytes > bytes_max then
        call('XTRIM', h, 'MAXLEN', '~', format('%d', math.floor(grown * bytes_max / bytes)))
    end
end
