-- kick: not written yet.
--
-- KEYS   j r x n q t

return redis.error_reply('ERR kick is not written yet')
