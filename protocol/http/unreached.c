#include "protocol/http/unreached.h"

#include <string.h>

static const char *text_of(const char *text)
{
    return text ? text : "";
}

bool unreached_is_same(const struct http_store_unreached *a,
                       const struct http_store_unreached *b)
{
    return !strcmp(text_of(a->address), text_of(b->address)) &&
           !strcmp(text_of(a->why), text_of(b->why));
}

bool unreached_is_first(const struct http_store_numbers *n, unsigned i)
{
    for (unsigned before = 0; before < i; before++)
        if (unreached_is_same(&n->unreached[before], &n->unreached[i]))
            return false;
    return true;
}

/* The group's next bucket from `i` on; unreached_count: there is none. */
static unsigned next_of(const struct http_store_numbers *n, unsigned first, unsigned i)
{
    while (i < n->unreached_count && !unreached_is_same(&n->unreached[first], &n->unreached[i]))
        i++;
    return i;
}

/* Where the run of numbers that begins with `i` ends. */
static unsigned end_of_run(const struct http_store_numbers *n, unsigned first, unsigned i)
{
    unsigned next = next_of(n, first, i + 1);

    while (next < n->unreached_count &&
           n->unreached[next].bucket == n->unreached[i].bucket + 1) {
        i = next;
        next = next_of(n, first, i + 1);
    }
    return i;
}

void unreached_print(struct buf *to, const struct http_store_numbers *n, unsigned first)
{
    bool is_one = next_of(n, first, first + 1) == n->unreached_count;
    const char *before = is_one ? "bucket " : "buckets ";

    for (unsigned i = first; i < n->unreached_count;) {
        unsigned last = end_of_run(n, first, i);

        buf_printf(to, "%s%u", before, n->unreached[i].bucket);
        if (last != i)
            buf_printf(to, " to %u", n->unreached[last].bucket);
        before = ", ";
        i = next_of(n, first, last + 1);
    }
}

/* Are all buckets in the group? Those that nobody has are at no master. */
static bool is_all(const struct http_store_numbers *n, unsigned first)
{
    uint64_t of_masters = 0, nowhere = 0;

    for (unsigned i = 0; i < n->master_count; i++)
        of_masters += n->masters[i].buckets;
    for (unsigned i = 0; i < n->unreached_count; i++) {
        if (!unreached_is_same(&n->unreached[first], &n->unreached[i]))
            return false;
        nowhere += !*text_of(n->unreached[i].address);
    }
    return n->unreached_count == of_masters + nowhere;
}

/* The buckets come last: they may be many. */
void unreached_describe(struct buf *to, const struct http_store_numbers *n, unsigned first)
{
    const struct http_store_unreached *u = &n->unreached[first];

    buf_printf(to, "%s%s%s; ", text_of(u->address), *text_of(u->address) ? ": " : "",
               text_of(u->why));
    if (is_all(n, first)) {
        buf_add_text(to, "all topics stand still");
        return;
    }
    buf_add_text(to, "the topics of ");
    unreached_print(to, n, first);
    buf_add_text(to, " stand still");
}

const char *unreached_advice(const struct http_store_unreached *u)
{
    return *text_of(u->address)
               ? "look at that Redis, and at the way to it"
               : "'redis-cli --cluster check HOST:PORT' shows which slots nobody has";
}

const struct http_store_unreached *unreached_find(const struct http_store_numbers *n,
                                                  unsigned bucket)
{
    for (unsigned i = 0; i < n->unreached_count; i++)
        if (n->unreached[i].bucket == bucket)
            return &n->unreached[i];
    return NULL;
}
