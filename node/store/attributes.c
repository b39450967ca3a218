#include "node/store/attributes.h"

#include <string.h>

#include "node/store/packed.h"

#define LENGTHS_BYTES 3 /* of a name and of its value */

static char *append(char *at, struct bytes from)
{
    if (from.len)
        memcpy(at, from.at, from.len);
    return at + from.len;
}

bool attributes_add(struct attributes *attributes, struct bytes name, struct bytes value)
{
    size_t left = ATTRIBUTES_MAX_BYTES - attributes->bytes;
    char *at = attributes->packed + attributes->bytes;

    if (name.len < 1 || name.len > ATTRIBUTE_NAME_MAX || value.len > ATTRIBUTES_MAX_BYTES ||
        LENGTHS_BYTES + name.len + value.len > left || attributes->count == ATTRIBUTES_MAX)
        return false;
    packed_put(at, 1, (int64_t)name.len);
    at = append(at + 1, name);
    packed_put(at, 2, (int64_t)value.len);
    append(at + 2, value);
    attributes->bytes += LENGTHS_BYTES + name.len + value.len;
    attributes->count++;
    return true;
}

struct bytes attributes_packed(const struct attributes *attributes)
{
    return bytes_of(attributes->packed, attributes->bytes);
}

/* Cuts a text off, behind its length of so many bytes. */
static bool take_text(struct bytes *left, unsigned length_bytes, struct bytes *text)
{
    size_t len;

    if (left->len < length_bytes)
        return false;
    len = (size_t)packed_get(left->at, length_bytes);
    if (left->len - length_bytes < len)
        return false;
    *text = bytes_of(left->at + length_bytes, len);
    *left = bytes_of(text->at + len, left->len - length_bytes - len);
    return true;
}

bool attributes_next(struct bytes *left, struct attribute *attribute)
{
    struct bytes rest = *left;
    struct attribute next;

    if (!take_text(&rest, 1, &next.name) || next.name.len == 0 ||
        !take_text(&rest, 2, &next.value))
        return false;
    *left = rest;
    *attribute = next;
    return true;
}

bool attributes_find(struct bytes packed, struct bytes name, struct bytes *value)
{
    struct attribute attribute;

    while (attributes_next(&packed, &attribute)) {
        if (bytes_equal(attribute.name, name)) {
            *value = attribute.value;
            return true;
        }
    }
    return false;
}

bool attributes_are_valid(struct bytes packed)
{
    struct attribute attribute;
    unsigned count = 0;

    if (packed.len > ATTRIBUTES_MAX_BYTES)
        return false;
    while (attributes_next(&packed, &attribute))
        count++;
    return packed.len == 0 && count <= ATTRIBUTES_MAX;
}
