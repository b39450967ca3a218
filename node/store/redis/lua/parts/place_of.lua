-- The sorted set that has the job, and its member there. Nothing for one that is in r: its entry
-- stays, as a tombstone. `key` is any key of the topic.   (needs priority beside)
local function place_of(key, topic, id, value)
    local state = byte(value) % 8
    if state ~= READY then
        local letter = ({[DELAYED] = 'd', [RESERVED] = 'v', [DEAD] = 'x'})[state]
        return beside(key, topic, letter), id
    elseif priority(value) ~= COMMON_PRIORITY then
        return beside(key, topic, 'q'), sub(value, 14, 19) .. id
    end
end
