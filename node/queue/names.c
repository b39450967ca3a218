#include "node/queue/names.h"

#include <string.h>

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool has_valid_length(struct bytes name)
{
    return name.len >= 1 && name.len <= NAME_MAX_BYTES;
}

static bool is_dots(struct bytes name)
{
    return bytes_equal(name, BYTES(".")) || bytes_equal(name, BYTES(".."));
}

bool topic_name_is_valid(struct bytes topic)
{
    if (!has_valid_length(topic) || topic.at[0] == '-' || is_dots(topic))
        return false;
    for (size_t i = 0; i < topic.len; i++) {
        char c = topic.at[i];

        if (!is_alphanumeric(c) && (c == '\0' || !strchr("_.:/+;$()-", c)))
            return false;
    }
    return true;
}

bool job_id_is_valid(struct bytes id)
{
    if (!has_valid_length(id) || is_dots(id))
        return false;
    for (size_t i = 0; i < id.len; i++) {
        if (id.at[i] <= ' ' || id.at[i] > '~')
            return false;
    }
    return true;
}
