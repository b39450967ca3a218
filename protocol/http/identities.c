#include "protocol/http/identities.h"

#include <string.h>

#include "node/queue/queue.h"
#include "protocol/http/jobs.h"

bool http_is_for_all_topics(struct exchange *x)
{
    if (!x->who || identity_has_all_topics(x->who))
        return true;
    exchange_reply_error_text(x, HTTP_ERROR_FORBIDDEN,
                              "who has topics of its own may not see or change identities: "
                              "%.*s has some",
                              BYTES_ARG(x->who->name));
    return false;
}

/* ---- read ---- */

void http_read_identities(struct exchange *x, const struct registry *r,
                          void (*on_done)(struct op *op))
{
    struct op op = {.verb = OP_IDENTITIES, .in.identities.known = BYTES("")};
    const char *why = registry_why_not(r);

    if (why)
        exchange_reply_error_text(x, HTTP_ERROR_WRONG_STATE, "%s", why);
    else
        http_submit(x, &op, on_done, NULL);
}

struct identity *http_identity_of(const struct identity_row *row)
{
    const char *why;

    return row->line.len && copy_is_good(row->name, row->line, row->version)
               ? identity_parse(row->line, &why)
               : NULL;
}

/* ---- change ---- */

/* How the errors of other operations read does not fit here. */
static const char *why_of(enum status status)
{
    switch (status) {
    case STATUS_DUPLICATE:
        return "another identity has this token, or this name of a certificate";
    case STATUS_WRONG_STATE:
        return "the identity is not of this version: somebody else has changed it; "
               "read it again";
    default:
        return NULL;
    }
}

static void on_changed(struct op *op)
{
    struct http_change *change = CONTAINER_OF(op, struct http_change, op);

    if (op->status == STATUS_OK)
        registry_note(change->registry, op);
    registry_change_fini(&change->prepared);
    change->why = why_of(op->status);
    change->on_done(change);
}

static void abandon(struct exchange *x)
{
    struct http_change *change = x->handler;

    if (!exchange_is_stopping(x))
        queue_abandon(exchange_queue(x), &change->op);
}

static void submit(struct http_change *change)
{
    change->x->on_cancel_wait = abandon;
    queue_submit(exchange_queue(change->x), &change->op);
}

/* A name that is too long is refused by registry_prepare(), as it is. */
static void keep_name(struct http_change *change)
{
    if (change->name.len > sizeof(change->room))
        return;
    if (change->name.len)
        memcpy(change->room, change->name.at, change->name.len);
    change->name.at = change->room;
}

void http_change_identity(struct exchange *x, struct registry *r, const struct http_change *ask)
{
    struct http_change *change = exchange_keep(x, sizeof(*change));
    struct buf why = BUF_INIT;

    *change = *ask;
    change->x = x;
    change->registry = r;
    change->prepared = (struct registry_change){.mark_count = 0};
    change->op = (struct op){.client = exchange_client(x), .on_done = on_changed};
    keep_name(change);
    change->op.status = registry_prepare(r, change->name, change->line, change->expected,
                                         &change->prepared, &change->op, &why);
    if (change->op.status == STATUS_OK) {
        submit(change);
    } else {
        registry_change_fini(&change->prepared);
        change->why = buf_text(&why);
        change->on_done(change);
    }
    buf_fini(&why);
}
