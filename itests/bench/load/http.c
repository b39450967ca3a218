/* The native HTTP API, doc/http.md. Replies come in the order of the requests. */
#include <stdlib.h>

#include "itests/bench/load/die.h"
#include "itests/bench/load/protocol.h"
#include "itests/bench/load/supply.h"

#define HEAD_END  BYTES("\r\n\r\n")
#define STATUS_AT 9 /* in "HTTP/1.1 200" */

static struct buf body = BUF_INIT;

static void add_body(struct buf *out)
{
    buf_add_text(out, " HTTP/1.1\r\nHost: dueq\r\nContent-Length: ");
    buf_add_number(out, (int64_t)body.len);
    buf_add_text(out, "\r\n\r\n");
    buf_add_bytes(out, buf_bytes(&body));
}

static void ask_push(struct buf *out, const struct question *q)
{
    buf_add_text(&body, "{\"id\":\"");
    buf_add_number(&body, q->number);
    buf_add_text(&body, "\",\"body\":\"");
    buf_add_bytes(&body, supply_body());
    buf_add_text(&body, q->at_ms ? "\",\"at_ms\":" : "\",\"delay_ms\":");
    buf_add_number(&body, q->at_ms ? q->at_ms : q->delay_s * 1000);
    buf_add_text(&body, ",\"ttr_ms\":");
    buf_add_number(&body, q->ttr_s * 1000);
    if (q->priority) {
        buf_add_text(&body, ",\"priority\":");
        buf_add_number(&body, q->priority);
    }
    buf_add_char(&body, '}');
    buf_add_text(out, "POST /v1/topics/");
    buf_add_bytes(out, supply_topic(q->topic));
    buf_add_text(out, "/jobs");
}

static void ask_pop(struct buf *out, const struct question *q)
{
    buf_add_text(out, "POST /v1/topics/");
    for (unsigned i = 0; i < q->topics; i++) {
        buf_add_text(out, i ? "," : "");
        buf_add_bytes(out, supply_topic(q->topic + i));
    }
    buf_add_text(out, "/pop?wait_ms=");
    buf_add_number(out, q->wait_s * 1000);
}

static void ask_ack(struct buf *out, const struct question *q)
{
    buf_add_text(&body, "{\"lease\":\"");
    buf_add_bytes(&body, q->job.lease);
    buf_add_text(&body, "\"}");
    buf_add_text(out, "POST /v1/topics/");
    buf_add_bytes(out, q->job.topic);
    buf_add_text(out, "/jobs/");
    buf_add_bytes(out, q->job.id);
    buf_add_text(out, "/ack");
}

static void ask(struct buf *out, const struct question *q)
{
    static void (*const asks[])(struct buf *, const struct question *) = {ask_push, ask_pop,
                                                                          ask_ack};

    buf_clear(&body);
    asks[q->verb](out, q);
    add_body(out);
}

static size_t content_length(struct bytes head)
{
    struct bytes digits = after(head, BYTES("\r\nContent-Length: "));

    /* The head ends with CR LF, so the number has an end. */
    return digits.len ? strtoul(digits.at, NULL, 10) : 0;
}

static struct handed job_of(struct bytes text)
{
    struct handed job = {.id = quoted_after(text, BYTES("\"id\":\"")),
                         .topic = quoted_after(text, BYTES("\"topic\":\"")),
                         .lease = quoted_after(text, BYTES("\"lease\":\""))};

    job.number = job.id;
    return job;
}

static size_t take(struct bytes in, struct answer *a)
{
    struct bytes rest = after(in, HEAD_END), head = bytes_of(in.at, in.len - rest.len);
    size_t length;

    if (!ends_with(head, HEAD_END))
        return 0;
    if (!starts_with(head, BYTES("HTTP/1.1 ")))
        die("this is not HTTP: %.*s", BYTES_ARG(head));
    length = content_length(head);
    if (length > rest.len)
        return 0;
    *a = (struct answer){.text = bytes_of(in.at, head.len + length)};
    rest.len = length;
    if (in.at[STATUS_AT] != '2')
        a->kind = ANSWER_ERROR;
    else if (ends_with(rest, BYTES("\"jobs\":[]}")))
        a->kind = ANSWER_EMPTY;
    else
        a->job = job_of(rest);
    return a->text.len;
}

const struct protocol protocol_http = {
    .name = "http",
    .usual_port = 8000,
    .is_in_order = true,
    .has_priorities = true,
    .due_source = DUE_IS_SAID,
    .ask = ask,
    .take = take,
};
