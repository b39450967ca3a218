-- settings: not written yet.
--
-- KEYS   c

return redis.error_reply('ERR settings is not written yet')
