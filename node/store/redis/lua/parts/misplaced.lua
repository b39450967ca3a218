-- What is wrong with a job that `place`, for jobs of this state, names; nil: nothing.
local function misplaced(place, j, id, value, state)
    local what
    if not value then
        what = 'missing'
    elseif #value < 24 or byte(value) % 128 >= 64 and #value < 46 then
        what = 'not one of ours'
    elseif byte(value) % 8 ~= state then
        what = 'in another state'
    else
        return nil
    end
    return 'job ' .. id .. ' is in ' .. place .. ', but ' .. what .. ' in ' .. j
end
