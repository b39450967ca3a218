-- configure: not written yet.
--
-- KEYS   c t a r q

return redis.error_reply('ERR configure is not written yet')
