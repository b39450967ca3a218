-- The head of every script: the words the scripts are written in.
--
-- A script is this text, the parts of lib/ that it names in its line USES, and its own. Its answer is an
-- array that begins with {code, now, wait}: a code of the table below, the clock the script ran
-- by (0: it read none), and for the bucket's scanner the milliseconds to the event that it made
-- its topic's first one (-1: none). The rest is the script's own.
--
-- Invariants of all scripts:
--   - Everything is read and checked before the first write, so an error leaves all jobs as
--     they were. A key that is not read is written first of all; only the counter may come
--     before it, because a gap in the counter means nothing.
--   - A Redis that has no memory left refuses a script's first write if it could need some,
--     and then all scripts that free memory would wait for those that cannot. So a script that
--     leads a job towards its end begins with a harmless write: it removes '' from a sorted
--     set. After that write Redis refuses nothing. (PUBLISH may stand before it, and is no
--     write.)
--   - Large numbers become text by format('%d'), a C long; never by '..', which turns them
--     into exponents, nor by redis.call, which prints them as floating point, slowly.
--
-- The costs in a script of 20 us: each redis.call 0.5 to 5, the clock 2, a number printed 1, a
-- local function that uses other locals 0.3. That is why scores are counted rather than read,
-- and why a script is given only the functions that it names.
--
-- A job's value (node/store/job.h), 1-based: state and flags 1, tries 2-3, TTR 4-7, due 8-13,
-- stamp 14-19, delay 20-24, and what its flags say. Of the first byte, % 8 is the state;
--   % 16 >= 8     BIG        the body is in p
--   % 32 >= 16    INDEXED    o has an entry of the job's id, perhaps of another topic
--   % 64 >= 32    CONFIRMED  it is reserved, and its consumer has it
--   % 128 >= 64   RULES      behind the header: priority 25-28, max_tries 29-30, backoff 31-40
--                            (kind, jitter, base 4, cap 4), expires 41-46 (node/store/job.h);
--                            where kind >= 128, EXTRA behind that: its length 47-48, key 49-54
--                            (0: not BY_ID), created 55-60, counters of 2 bytes 61-70, attributes
--   >= 128        HOLDER     behind that: a length in one byte, and the name
-- Of the delay's first byte, >= 128 is COUNTED: the body counts for its topic's max_bytes, in w.
-- The body comes last. The stamp of a ready job is its key: MIDDLE + a number of the counter's
-- for a job that comes last, MIDDLE - number for one that comes first; where a job is BY_ID, always
-- the key of its EXTRA.

local OK, DUPLICATE, NOT_FOUND, NOT_RESERVED, NOT_OWNER, OUT_OF_RANGE, WRONG_STATE = 0, 1, 2, 3, 4, 5, 6
local DELAYED, READY, RESERVED, DEAD = 1, 2, 3, 4
local TRIES, EXPIRED, BURIED, DAMAGED = 1, 2, 3, 4 -- why a job is dead; its stamp then
local MIDDLE, COMMON_PRIORITY = 140737488355328, 1024 -- 2^47; the priority of r and of jobs without rules

local call, sub, byte, char, format = redis.call, string.sub, string.byte, string.char, string.format
local pack, parse = struct.pack, struct.unpack

