-- One job dies. x has been read, and where it expires e too. What is left is to leave the place
-- where it was, and to call the scan, which prunes: event(t, topic, now + 1000).   (needs moved
-- expires)
local function die(j, x, e, id, value, reason)
    call('ZADD', x, format('%d', now), id)
    call('HSET', j, id, moved(value, DEAD, pack('>I6', reason)))
    if expires(value) > 0 then
        call('ZREM', e, id)
    end
end
