-- list: not written yet.
--
-- KEYS   j p d r q v x

return redis.error_reply('ERR list is not written yet')
