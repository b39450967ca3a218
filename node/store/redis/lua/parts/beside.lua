-- The topic's key with another letter. `key` is any key of the topic.
local function beside(key, topic, letter)
    return sub(key, 1, -#topic - 3) .. letter .. ':' .. topic
end
