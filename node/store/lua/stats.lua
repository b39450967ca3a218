-- stats: how many jobs of the topic are where.
--
-- KEYS   j d v x
-- answer code, now, wait (always -1), delayed, ready, reserved, dead
--
-- The length of r says nothing, because of the tombstones in it.

local j, d, v, x = unpack(KEYS)
local live, delayed = call('HLEN', j), call('ZCARD', d)
local reserved, dead = call('ZCARD', v), call('ZCARD', x)

return {OK, now, -1, delayed, live - delayed - reserved - dead, reserved, dead}
