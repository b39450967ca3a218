-- record: lines for the bucket's history.
--
-- KEYS   h
-- ARGV   bytes the history may take, about; then the lines
-- answer code, now, wait (always -1)
-- USES   now history
--
-- A Redis without memory left refuses the lines: a history leads no job to its end.

local lines = {unpack(ARGV, 2)}
write_history(KEYS[1], call('XLEN', KEYS[1]), lines, tonumber(ARGV[1]))
return {OK, now, -1}
