-- The stored identities: who may do what, by the nodes' rules (protocol/access). To the scripts a line
-- is text.

-- PART identities
-- The hash i: a name to its version, in decimal, then a blank and the line; without these, a tombstone. Of
-- the field ' ': the highest version so far, the id of the last change, and the version of the newest
-- tombstone that was thrown away. What has another form was not written by dueq: a row's version is 0
-- then, and its line all that is there.
local VERSION_DIGITS, ID_CHARS = 15, 16

-- A row's version and line.
local function identity_of(value)
    local version = string.match(value, '^%d+$') or string.match(value, '^(%d+) .')
    if not version or #version > VERSION_DIGITS then
        return 0, value
    end
    return tonumber(version), sub(value, #version + 2)
end

-- The highest version, the last change's id ('': none), the horizon.
local function state_of(value)
    local last, change, thrown = string.match(value or '', '^(%d+) (%x+) (%d+)$')
    if last and #last <= VERSION_DIGITS and #change == ID_CHARS and #thrown <= VERSION_DIGITS then
        return tonumber(last), change, tonumber(thrown)
    end
    return 0, '', 0
end

-- Rows {name, version, line}, the highest version, the last change's id ('': none), the horizon.
local function read_identities(i)
    local rows, met, cursor = {}, {}, '0'
    local highest, id, horizon = 0, '', 0
    repeat
        local page = call('HSCAN', i, cursor, 'COUNT', 1000)
        cursor = page[1]
        for n = 1, #page[2], 2 do
            local name, value = page[2][n], page[2][n + 1]
            if name == ' ' then
                local last
                last, id, horizon = state_of(value)
                highest = math.max(highest, last)
            elseif not met[name] then
                local version, line = identity_of(value)
                met[name] = true -- a page may tell it once more
                rows[#rows + 1] = {name, version, line}
                highest = math.max(highest, version)
            end
        end
    until cursor == '0'
    return rows, highest, id, horizon
end
