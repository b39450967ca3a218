-- One job becomes ready: first what must stand before the first write, then its entry.   (needs
-- priority wake)
--
-- Whoever turns r, or q, from empty to not empty tells it: who waits has seen both of them empty.
local function before_ready(r, q, topic, value)
    local count = priority(value) == COMMON_PRIORITY and call('LLEN', r) or call('ZCARD', q)
    if count == 0 then
        wake(r, topic)
    end
end

local function make_ready(r, q, id, value, key)
    local rank = priority(value)
    if rank == COMMON_PRIORITY then
        call('RPUSH', r, key .. id)
    else
        call('ZADD', q, format('%d', rank), key .. id)
    end
end
