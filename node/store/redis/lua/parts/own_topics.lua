-- Which of the topics that are due are this node's to scan, where many nodes do (doc/cluster.md).
-- First all that is due is looked at, with one MGET for the locks of each page; nothing is
-- written. Makes topics, first first; claims, by topic, where a lock is to be written: TAKE, TAKE_LATE,
-- TAKE_OVER, or its token where it is to be renewed (a lock that is held on to has none); and
-- next_own, the ms until the node has reason to look again.   (of scan.lua)
--
-- It runs with every scan, and is made for one that finds one topic, its own, with its lock on it: what
-- others need is made when there is one, and the page becomes the list.
-- Where more is due than it looks at, topics of others (of a node that is frozen, say) may hide the node's
-- own behind them. Then the second half of what it looks at is a window behind the first, another one each
-- time: the clock says which.
local LOOK_MAX, BARRED_MAX_MS, KEPT, LATE = 1000, 1000, 1, 2
local HALF, due = LOOK_MAX / 2, nil -- how many are, where there are windows
local before, looked, count, barred, size = 0, 0, 0, 0, nil
local late_count, others -- of those that are due; the topics that are not the node's own: KEPT or LATE
local late_ms, is_before -- made when it is needed
who, lock_ms, late_ms = sub(share, 1, 32), parse('>I6I6', share, 33)
l = bucket .. 'l:'

-- As SHARE_LOCK_MAX_MS in node/store/share.h: what ends later was written by another clock, before a failover.
local most_ms = math.max(lock_ms, 60000)

-- As share_of() in node/store/share.h.
mark_of = function(topic)
    local len = #topic
    if len < 12 then
        topic, len = sub('\0\0\0\0\0\0\0\0\0\0\0' .. topic, -12), 12
    end
    local a, b, c = byte(topic, -3, -1)
    local at = len < 16 and len - 12 or (len - len % 4) / 4
    local first, second = parse('>I6I6', topic, at + 1)
    local sum = first % 65521 * 31 + second % 65521
    return byte(share, 45 + (((sum * 31 + a) * 31 + b) * 31 + c) % 256)
end

repeat
    if looked == HALF then
        due = call('ZCOUNT', t, '-inf', until_now)
        due = due > LOOK_MAX and due
        if due then
            before = HALF + math.floor(now / AGAIN_MS) % math.ceil((due - HALF) / HALF) * HALF
        end
    end
    local page = due and call('ZRANGE', t, before, math.min(before + 100, due) - 1)
        or redis.pcall('ZRANGEBYSCORE', t, '-inf', until_now, 'LIMIT',
            before > 0 and format('%d', before) or '0', '100')
    if page.err then
        topics = page
        break
    end
    local keys, found, locks = {}, 0, NONE
    topics, size = topics or page, #page
    for i = 1, size do
        local topic = page[i]
        local mark, is_late = mark_of(topic), false
        if mark ~= OWN then
            late_count = late_count or call('ZCOUNT', t, '-inf', format('%d', now - late_ms))
            is_late = before + i <= late_count
        end
        if mark ~= OTHERS or is_late then
            found = found + 1
            page[found], keys[found] = topic, l .. topic
            if mark ~= OWN then
                others = others or {}
                others[topic] = is_late and LATE or KEPT
            end
        end
    end
    if found > 0 then
        locks = call('MGET', unpack(keys))
    end
    before, looked = before + size, looked + size
    for i = 1, found do
        local topic, lock, claim = page[i], locks[i], nil
        local other, ends, token = others and others[topic], 0, 0
        if lock and #lock >= 45 then
            ends, token = parse('>I6I7', lock, 33)
        end
        if ends <= now or ends - now > most_ms then
            claim = not other and TAKE or other == LATE and TAKE_LATE
        elseif sub(lock, 1, 32) == who then
            claim = not other and ends - now < lock_ms / 2 and token or HELD
        elseif other then
            claim = sub(lock, 17, 32) == sub(who, 17) and HELD
        else
            local its_view, view = sub(lock, 1, 16), sub(who, 1, 16)
            local is_its_own = sub(lock, 17, 32) == sub(who, 17)
            if not is_before then
                -- HERE precedes
                is_before = precedes
            end
            local is_older = its_view ~= view and is_before(its_view, view)
            if is_its_own then -- of a newer view: this scan comes late
                claim = is_older and token or HELD
            elseif is_older then
                claim = TAKE_OVER
            else
                barred = barred + 1
                next_own = math.min(next_own, ends - now, BARRED_MAX_MS)
            end
        end
        if claim and count == TOPICS_MAX then
            next_own, looked = 0, LOOK_MAX
            break
        elseif claim then
            count = count + 1
            topics[count] = topic
            if claim ~= HELD then
                claims = claims or {}
                claims[topic] = claim
            end
        end
    end
    for i = count + 1, #topics do
        topics[i] = nil
    end
until size < TOPICS_MAX or looked >= LOOK_MAX
if due or size == TOPICS_MAX and looked >= LOOK_MAX then
    next_own = math.min(next_own, AGAIN_MS)
end
answer[12], answer[13], answer[14], answer[15], filled = 0, 0, 0, barred, 15
