#include "ha/rule/record.h"

#include <string.h>

void record_add(struct buf *b, const char *key, const char *value)
{
    buf_add_text(b, key);
    buf_add_char(b, ' ');
    for (; *value; value++)
        buf_add_char(b, (unsigned char)*value < ' ' || *value == 127 ? '?' : *value);
    buf_add_char(b, '\n');
}

void record_add_number(struct buf *b, const char *key, int64_t value)
{
    buf_add_text(b, key);
    buf_add_char(b, ' ');
    buf_add_number(b, value);
    buf_add_char(b, '\n');
}

/* Cuts the piece before `end`, or the whole text, off `text`. */
static struct bytes cut_at(struct bytes *text, char end)
{
    const char *found = text->len ? memchr(text->at, end, text->len) : NULL;
    struct bytes piece = *text;
    size_t used = text->len;

    if (found) {
        piece.len = (size_t)(found - text->at);
        used = piece.len + 1;
    }
    text->at += used;
    text->len -= used;
    return piece;
}

bool record_next(struct bytes *text, struct bytes *key, struct bytes *value)
{
    struct bytes line;

    if (text->len == 0)
        return false;
    line = cut_at(text, '\n');
    *key = cut_at(&line, ' ');
    *value = line;
    return true;
}

bool record_get(struct bytes text, const char *key, struct bytes *value)
{
    struct bytes wanted = bytes_of_text(key), found_key, found;

    while (record_next(&text, &found_key, &found)) {
        if (bytes_equal(found_key, wanted)) {
            *value = found;
            return true;
        }
    }
    return false;
}

bool record_number(struct bytes value, int64_t *number)
{
    int64_t n = 0;

    if (value.len == 0 || value.len > 18) /* 18 digits fit into an int64_t */
        return false;
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return false;
        n = n * 10 + (value.at[i] - '0');
    }
    *number = n;
    return true;
}

bool record_text(struct bytes value, char *text, size_t room)
{
    if (value.len >= room || (value.len && memchr(value.at, '\0', value.len)))
        return false;
    if (value.len)
        memcpy(text, value.at, value.len);
    text[value.len] = '\0';
    return true;
}

bool record_get_text(struct bytes text, const char *key, char *value, size_t room)
{
    struct bytes found;

    return record_get(text, key, &found) && record_text(found, value, room);
}

bool record_get_number(struct bytes text, const char *key, int64_t *value)
{
    struct bytes found;

    return record_get(text, key, &found) && record_number(found, value);
}

bool record_get_flag(struct bytes text, const char *key)
{
    struct bytes found;

    return record_get(text, key, &found) && bytes_equal(found, BYTES("yes"));
}

bool record_word(struct bytes *value, struct bytes *word)
{
    if (value->len == 0)
        return false;
    *word = cut_at(value, ' ');
    return true;
}
