-- record: not written yet.
--
-- KEYS   h

return redis.error_reply('ERR record is not written yet')
