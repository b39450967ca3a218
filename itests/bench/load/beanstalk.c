/* beanstalkd's text protocol, with the tube every connection begins with: its topics are not
 * used. A body begins with the job's number, because the server gives ids of its own. A job
 * is deleted by its consumer in any case; a TTR of 0 counts as 1. */
#include <inttypes.h>
#include <stdlib.h>

#include "itests/bench/load/die.h"
#include "itests/bench/load/protocol.h"
#include "itests/bench/load/supply.h"

#define NUMBER_BYTES 15 /* as many as the largest --first-id has */

static void ask_push(struct buf *out, const struct question *q)
{
    struct bytes x = supply_body();
    size_t digits = x.len < NUMBER_BYTES ? 0 : NUMBER_BYTES;

    buf_add_text(out, "put 1024 ");
    buf_add_number(out, q->delay_s);
    buf_add_char(out, ' ');
    buf_add_number(out, q->ttr_s);
    buf_add_char(out, ' ');
    buf_add_number(out, (int64_t)x.len);
    buf_add_text(out, "\r\n");
    if (digits)
        buf_printf(out, "%0*" PRId64, NUMBER_BYTES, q->number);
    buf_add(out, x.at, x.len - digits);
    buf_add_text(out, "\r\n");
}

static void ask(struct buf *out, const struct question *q)
{
    if (q->verb == VERB_PUSH)
        ask_push(out, q);
    else if (q->verb == VERB_POP)
        buf_printf(out, "reserve-with-timeout %" PRId64 "\r\n", q->wait_s);
    else
        buf_printf(out, "delete %.*s\r\n", BYTES_ARG(q->job.id));
}

/* RESERVED <id> <bytes>, the line's end, the body, the line's end. */
static size_t take_job(struct bytes in, size_t line_bytes, struct answer *a)
{
    struct bytes id = bytes_of(in.at + 9, line_bytes - 9);
    const char *blank = memchr(id.at, ' ', id.len);
    size_t bytes, whole;

    if (!blank)
        die("a strange reply: %.*s", BYTES_ARG(a->text));
    bytes = strtoul(blank + 1, NULL, 10);
    whole = line_bytes + bytes + 2;
    if (in.len < whole)
        return 0;
    a->job.id = bytes_of(id.at, (size_t)(blank - id.at));
    a->job.number = bytes_of(in.at + line_bytes, bytes);
    return whole;
}

static size_t take(struct bytes in, struct answer *a)
{
    const char *end = memchr(in.at, '\n', in.len);

    if (!end)
        return 0;
    *a = (struct answer){.text = bytes_of(in.at, (size_t)(end - in.at) + 1)};
    if (starts_with(a->text, BYTES("RESERVED ")))
        return take_job(in, a->text.len, a);
    if (starts_with(a->text, BYTES("TIMED_OUT")))
        a->kind = ANSWER_EMPTY;
    else if (!starts_with(a->text, BYTES("INSERTED ")) &&
             !starts_with(a->text, BYTES("DELETED")))
        a->kind = ANSWER_ERROR;
    return a->text.len;
}

const struct protocol protocol_beanstalk = {
    .name = "beanstalk",
    .usual_port = 11300,
    .is_in_order = true,
    .acks_always = true,
    .due_source = DUE_FROM_SENDING,
    .ask = ask,
    .take = take,
};
