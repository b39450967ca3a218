#include "protocol/gmq/reply.h"

#include <stdio.h>

#include "protocol/json/write.h"

#define STATUS_RESERVED 3 /* the only one of gmq's states that a popped job can be in */

/* ---- results ---- */

static void open_result(struct buf *out, struct bytes id)
{
    buf_add_text(out, "{\"id\":");
    buf_add_bytes(out, id);
    buf_add_text(out, ",\"result\":");
}

static void close_result(struct buf *out)
{
    buf_add_text(out, ",\"error\":null}\n");
}

void gmq_reply_done(struct buf *out, struct bytes id, enum gmq_method method)
{
    open_result(out, id);
    buf_add_text(out, method == GMQ_PUSH ? "\"success\"" : "true");
    close_result(out);
}

/* `prefix` ends with the member's name and colon. */
static void add_number(struct buf *out, const char *prefix, int64_t value, bool strict)
{
    buf_add_text(out, prefix);
    if (strict)
        buf_add_char(out, '"');
    buf_add_number(out, value);
    if (strict)
        buf_add_char(out, '"');
}

/* Rounded up: a TTR of 500 ms must not look like 0, which means "need not be acknowledged". */
static int64_t seconds_of(int64_t ms)
{
    return (ms + 999) / 1000;
}

static int64_t visible_ttr_ms(int64_t ttr_ms, bool strict)
{
    return strict && ttr_ms > GMQ_STRICT_TTR_MS ? ttr_ms - GMQ_STRICT_TTR_MS : ttr_ms;
}

/* In the order of gmq, which sorts the names. */
void gmq_reply_job(struct buf *out, struct bytes id, struct bytes topic, const struct job *job,
                   bool strict)
{
    open_result(out, id);
    add_number(out, "{\"TTR\":", seconds_of(visible_ttr_ms(job->ttr_ms, strict)), strict);
    json_put_bytes(out, ",\"body\":", job->body, ",\"body_base64\":");
    add_number(out, ",\"consume_num\":", job->tries, strict);
    add_number(out, ",\"delay\":", seconds_of(job->delay_ms), strict);
    buf_add_text(out, ",\"id\":");
    json_add_text(out, job->id);
    add_number(out, ",\"status\":", STATUS_RESERVED, strict);
    buf_add_text(out, ",\"topic\":");
    json_add_text(out, topic);
    buf_add_char(out, '}');
    close_result(out);
}

/* ---- errors ---- */

#define PREFIX_MAX_BYTES 160 /* of our texts */
#define DETAIL_MAX_BYTES 200 /* of what the client wrote */

/* The text in three parts, any of them empty. */
static void add_failure(struct buf *out, struct bytes id, bool in_result, const char *before,
                        struct bytes detail, const char *after)
{
    struct buf text = BUF_INIT;

    detail.len = detail.len < DETAIL_MAX_BYTES ? detail.len : DETAIL_MAX_BYTES;
    buf_add_text(&text, before);
    buf_add_bytes(&text, detail);
    buf_add_text(&text, after);

    open_result(out, id);
    buf_add_text(out, in_result ? "" : "null,\"error\":");
    json_add_text(out, buf_bytes(&text));
    buf_add_text(out, in_result ? ",\"error\":null}\n" : "}\n");
    buf_fini(&text);
}

/* gmq's Push hands its errors out as results. */
static bool is_in_result(const struct gmq_call *call, bool strict)
{
    return strict && call->has_method && call->method == GMQ_PUSH;
}

void gmq_reply_error(struct buf *out, struct bytes id, const char *error)
{
    add_failure(out, id, false, error, BYTES(""), "");
}

void gmq_reply_refusal(struct buf *out, const struct gmq_call *call, bool strict)
{
    add_failure(out, call->id, is_in_result(call, strict), call->refusal, call->detail, "");
}

#define FORBIDDEN_TEXT "forbidden: the identity of this port may not do that (gmq.as)"

/* Errors for which gmq has words of its own, or ours need more. `after`: the job's id goes
 * between the two. */
static const struct phrase {
    enum gmq_method method;
    enum status status;
    const char *before;
    const char *after;
} phrases[] = {
    {GMQ_PUSH, STATUS_DUPLICATE, "jobKey:gmq:jobpool:", ",error:has exist"},
    {GMQ_PUSH, STATUS_TOO_LARGE, "too_large: job.body is too large (limits.body_bytes)", NULL},
    {GMQ_POP, STATUS_NOT_FOUND, "empty", NULL},
    {GMQ_POP, STATUS_CANCELLED, "empty", NULL},
    {GMQ_PUSH, STATUS_FORBIDDEN, FORBIDDEN_TEXT, NULL},
    {GMQ_POP, STATUS_FORBIDDEN, FORBIDDEN_TEXT, NULL},
    {GMQ_ACK, STATUS_FORBIDDEN, FORBIDDEN_TEXT, NULL},
    {GMQ_ACK, STATUS_NOT_OWNER, "TTR has expired and will be consumed again", NULL},
};

static const struct phrase *find_phrase(enum gmq_method method, enum status status)
{
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
        if (phrases[i].method == method && phrases[i].status == status)
            return &phrases[i];
    return NULL;
}

/* Clients know one word for all that may have happened, one for all limits, and one for both
 * quotas of a topic. */
static const char *wire_word(enum status status)
{
    if (status_is_unknown(status))
        return status_word(STATUS_UNKNOWN);
    if (status == STATUS_TOO_MANY_WAITERS || status == STATUS_TOO_MANY_POPS)
        return status_word(STATUS_TOO_MANY);
    if (status == STATUS_TOPIC_FULL_BYTES)
        return status_word(STATUS_TOPIC_FULL);
    return status_word(status);
}

void gmq_reply_status(struct buf *out, const struct gmq_call *call, enum status status,
                      bool strict)
{
    const struct phrase *phrase = find_phrase(call->method, status);
    bool in_result = is_in_result(call, strict);
    char text[PREFIX_MAX_BYTES];

    if (phrase && phrase->after) {
        add_failure(out, call->id, in_result, phrase->before, call->job_id, phrase->after);
        return;
    }
    if (!phrase)
        snprintf(text, sizeof(text), "%s: %s", wire_word(status), status_text(status));
    add_failure(out, call->id, in_result, phrase ? phrase->before : text, BYTES(""), "");
}
