-- A job's value, read and changed. Its layout is in common.lua.

-- PART behind_rules
-- Where the holder begins in a value, or else the body: behind header, rules and EXTRA.
local function behind_rules(value)
    if byte(value) % 128 < 64 then
        return 25
    end
    return byte(value, 31) >= 128 and 47 + parse('>I2', value, 47) or 47
end

-- PART body_from
-- Where the body begins in a value: behind header, rules, EXTRA and holder.
local function body_from(value)
    local first, from = byte(value), 25
    if first % 128 >= 64 then
        -- HERE behind_rules
        from = behind_rules(value)
    end
    if first >= 128 then
        from = from + 1 + (byte(value, from) or 0)
    end
    return from
end

-- PART rank_of
-- The job's score in q, its priority; nil where it is served from r: of the common priority, and not
-- BY_ID.
local function rank_of(value)
    if byte(value) % 128 < 64 then
        return nil
    end
    local rank = parse('>I4', value, 25)
    local is_by_id = byte(value, 31) >= 128 and byte(value, 49) >= 128
    return (rank ~= COMMON_PRIORITY or is_by_id) and rank or nil
end

-- PART ruled
-- The value with rules, were they default ones.
local function ruled(value)
    if byte(value) % 128 >= 64 then
        return value
    end
    return char(byte(value) + 64) .. sub(value, 2, 24) .. pack('>I4I2BBI4I4I6', COMMON_PRIORITY, 0, 0, 0, 0, 0, 0)
        .. sub(value, 25)
end

-- PART with_priority
-- The value with another priority.   (needs ruled)
local function with_priority(value, rank)
    value = ruled(value)
    return sub(value, 1, 24) .. pack('>I4', rank) .. sub(value, 29)
end

-- PART key_for
-- The key of a job that becomes ready: its own, where it is BY_ID; else this one.
local function key_for(value, key)
    if byte(value) % 128 >= 64 and byte(value, 31) >= 128 and byte(value, 49) >= 128 then
        return sub(value, 49, 54)
    end
    return key
end

-- PART raised
-- The value with one more of what its EXTRA counts at this byte; without an EXTRA, as it is.
local RESERVES, TIMEOUTS, RELEASES, BURIES, KICKS = 61, 63, 65, 67, 69
local function raised(value, counter)
    if byte(value) % 128 < 64 or byte(value, 31) < 128 then
        return value
    end
    local count = math.min(parse('>I2', value, counter) + 1, 65535) -- EXTRA_COUNT_MAX
    return sub(value, 1, counter - 1) .. pack('>I2', count) .. sub(value, counter + 2)
end

-- PART expires
-- When the job expires; 0: never.
local function expires(value)
    return byte(value) % 128 >= 64 and parse('>I6', value, 41) or 0
end

-- PART is_ours
-- Was the value written by dueq? As job_unpack judges (node/store/job.c).   (needs rules_are_ours)
local function is_ours(value)
    local first, from = byte(value) or 0, 25
    local state = first % 8
    if #value < 24 or state < DELAYED or state > DEAD then
        return false
    end
    local stamp = parse('>I6', value, 14)
    if state == DEAD and (stamp < TRIES or stamp > DAMAGED) then
        return false
    end
    if first % 128 >= 64 then
        local kind = byte(value, 31) or 0
        if #value < 46 or not rules_are_ours(sub(value, 29, 30) .. char(kind % 128) .. sub(value, 32, 40), 1) then
            return false
        end
        local extra = kind >= 128 and (#value >= 70 and parse('>I2', value, 47) or 0)
        if extra and (extra < 24 or extra > 4120) then -- EXTRA_BYTES, EXTRA_BYTES_MAX
            return false
        end
        from = 47 + (extra or 0)
    end
    local holder = first < 128 and -1 or byte(value, from) or 97 -- JOB_HOLDER_MAX + 1
    return holder <= 96 and #value >= from + holder
end

-- PART due_at
-- The value with another due time.
local function due_at(value, due)
    return sub(value, 1, 7) .. pack('>I6', due) .. sub(value, 14)
end

-- PART moved
-- The value in another state, with another stamp, and not confirmed.
local function moved(value, state, stamp)
    local first = byte(value)
    return char(first - first % 8 - (first % 64 >= 32 and 32 or 0) + state)
        .. sub(value, 2, 13) .. stamp .. sub(value, 20)
end

-- PART revived
-- The value of a dead job that is to live again: no try counted, no ttl any more.
local function revived(value)
    value = sub(value, 1, 1) .. '\0\0' .. sub(value, 4)
    if byte(value) % 128 >= 64 then
        value = sub(value, 1, 40) .. '\0\0\0\0\0\0' .. sub(value, 47)
    end
    return value
end

-- PART confirmed
-- The value of a reservation whose consumer is known to have the job: confirmed, the try
-- counted. Only for a reservation that is not confirmed: a confirmation may come again, or
-- after a touch.
local function confirmed(value)
    local tries = math.min(parse('>I2', value, 2) + 1, 65535)
    if byte(value) % 128 >= 64 then
        -- HERE raised
        value = raised(value, RESERVES)
    end
    return pack('>BI2', byte(value) + 32, tries) .. sub(value, 4)
end

-- PART delivered_to
-- The value of a reservation whose consumer has the job now: confirmed, the try counted, and
-- the consumer's name (nil or '': not known) in place of the last holder's.
local function delivered_to(value, holder)
    local first, tries = byte(value), math.min(parse('>I2', value, 2) + 1, 65535)
    local from = 25
    if first % 128 >= 64 then
        -- HERE raised behind_rules
        value, from = raised(value, RESERVES), behind_rules(value)
    end
    if first < 128 and not holder then
        return pack('>BI2', first + 32, tries) .. sub(value, 4)
    end
    local body = first >= 128 and from + 1 + byte(value, from) or from
    if holder and holder ~= '' then
        return pack('>BI2', first % 128 + 160, tries) .. sub(value, 4, from - 1)
            .. char(#holder) .. holder .. sub(value, body)
    end
    return pack('>BI2', first % 128 + 32, tries) .. sub(value, 4, from - 1) .. sub(value, body)
end

-- PART used_up
-- Has the job been handed over as often as it may be? (Its tries are counted already.)
local function used_up(value)
    if byte(value) % 128 < 64 then
        return false
    end
    local most = parse('>I2', value, 29)
    return most > 0 and parse('>I2', value, 2) >= most
end

-- PART rest
-- How long the job rests by its backoff, ms. Its tries are counted already, and its stamp is
-- still that of the ended lease. The formula is that of backoff_rest_ms (node/store/job.h), and
-- exact.
local function rest(value)
    if byte(value) % 128 < 64 then
        return 0
    end
    local kind, jitter, base, cap = parse('>BBI4I4', value, 31)
    kind = kind % 128
    if kind == 0 then
        return 0
    end
    if kind == 2 then
        base = base * 2 ^ (math.max(parse('>I2', value, 2), 1) - 1)
    end
    local k = parse('>I6', value, 14) % 2001 * 7919 % 2001
    base = math.min(base, cap > 0 and cap or 2592000000) -- RULES_BACKOFF_MAX_MS
    return math.floor(base * (100000 + jitter * (k - 1000)) / 100000)
end

-- PART check_lease
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

-- PART leases
-- The leases of ARGV, behind the topic: each an id, and what begins with its stamp. Their ids, and
-- the jobs' values.
local ids = {}
for i = 2, #ARGV, 2 do
    ids[#ids + 1] = ARGV[i]
end
local values = call('HMGET', j, unpack(ids))
