-- repair: not written yet.
--
-- KEYS   j

return redis.error_reply('ERR repair is not written yet')
