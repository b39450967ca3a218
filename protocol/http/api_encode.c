#include "protocol/http/api_encode.h"

#include "protocol/json/text.h"

#define JOB_ROOM_BYTES 512 /* what a job takes beside its texts, generously */

void api_add_text(struct buf *out, const char *prefix, struct bytes text)
{
    buf_add_text(out, prefix);
    json_add_text(out, text);
}

void api_add_number(struct buf *out, const char *prefix, int64_t number)
{
    buf_add_text(out, prefix);
    buf_add_number(out, number);
}

void api_add_number_or_null(struct buf *out, const char *prefix, int64_t number)
{
    if (number >= 0) {
        api_add_number(out, prefix, number);
        return;
    }
    buf_add_text(out, prefix);
    buf_add_text(out, "null");
}

/* ---- what was done ---- */

void api_add_pushed(struct buf *out, const struct op *op)
{
    api_add_text(out, "{\"id\":", op->out.push.id);
    api_add_number(out, ",\"due_ms\":", op->out.push.due_ms);
    if (op->out.push.existed)
        buf_add_text(out, ",\"existed\":true");
    buf_add_char(out, '}');
}

void api_add_refusal(struct buf *out, enum http_error error, struct bytes message)
{
    buf_add_text(out, "{\"error\":");
    http_error_write(out, error, message, HTTP_ERROR_NO_COUNT);
    buf_add_char(out, '}');
}

void api_add_released(struct buf *out, const struct op *op)
{
    enum death death = op->out.change.death;

    api_add_number_or_null(out,
                           "{\"due_ms\":", death == DEATH_NONE ? op->out.change.due_ms : -1);
    api_add_number(out, ",\"tries\":", op->out.change.tries);
    if (death != DEATH_NONE)
        api_add_text(out, ",\"death\":", bytes_of_text(death_word(death)));
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

static void open_job(struct buf *out, struct bytes topic, const struct job *job)
{
    buf_reserve(out, JOB_ROOM_BYTES + topic.len + job->id.len + job->body.len);
    api_add_text(out, "{\"id\":", job->id);
    api_add_text(out, ",\"topic\":", topic);
}

static void add_times(struct buf *out, const struct job *job)
{
    api_add_number(out, ",\"due_ms\":", job->due_ms);
    api_add_number(out, ",\"delay_ms\":", job->delay_ms);
    api_add_number(out, ",\"ttr_ms\":", job->ttr_ms);
    api_add_number(out, ",\"tries\":", job->tries);
}

void api_add_backoff(struct buf *out, const struct backoff *backoff)
{
    static const char *const kinds[] = {[BACKOFF_NONE] = "{\"kind\":\"none\"",
                                        [BACKOFF_FIXED] = "{\"kind\":\"fixed\"",
                                        [BACKOFF_EXPONENTIAL] = "{\"kind\":\"exponential\""};

    buf_add_text(out, kinds[backoff->kind]);
    if (backoff->kind != BACKOFF_NONE) {
        api_add_number(out, ",\"base_ms\":", backoff->base_ms);
        api_add_number(out, ",\"cap_ms\":", backoff->cap_ms);
        api_add_number(out, ",\"jitter_percent\":", backoff->jitter_percent);
    }
    buf_add_char(out, '}');
}

static void add_rules(struct buf *out, const struct job_rules *rules)
{
    api_add_number(out, ",\"priority\":", rules->priority);
    api_add_number(out, ",\"max_tries\":", rules->max_tries);
    buf_add_text(out, ",\"backoff\":");
    api_add_backoff(out, &rules->backoff);
    if (rules->expires_ms)
        api_add_number(out, ",\"expires_ms\":", rules->expires_ms);
}

/* What only jobs of some states have. */
static void add_place(struct buf *out, const struct job_row *row)
{
    if (row->job.state == JOB_RESERVED)
        api_add_number(out, ",\"deadline_ms\":", row->place_ms);
    if (row->job.state != JOB_DEAD)
        return;
    api_add_number(out, ",\"died_ms\":", row->place_ms);
    api_add_text(out, ",\"death\":", bytes_of_text(death_word(row->job.death)));
}

static void add_facts(struct buf *out, const struct job_row *row)
{
    const struct job *job = &row->job;

    api_add_text(out, ",\"state\":", bytes_of_text(job_state_word(job->state)));
    add_times(out, job);
    add_rules(out, &job->rules);
    if (job->holder.len)
        api_add_text(out, ",\"holder\":", job->holder);
    add_place(out, row);
    buf_add_char(out, '}');
}

void api_add_job(struct buf *out, struct bytes topic, const struct job_row *row)
{
    open_job(out, topic, &row->job);
    add_body(out, row->job.body);
    add_facts(out, row);
}

void api_add_listed_job(struct buf *out, struct bytes topic, const struct job_row *row)
{
    open_job(out, topic, &row->job);
    api_add_number(out, ",\"body_bytes\":", row->body_bytes);
    add_facts(out, row);
}

void api_add_popped(struct buf *out, struct bytes topic, const struct job *jobs, unsigned count)
{
    if (count)
        api_add_text(out, "{\"topic\":", topic);
    else
        buf_add_text(out, "{\"topic\":null");
    buf_add_text(out, ",\"jobs\":[");
    for (unsigned i = 0; i < count; i++) {
        if (i)
            buf_add_char(out, ',');
        open_job(out, topic, &jobs[i]);
        add_body(out, jobs[i].body);
        api_add_number(out, ",\"lease\":\"", jobs[i].stamp);
        buf_add_char(out, '"');
        add_times(out, &jobs[i]);
        api_add_number(out, ",\"max_tries\":", jobs[i].rules.max_tries);
        buf_add_char(out, '}');
    }
    buf_add_text(out, "]}");
}
