-- Why this lease of a job is not valid, or OK.
local function check_lease(value, stamp)
    if not value then
        return NOT_FOUND
    elseif byte(value) % 8 ~= RESERVED then
        return NOT_RESERVED
    elseif sub(value, 14, 19) ~= stamp then
        return NOT_OWNER
    end
    return OK
end

