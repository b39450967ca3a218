-- The topic has an event at `at`. Answers in how many ms, where that became the bucket's first
-- event, else -1; and whether it became the topic's first one. Most topics have an earlier one,
-- and then one call is all it takes.
--
-- It is no harm when the script ends in an error behind it: t holds lower bounds.
local function event(t, topic, at)
    local score = format('%d', at)
    if call('ZADD', t, 'LT', 'CH', score, topic) == 0 then
        return -1, false
    end
    return call('ZCOUNT', t, '-inf', score) == 1 and math.max(at - now, 0) or -1, true
end

