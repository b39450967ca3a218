-- The value with another due time.
local function due_at(value, due)
    return sub(value, 1, 7) .. pack('>I6', due) .. sub(value, 14)
end
