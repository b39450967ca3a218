-- trace: what the bucket's history says of a job, the newest line first.
--
-- KEYS   h
-- ARGV   topic, id, the last answer's next ('': from the newest), limit
-- answer code, now, wait (always -1), next ('': no more), then the lines
-- USES   now
--
-- A stream knows no topics: all lines are looked at, but no more than LOOK_MAX a call.

local h = KEYS[1]
local topic, id, before, limit = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local LOOK_MAX, LINE_HEAD, NAME_MAX = 1000, 16, 200

-- A stream's ids are two numbers of 64 bits, and its first one is 0-1.
local function is_cursor(text)
    local ms, number = string.match(text, '^(%d+)%-(%d+)$')
    return ms and #ms < 20 and #number < 20 and string.find(text, '[1-9]')
end

if before ~= '' and not is_cursor(before) then
    return {OUT_OF_RANGE, now, -1}
elseif #topic > NAME_MAX or #id > NAME_MAX then
    return {OK, now, -1, ''} -- such names have no room in a line
end
local wanted = char(#topic) .. topic .. char(#id) .. id
local last = LINE_HEAD + #wanted
local answer = {OK, now, -1, ''}

local from = before == '' and '+' or '(' .. before
local entries = call('XREVRANGE', h, from, '-', 'COUNT', LOOK_MAX)
for i = 1, #entries do
    local line = entries[i][2][2]
    if sub(line, LINE_HEAD + 1, last) == wanted then
        answer[#answer + 1] = line
    end
    if #answer - 4 == limit or i == LOOK_MAX then
        answer[4] = entries[i][1]
        break
    end
end
return answer
