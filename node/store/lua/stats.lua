-- stats: how many jobs of the topic are where.
--
-- KEYS   j d v x
-- answer code, now, wait (always -1), delayed, ready, reserved, dead
--
-- The length of r says nothing, because of the tombstones in it. An orphan (a place names a job
-- that is gone) must not make the difference negative.

local j, d, v, x = unpack(KEYS)
local live, delayed = call('HLEN', j), call('ZCARD', d)
local reserved, dead = call('ZCARD', v), call('ZCARD', x)

local ready = math.max(0, live - delayed - reserved - dead)

return {OK, now, -1, delayed, ready, reserved, dead}
