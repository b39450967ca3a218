-- identify: an identity's line, or its end; or what a node has read of it before, put back.
--
-- KEYS   i t
-- ARGV   name, line ('': revoked), the change's id, as (0: a new version; else heal, with this version),
--        the highest version that the caller knows, expected version + 1 (1: none is living; 0: any), then
--        the marks that no other line may have
-- answer code, now, wait (always -1), the version of what is there now
-- USES   now identities wake
--
-- All nodes hear of a change: `!`.
--
-- A Redis without memory left refuses a line, but no revocation: a token in wrong hands must go.

local i, t = unpack(KEYS)
local name, line, id = ARGV[1], ARGV[2], ARGV[3]
local as, floor, expected = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]) - 1
local is_heal = as > 0
local LIVING, TOMBSTONES, BYTES, VERSION_MAX, TOO_MANY_IDENTITIES = 1000, 1000, 1048576, 999999999999999, 11

-- A certificate's name may have a comma in it; a token stands behind '=' or a comma.
local marks = {}
for n = 7, #ARGV do
    local mark = string.gsub(ARGV[n], '%W', '%%%0')
    marks[#marks + 1] = sub(ARGV[n], 1, 5) == 'cert=' and ' ' .. mark .. ' ' or '[ ,=]' .. mark .. '[ ,]'
end
local function has_mark(text)
    for _, mark in ipairs(marks) do
        if string.find(' ' .. text .. ' ', mark) then
            return true
        end
    end
    return false
end

-- Several nodes put the same back: all but the first one are answered without a look at the others. Where
-- there are few, nobody has to look: no limit is near.
local function is_newer(version, was)
    return as > version or as == version and line == '' and was ~= ''
end
local stored = is_heal and call('HGET', i, name)
if stored then
    local version, was = identity_of(stored)
    if not is_newer(version, was) then
        return {OK, now, -1, version}
    end
end

local rows, highest, horizon, _ = {}, nil, nil, nil
if is_heal and call('HLEN', i) <= TOMBSTONES then
    highest, _, horizon = state_of(call('HGET', i, ' '))
    if stored then
        rows[1] = {name, identity_of(stored)}
    end
else
    rows, highest, _, horizon = read_identities(i)
end
local old, is_taken, living, bytes, tombstones = nil, false, 0, 0, {}
for _, row in ipairs(rows) do
    if row[1] == name then
        old = row
    elseif row[3] == '' then
        tombstones[#tombstones + 1] = row
    else
        living = living + 1
        bytes = bytes + #row[3]
        is_taken = is_taken or has_mark(row[3])
    end
end

local version, was = 0, ''
if old then
    version, was = old[2], old[3]
end
if is_heal then
    if not old and as <= horizon then
        return {OK, now, -1, version}
    end
else
    -- Of a Redis that lacks what the caller knows, a node may know a newer state of this identity, too.
    if version > 0 and was == line and highest >= floor then
        return {OK, now, -1, version}
    end
    if expected >= 0 and expected ~= (was ~= '' and version or 0) then
        return {WRONG_STATE, now, -1}
    end
    if is_taken then
        return {DUPLICATE, now, -1}
    end
end
-- Other identities are as many, and as long, as they are: a change that adds nothing is none of theirs.
local is_too_much
if is_heal then
    is_too_much = was == '' and living >= 2 * LIVING
else
    is_too_much = was == '' and living >= LIVING or #line > #was and bytes + #line > BYTES
end
if line ~= '' and is_too_much then
    return {TOO_MANY_IDENTITIES, now, -1}
end
version = is_heal and as or math.max(highest, floor) + 1
if version > VERSION_MAX then
    return {OUT_OF_RANGE, now, -1}
end

if line == '' then
    tombstones[#tombstones + 1] = {name, version}
end
table.sort(tombstones, function(a, b) return a[2] < b[2] end)
local too_many = #tombstones - TOMBSTONES
for n = 1, too_many do
    horizon = math.max(horizon, tombstones[n][2])
end

wake(i, '!')
if line == '' then
    call('ZREM', t, '') -- even if Redis is full
end
call('HSET', i, name, format('%d', version) .. (line ~= '' and ' ' or '') .. line,
    ' ', format('%d %s %d', math.max(highest, version), id, horizon))
for n = 1, too_many do
    call('HDEL', i, tombstones[n][1])
end
return {OK, now, -1, version}
