-- audit: not written yet.
--
-- KEYS   j

return redis.error_reply('ERR audit is not written yet')
