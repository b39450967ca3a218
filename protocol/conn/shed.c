#include "protocol/conn/shed.h"

#include <stdlib.h>

#include "base/list.h"

void shed_note_progress(struct list *all, struct list *link, const struct stream *s)
{
    list_remove(link);
    if (stream_len(s))
        list_append(all, link);
}

static void crowd_out(struct connection *c, const char *reason)
{
    ++*c->kind->shed;
    connection_close(c, reason);
}

/* Who keeps less than others is not to pay for them: it may wait for a reply, with the start of
 * the next request behind. */
static struct connection *find_hoarder(struct connection_kind *kind)
{
    size_t share = kind->kept_bytes / kind->connections;

    LIST_EACH (link, &kind->kept) {
        struct connection *c = CONTAINER_OF(link, struct connection, kept);

        if (stream_len(&c->input) >= share)
            return c;
    }
    abort(); /* it is an average */
}

void shed_bound_kept(struct connection_kind *kind)
{
    while (kind->kept_bytes > kind->kept_max_bytes)
        crowd_out(find_hoarder(kind), "too much memory in unfinished requests");
}

void shed_bound_unread(struct connection_kind *kind, const struct connection *newest)
{
    while (kind->unread_bytes > kind->unread_max_bytes) {
        struct connection *slowest =
            CONTAINER_OF(list_first(&kind->unread), struct connection, unread);

        if (slowest == newest)
            return;
        crowd_out(slowest, "too much output unread by all together");
    }
}
