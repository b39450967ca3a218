-- pop: reserve the oldest ready jobs.
--
-- KEYS   j p r v t n o q c, then z where the reservations are to be noted, and by rule the topic's x and e, where a job has expired
-- ARGV   topic, count, 1: index them in o, and perhaps the bytes that the answer may bring
--        of big bodies
-- answer code, now, wait, more, then for each job: id, value, and where it is big its body. Where the
--        bodies are more than the answer may bring it pops nothing: `more` is what it takes, 2 or more
-- USES   now pop_jobs

return pop_jobs(KEYS, ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', tonumber(ARGV[4]))
