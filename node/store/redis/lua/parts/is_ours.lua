-- Was the value written by dueq? As job_unpack judges (node/store/job.c).   (needs rules_are_ours)
local function is_ours(value)
    local first, from = byte(value) or 0, 25
    local state = first % 8
    if #value < 24 or state < DELAYED or state > DEAD then
        return false
    end
    local stamp = parse('>I6', value, 14)
    if state == DEAD and (stamp < TRIES or stamp > DAMAGED) then
        return false
    end
    if first % 128 >= 64 then
        if #value < 46 or not rules_are_ours(value, 29) then
            return false
        end
        from = 47
    end
    local holder = first < 128 and -1 or byte(value, from) or 97 -- JOB_HOLDER_MAX + 1
    return holder <= 96 and #value >= from + holder
end
