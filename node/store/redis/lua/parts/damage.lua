-- What an audit finds and a repair mends: enum damage (node/store/op.h).
local NONE, NO_PLACE, TWO_PLACES, NO_JOB, WRONG_TIME, NO_BODY, NO_VALUE = 0, 1, 2, 3, 4, 5, 6
local NO_EXPIRY, NOT_LISTED, NO_EVENT = 7, 8, 9
local PLACES = {[DELAYED] = 'd', [RESERVED] = 'v', [DEAD] = 'x'}

-- When the job should be in e for; 0: it should not.
local function watched_until(value)
    return byte(value) % 8 ~= DEAD and expires(value) or 0
end

-- The topic itself: what is wrong, and its next event, as far as it is in a place. One that is
-- planned for now or earlier is never too late, nor one that comes within SOON_MS: a scan that met a
-- contradiction looks again a second later.
local function topic_damage(key, j, t, a, topic)
    local first = math.huge
    for letter in string.gmatch('dve', '.') do
        local score = call('ZRANGE', key[letter], 0, 0, 'WITHSCORES')[2]
        first = math.min(first, tonumber(score) or math.huge)
    end
    local is_listed = call('ZSCORE', a, topic) or call('HLEN', j) == 0
    local SOON_MS = 2000
    local planned = tonumber(call('ZSCORE', t, topic) or math.huge)
    local is_late = planned > math.max(first, now + SOON_MS)
    return not is_listed and NOT_LISTED or is_late and NO_EVENT or NONE, first
end
