#include "itests/bench/load/protocol.h"

#include <string.h>

#include "itests/bench/load/die.h"

static const struct protocol *const protocols[] = {
    &protocol_gmq,
    &protocol_http,
    &protocol_beanstalk,
};

const struct protocol *protocol_find(const char *name)
{
    for (size_t i = 0; i < sizeof(protocols) / sizeof(*protocols); i++) {
        if (!strcmp(protocols[i]->name, name))
            return protocols[i];
    }
    die("there is no protocol %s", name);
}

bool protocol_acks(const struct protocol *p, int64_t ttr_s)
{
    return p->acks_always || ttr_s > 0;
}

struct bytes after(struct bytes text, struct bytes mark)
{
    const char *at = memmem(text.at, text.len, mark.at, mark.len);

    if (!at)
        return (struct bytes){0};
    at += mark.len;
    return bytes_of(at, (size_t)(text.at + text.len - at));
}

struct bytes quoted_after(struct bytes text, struct bytes mark)
{
    struct bytes rest = after(text, mark);
    const char *end = rest.len ? memchr(rest.at, '"', rest.len) : NULL;

    return end ? bytes_of(rest.at, (size_t)(end - rest.at)) : (struct bytes){0};
}

bool starts_with(struct bytes text, struct bytes start)
{
    return text.len >= start.len && !memcmp(text.at, start.at, start.len);
}

bool ends_with(struct bytes text, struct bytes end)
{
    return text.len >= end.len && !memcmp(text.at + text.len - end.len, end.at, end.len);
}
