-- The topic has no ready job and is about to have one. `key` is any key of the bucket.
-- Before the first write: Redis may refuse it (rights on the channel), and nobody who hears it
-- can act before the script is over.
local function wake(key, topic)
    call('PUBLISH', sub(key, 1, string.find(key, '{', 1, true) - 1) .. 'ready', topic)
end

