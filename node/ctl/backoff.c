#include "node/ctl/backoff.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "node/ctl/duration.h"

#define DURATION_ROOM 32

static const char *const kinds[] = {"none", "fixed", "exponential"};

/* The kind that the text begins with, and how long it is; NULL: none of them. */
static const char *find_kind(const char *text, size_t *len)
{
    *len = strcspn(text, ":");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strlen(kinds[i]) == *len && !memcmp(kinds[i], text, *len))
            return kinds[i];
    }
    return NULL;
}

/* Reads a rest of `len` bytes. */
static bool parse_rest(const char *text, size_t len, int64_t *ms)
{
    char copy[DURATION_ROOM];
    int64_t value;

    if (len >= sizeof(copy))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (!duration_parse(copy, &value) || value < 1 || value > BACKOFF_MAX_MS)
        return false;
    *ms = value;
    return true;
}

/* Behind the "~": "10%", up to 100. */
static bool parse_jitter(const char *text, int64_t *percent)
{
    size_t digits = strspn(text, "0123456789");
    int value = 0;

    if (digits < 1 || digits > 3 || strcmp(text + digits, "%") != 0)
        return false;
    sscanf(text, "%d", &value);
    *percent = value;
    return value <= 100;
}

static bool parse_cap(const char *text, size_t len, struct backoff *b)
{
    return b->kind != kinds[1] && parse_rest(text, len, &b->cap_ms) && b->cap_ms >= b->base_ms;
}

/* "1s..5m~10%" */
static bool parse_numbers(const char *text, struct backoff *b)
{
    size_t len = strcspn(text, "~");
    const char *dots = memmem(text, len, "..", 2);
    size_t base_len = dots ? (size_t)(dots - text) : len;

    if (!parse_rest(text, base_len, &b->base_ms))
        return false;
    if (dots && !parse_cap(dots + 2, len - base_len - 2, b))
        return false;
    return text[len] == '\0' || parse_jitter(text + len + 1, &b->jitter_percent);
}

bool backoff_parse(const char *text, struct backoff *b)
{
    size_t len;
    struct backoff read = {.kind = find_kind(text, &len)};
    bool has_numbers = text[len] == ':';

    if (!read.kind || has_numbers != (read.kind != kinds[0]))
        return false;
    if (has_numbers && !parse_numbers(text + len + 1, &read))
        return false;
    *b = read;
    return true;
}

void backoff_print(struct buf *to, const struct backoff *b)
{
    buf_add_text(to, b->kind);
    if (!b->base_ms)
        return;
    buf_add_char(to, ':');
    duration_write(to, b->base_ms);
    if (b->cap_ms) {
        buf_add_text(to, "..");
        duration_write(to, b->cap_ms);
    }
    if (b->jitter_percent)
        buf_printf(to, "~%lld%%", (long long)b->jitter_percent);
}
