-- bury: not written yet.
--
-- KEYS   j v t o x

return redis.error_reply('ERR bury is not written yet')
