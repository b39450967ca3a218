-- Does o name this topic as the owner of the id? (Ids are unique within a topic only.)
local function owns(o, value, id, topic)
    if byte(value) % 32 >= 16 then
        local owner = call('HGET', o, id)
        return owner and sub(owner, 7) == topic
    end
end

