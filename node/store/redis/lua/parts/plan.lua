-- What a scan is about to do with a topic, made by reading alone: the event it will have next, what
-- its settings say, and (in plan.more) what only some topics have: jobs that die, rest or go. A plan
-- has topic, j; left: how many more jobs may move; wrong: why none will. (All its fields are
-- there from the beginning: one that is added costs as much as a call.)   (needs setting history
-- and of scan.lua: node DUE TIMED_OUT DIED)
local FOREVER = 281474976710655

local function plan_event(plan, at)
    plan.next = math.min(plan.next, at)
end

local function more_of(plan)
    if not plan.more then
        plan.more = {gone = {}, gone_count = 0, dying = {}, changed = {}, unwatched = {},
            undelayed = {}, unreserved = {}, unranked = {}, resting = {}, pruned = {}, bodies = {},
            owned = {}, lines = {}, tries_died = 0, expired_died = 0, leaves_tombstones = false,
            clearing = false}
    end
    return plan.more
end

-- The settings of the configuration's rules that match, first first: behind ARGV 3 they are, before the last, each
-- behind its pattern.
local function rules_for(topic)
    local rules = {}
    for i = 4, #ARGV - 1, 2 do
        local pattern = ARGV[i]
        local is_prefix = sub(pattern, -1) == '*'
        if pattern == topic or is_prefix and sub(topic, 1, #pattern - 1) == sub(pattern, 1, -2) then
            rules[#rules + 1] = ARGV[i + 1]
        end
    end
    return rules
end

-- row: of c, or false.
local function plan_settings(plan, row, history_bytes)
    local rules = rules_for(plan.topic)
    if not row and #rules == 0 then
        return
    end
    row = row and settings_are_ours(row) and row
    local dead_max = setting(row, rules, 32, '>I4', 35)
    local dead_age = setting(row, rules, 64, '>I6', 39)
    plan.settings = {dead_max = dead_max, dead_age = dead_age, limits_dead = dead_max + dead_age > 0,
        has_history = history_bytes > 0 and setting(row, rules, 128, 'B', 45) > 0}
    local ends = row and parse('>I6', row) or 0
    if ends > now and ends < FOREVER then
        plan_event(plan, ends)
    elseif ends > 0 and ends <= now then
        plan.settings.row_after_pause = '\0\0\0\0\0\0' .. sub(row, 7)
    end
end

-- A line of the history. Who had the job is in its value. One whose names are longer than dueq
-- gives them has none: they have no room in it. Of a holder that long, its beginning has.
local function plan_line(plan, event, death, at, id, value)
    local NAME_MAX, HOLDER_MAX = 200, 96
    if #plan.topic > NAME_MAX or #id > NAME_MAX then
        return
    end
    local lines, client = more_of(plan).lines, ''
    if byte(value) >= 128 and event ~= DUE then
        local from = byte(value) % 128 >= 64 and 47 or 25
        client = sub(value, from + 1, from + math.min(byte(value, from) or 0, HOLDER_MAX))
    end
    lines[#lines + 1] = history_line(event, death, at, parse('>I2', value, 2), plan.topic, id,
        node, client)
end
