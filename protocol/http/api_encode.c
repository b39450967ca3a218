#include "protocol/http/api_encode.h"

#include "protocol/json_text.h"

#define JOB_ROOM_BYTES 256 /* what a job takes beside its texts, generously */

/* `prefix` is what stands before the value, the member's name included. */
static void add_text(struct buf *out, const char *prefix, struct bytes text)
{
    buf_add_text(out, prefix);
    json_add_text(out, text);
}

static void add_number(struct buf *out, const char *prefix, int64_t number)
{
    buf_add_text(out, prefix);
    buf_add_number(out, number);
}

/* Below 0: there is none. */
static void add_number_or_null(struct buf *out, const char *prefix, int64_t number)
{
    if (number >= 0) {
        add_number(out, prefix, number);
        return;
    }
    buf_add_text(out, prefix);
    buf_add_text(out, "null");
}

void api_add_pushed(struct buf *out, struct bytes id, int64_t due_ms)
{
    add_text(out, "{\"id\":", id);
    add_number(out, ",\"due_ms\":", due_ms);
    buf_add_char(out, '}');
}

void api_add_refusal(struct buf *out, enum http_error error, struct bytes message)
{
    buf_add_text(out, "{\"error\":");
    http_error_write(out, error, message);
    buf_add_char(out, '}');
}

/* ---- jobs ---- */

static void add_body(struct buf *out, struct bytes body)
{
    size_t before = out->len;

    buf_add_text(out, ",\"body\":");
    if (json_add_text(out, body))
        return;
    out->len = before;
    buf_add_text(out, ",\"body_base64\":");
    json_add_base64(out, body);
}

/* What stands before the state or the lease, and what stands behind it. */
static void open_job(struct buf *out, struct bytes topic, const struct job *job)
{
    buf_reserve(out, JOB_ROOM_BYTES + topic.len + job->id.len + job->body.len);
    add_text(out, "{\"id\":", job->id);
    add_text(out, ",\"topic\":", topic);
    add_body(out, job->body);
}

static void close_job(struct buf *out, const struct job *job)
{
    add_number(out, ",\"due_ms\":", job->due_ms);
    add_number(out, ",\"delay_ms\":", job->delay_ms);
    add_number(out, ",\"ttr_ms\":", job->ttr_ms);
    add_number(out, ",\"tries\":", job->tries);
    buf_add_char(out, '}');
}

void api_add_job(struct buf *out, struct bytes topic, const struct job *job)
{
    open_job(out, topic, job);
    add_text(out, ",\"state\":", bytes_of_text(job_state_word(job->state)));
    close_job(out, job);
}

void api_add_popped(struct buf *out, struct bytes topic, const struct job *jobs, unsigned count)
{
    if (count)
        add_text(out, "{\"topic\":", topic);
    else
        buf_add_text(out, "{\"topic\":null");
    buf_add_text(out, ",\"jobs\":[");
    for (unsigned i = 0; i < count; i++) {
        if (i)
            buf_add_char(out, ',');
        open_job(out, topic, &jobs[i]);
        add_number(out, ",\"lease\":\"", jobs[i].stamp);
        buf_add_char(out, '"');
        close_job(out, &jobs[i]);
    }
    buf_add_text(out, "]}");
}

/* ---- topics ---- */

void api_add_topic(struct buf *out, struct bytes topic, const struct topic_stats *stats)
{
    add_text(out, "{\"topic\":", topic);
    add_number(out, ",\"delayed\":", stats->delayed);
    add_number(out, ",\"ready\":", stats->ready);
    add_number(out, ",\"reserved\":", stats->reserved);
    add_number(out, ",\"dead\":", stats->dead);
    add_number_or_null(out, ",\"oldest_ready_age_ms\":", stats->oldest_ready_ms);
    add_number_or_null(out, ",\"next_due_in_ms\":", stats->next_due_ms);
    buf_add_char(out, '}');
}

/* ---- hand-overs ---- */

/* Its tries count this one, which has happened. */
static void add_handover(struct buf *out, const struct handover *h)
{
    add_number(out, "{\"seq\":", h->seq);
    add_number(out, ",\"at_ms\":", h->at_ms);
    add_text(out, ",\"topic\":", h->topic);
    add_text(out, ",\"id\":", h->id);
    add_number(out, ",\"tries\":", h->tries < JOB_TRIES_MAX ? h->tries + 1 : JOB_TRIES_MAX);
    add_number_or_null(out, ",\"late_ms\":", h->late_ms);
    add_text(out, ",\"client\":", h->client);
    buf_add_char(out, '}');
}

void api_add_handovers(struct buf *out, const struct follow *follow)
{
    buf_add_text(out, "{\"handovers\":[");
    for (unsigned i = 0; i < follow->count; i++) {
        if (i)
            buf_add_char(out, ',');
        add_handover(out, &follow->items[i]);
    }
    add_number(out, "],\"next\":", follow->next);
    add_number(out, ",\"missed\":", (int64_t)follow->missed);
    buf_add_char(out, '}');
}
