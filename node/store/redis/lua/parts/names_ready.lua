-- Does the entry, of r or q, name a job that is READY by it? Else it is a tombstone.
local function names_ready(entry, value)
    return value and #value >= 24 and byte(value) % 8 == READY and sub(value, 14, 19) == sub(entry, 1, 6)
end
