-- Stands before every script in contract_moving_test, and checks it against a slot that moves.
--
-- While a slot of Redis Cluster moves, its keys go one by one, and a command on a key that is
-- not there ends a script: before it begins, where it declares the key; else in its middle. So
-- a script that has changed anything may touch only keys that it declares or has touched
-- before, and none that it has emptied itself since. (A key that was missing at its first touch
-- would have ended the script then.) Here a call against this rule ends the script at once, and
-- says why.
--
-- What a script runs by pcall after a change may end by itself, and the script goes on. So it is
-- held to the rule like a script of its own: of the keys that the script has touched before, those
-- count that are still there. (Before a change this is not needed: there a script passes such an
-- error on.)
--
-- These count as no change: the counter, because gaps in it mean nothing; the fence, which is
-- asserted again; '' removed from a sorted set; PERSIST. A scan's last reads, for its next
-- event, may fail: then the scan comes again.
local redis, pcall = (function(redis)
    local plain_pcall = pcall
    local KEYLESS = {TIME = true, PUBLISH = true}
    local WIDE = {EXISTS = true, DEL = true, UNLINK = true, MGET = true}
    local WRITES = {SET = true, HSET = true, HDEL = true, ZADD = true, ZREM = true, ZREMRANGEBYRANK = true,
        RPUSH = true, LPUSH = true, LPOP = true, LSET = true, LREM = true, LTRIM = true, XADD = true, XTRIM = true, DEL = true,
        UNLINK = true, PEXPIRE = true, SETRANGE = true, INCR = true, INCRBY = true}
    local READS = {GET = true, MGET = true, GETRANGE = true, STRLEN = true, EXISTS = true, HGET = true, HEXISTS = true, HRANDFIELD = true, HGETALL = true,
        HMGET = true, HLEN = true, HSCAN = true, HSTRLEN = true, ZRANGE = true, ZRANGEBYSCORE = true,
        ZRANGEBYLEX = true, ZREVRANGE = true, ZCARD = true, ZCOUNT = true, ZSCORE = true, ZMSCORE = true, ZSCAN = true,
        ZRANK = true, LLEN = true, LRANGE = true, LINDEX = true, LPOS = true, XLEN = true, XRANGE = true,
        XREVRANGE = true, PTTL = true, PERSIST = true, TYPE = true, MEMORY = true}
    local ASKS_WHEN = {ZRANGE = true, ZRANGEBYSCORE = true}
    local was_there, changed = {}, nil

    local function look(command, key)
        local is_there = redis.call('EXISTS', key) == 1
        if was_there[key] == nil then
            if changed then
                error('MOVING: ' .. command .. ' ' .. key .. ', not touched before ' .. changed, 0)
            end
            was_there[key] = is_there
        elseif changed and was_there[key] and not is_there then
            error('MOVING: ' .. command .. ' ' .. key .. ', emptied since, after ' .. changed, 0)
        end
    end

    local function is_change(command, key, member)
        local letter = string.sub(key, -3)
        return WRITES[command] and letter ~= '}:n' and letter ~= '}:f'
            and not (command == 'ZREM' and member == '')
    end

    local function keys_of(command, ...)
        local first, second = ...
        if command == 'MEMORY' then
            return {second}
        elseif ASKS_WHEN[command] and string.sub(first, -3) == '}:t' then
            return {}
        end
        return WIDE[command] and {...} or {first}
    end

    local function checked(run)
        return function(command, ...)
            if KEYLESS[command] then
                return run(command, ...)
            end
            if not (READS[command] or WRITES[command]) then
                error('MOVING: ' .. command .. ' is not known to checked.lua', 0)
            end
            for _, key in ipairs(keys_of(command, ...)) do
                look(command, key)
            end
            if is_change(command, ...) then
                changed = command .. ' ' .. (...)
            end
            return run(command, ...)
        end
    end

    local function checked_pcall(run, ...)
        local outer, outer_changed = was_there, changed
        if changed then
            was_there, changed = {}, nil
            for key in pairs(outer) do
                was_there[key] = redis.call('EXISTS', key) == 1 or nil
            end
        end
        local results = {plain_pcall(run, ...)}
        if outer_changed then
            was_there, changed = outer, outer_changed
        end
        if type(results[2]) == 'string' and string.find(results[2], 'MOVING: ', 1, true) then
            error(results[2], 0)
        end
        return unpack(results)
    end

    for _, key in ipairs(KEYS) do
        was_there[key] = redis.call('EXISTS', key) == 1
    end
    return {call = checked(redis.call), pcall = checked(redis.pcall), sha1hex = redis.sha1hex,
        error_reply = redis.error_reply}, checked_pcall
end)(redis)

