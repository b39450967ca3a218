-- purge: not written yet.
--
-- KEYS   j p d r q v x o t a

return redis.error_reply('ERR purge is not written yet')
