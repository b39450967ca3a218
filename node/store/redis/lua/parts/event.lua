-- The topic has an event at `at`. Answers in how many ms, where that became its first one, else
-- -1. Most topics have an earlier one.
--
-- It is no harm when the script ends in an error behind it: t holds lower bounds.
local function event(t, topic, at)
    return call('ZADD', t, 'LT', 'CH', format('%d', at), topic) == 1 and math.max(at - now, 0) or -1
end
