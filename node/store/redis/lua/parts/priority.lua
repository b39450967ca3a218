-- The job's priority: COMMON_PRIORITY is served from r, any other from q.
local function priority(value)
    return byte(value) % 128 >= 64 and parse('>I4', value, 25) or COMMON_PRIORITY
end
