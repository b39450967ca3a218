-- The topic had no ready job and has one now. `key` is any key of the bucket.
local function wake(key, topic)
    call('PUBLISH', sub(key, 1, string.find(key, '{', 1, true) - 1) .. 'ready', topic)
end

