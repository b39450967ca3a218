-- Was the row of c written by dueq? As settings_unpack judges (node/store/settings.c). One that was
-- not counts as none.   (needs rules_are_ours)
local function settings_are_ours(row)
    return #row == 45 and parse('>I2', row, 7) <= 255 and rules_are_ours(row, 17)
end
