-- All is planned; where more is due, the node comes back at once. Which locks are written in the end:
-- not those of topics that come to their own, nor of those that were not reached. How many are taken,
-- and so need a token.   (of scan.lua)
local reached = #plans + #stuck
next_own = reached < #topics and 0 or next_own
for i = 1, #plans do
    local plan = plans[i]
    next_own = plan.next <= now and 0 or next_own
    if claims and plan.is_over then
        claims[plan.topic] = nil
    end
end
for i = 1, claims and #topics or 0 do
    local claim = claims[topics[i]]
    if i > reached then
        claims[topics[i]] = nil
    elseif claim and claim < HELD then
        local which = claim == TAKE_OVER and 13 or 12
        tokens, answer[which] = tokens + 1, answer[which] + 1
        answer[14] = answer[14] + (claim == TAKE_LATE and 1 or 0)
    end
end
