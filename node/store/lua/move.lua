-- move: not written yet.
--
-- KEYS   j r d v x t n o q

return redis.error_reply('ERR move is not written yet')
