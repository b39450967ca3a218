/* gmq's JSON-RPC: a line a request, a line a reply, matched by the id. See doc/gmq.md. */
#include <stdlib.h>

#include "itests/bench/load/die.h"
#include "itests/bench/load/protocol.h"
#include "itests/bench/load/supply.h"

static void ask_push(struct buf *out, const struct question *q)
{
    buf_add_text(out, "{\"method\":\"Service.Push\",\"params\":[{\"id\":\"");
    buf_add_number(out, q->number);
    buf_add_text(out, "\",\"topic\":\"");
    buf_add_bytes(out, supply_topic(q->topic));
    buf_add_text(out, "\",\"body\":\"");
    buf_add_bytes(out, supply_body());
    buf_add_text(out, "\",\"delay\":");
    buf_add_number(out, q->delay_s);
    buf_add_text(out, ",\"TTR\":");
    buf_add_number(out, q->ttr_s);
    buf_add_text(out, "}]");
}

static void ask_pop(struct buf *out, const struct question *q)
{
    buf_add_text(out, "{\"method\":\"Service.Pop\",\"params\":[[");
    for (unsigned i = 0; i < q->topics; i++) {
        buf_add_text(out, i ? ",\"" : "\"");
        buf_add_bytes(out, supply_topic(q->topic + i));
        buf_add_char(out, '"');
    }
    buf_add_text(out, "]]");
}

static void ask_ack(struct buf *out, const struct question *q)
{
    buf_add_text(out, "{\"method\":\"Service.Ack\",\"params\":[\"");
    buf_add_bytes(out, q->job.id);
    buf_add_text(out, "\"]");
}

static void ask(struct buf *out, const struct question *q)
{
    static void (*const asks[])(struct buf *, const struct question *) = {ask_push, ask_pop,
                                                                          ask_ack};

    asks[q->verb](out, q);
    buf_add_text(out, ",\"id\":");
    buf_add_number(out, q->tag);
    buf_add_text(out, "}\n");
}

/* {"id":7,"result":...,"error":...} and a line feed; the keys stand in this order. */
static size_t take(struct bytes in, struct answer *a)
{
    const char *end = memchr(in.at, '\n', in.len);
    struct bytes tag;

    if (!end)
        return 0;
    *a = (struct answer){.text = bytes_of(in.at, (size_t)(end - in.at))};
    tag = after(a->text, BYTES("{\"id\":"));
    if (tag.len == 0 || tag.at != in.at + 6)
        die("this is not gmq: %.*s", BYTES_ARG(a->text));
    a->tag = (unsigned)strtoul(tag.at, NULL, 10);
    if (ends_with(a->text, BYTES("\"error\":\"empty\"}")))
        a->kind = ANSWER_EMPTY;
    else if (!ends_with(a->text, BYTES("\"error\":null}")))
        a->kind = ANSWER_ERROR;
    else
        a->job.number = a->job.id = quoted_after(a->text, BYTES("\"id\":\""));
    return a->text.len + 1;
}

const struct protocol protocol_gmq = {
    .name = "gmq",
    .usual_port = 9503,
    .due_source = DUE_IS_STORED,
    .ask = ask,
    .take = take,
};
