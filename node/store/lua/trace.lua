-- trace: not written yet.
--
-- KEYS   h

return redis.error_reply('ERR trace is not written yet')
