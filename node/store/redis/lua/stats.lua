-- stats: how many jobs of the topic are where.
--
-- KEYS   j d r v x q
-- ARGV   none
-- answer code, now, wait (always -1), delayed, ready, reserved, dead, ms since the first ready
--        job was due, ms until the first delayed job is due (-1: none), ready ones of a priority
--        before the common one
-- USES   now names_ready count

return {OK, now, -1, unpack(count(unpack(KEYS)))}
