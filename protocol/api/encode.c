#include "protocol/api/encode.h"

#include <inttypes.h>

#include "protocol/json/write.h"

void api_add_error(struct buf *out, enum http_error error, struct bytes message, int64_t count)
{
    json_put_text(out, "{\"error\":{\"code\":", bytes_of_text(http_error_row(error)->word));
    json_put_text(out, ",\"message\":", message);
    if (count >= 0)
        json_put_number(out, ",\"count\":", count);
    buf_add_text(out, "}}");
}

#define JOB_ROOM_BYTES 512 /* what a job takes beside its texts, generously */

/* ---- what was done ---- */

void api_add_pushed(struct buf *out, const struct op *op)
{
    json_put_text(out, "{\"id\":", op->out.push.id);
    json_put_number(out, ",\"due_ms\":", op->out.push.due_ms);
    if (op->out.push.existed)
        buf_add_text(out, ",\"existed\":true");
    buf_add_char(out, '}');
}

void api_add_released(struct buf *out, const struct op *op)
{
    enum death death = op->out.change.death;

    json_put_number_or_null(out,
                            "{\"due_ms\":", death == DEATH_NONE ? op->out.change.due_ms : -1);
    json_put_number(out, ",\"tries\":", op->out.change.tries);
    if (death != DEATH_NONE)
        json_put_text(out, ",\"death\":", bytes_of_text(death_word(death)));
    buf_add_char(out, '}');
}

/* ---- jobs ---- */

/* What is no text is named in another way: "body" and "body_base64". */
static void add_bytes(struct buf *out, const char *name, struct bytes bytes)
{
    size_t before = out->len;

    buf_printf(out, "\"%s\":", name);
    if (json_add_text(out, bytes))
        return;
    out->len = before;
    buf_printf(out, "\"%s_base64\":", name);
    json_add_base64(out, bytes);
}

static void add_body(struct buf *out, struct bytes body)
{
    buf_add_char(out, ',');
    add_bytes(out, "body", body);
}

static void open_job(struct buf *out, struct bytes topic, const struct job *job)
{
    buf_reserve(out, JOB_ROOM_BYTES + topic.len + job->id.len + job->body.len +
                         job->extra.attributes.len);
    json_put_text(out, "{\"id\":", job->id);
    json_put_text(out, ",\"topic\":", topic);
}

static void add_times(struct buf *out, const struct job *job)
{
    json_put_number(out, ",\"due_ms\":", job->due_ms);
    json_put_number(out, ",\"delay_ms\":", job->delay_ms);
    json_put_number(out, ",\"ttr_ms\":", job->ttr_ms);
    json_put_number(out, ",\"tries\":", job->tries);
}

void api_add_backoff(struct buf *out, const struct backoff *backoff)
{
    static const char *const kinds[] = {[BACKOFF_NONE] = "{\"kind\":\"none\"",
                                        [BACKOFF_FIXED] = "{\"kind\":\"fixed\"",
                                        [BACKOFF_EXPONENTIAL] = "{\"kind\":\"exponential\""};

    buf_add_text(out, kinds[backoff->kind]);
    if (backoff->kind != BACKOFF_NONE) {
        json_put_number(out, ",\"base_ms\":", backoff->base_ms);
        json_put_number(out, ",\"cap_ms\":", backoff->cap_ms);
        json_put_number(out, ",\"jitter_percent\":", backoff->jitter_percent);
    }
    buf_add_char(out, '}');
}

static void add_rules(struct buf *out, const struct job_rules *rules)
{
    json_put_number(out, ",\"priority\":", rules->priority);
    json_put_number(out, ",\"max_tries\":", rules->max_tries);
    buf_add_text(out, ",\"backoff\":");
    api_add_backoff(out, &rules->backoff);
    if (rules->expires_ms)
        json_put_number(out, ",\"expires_ms\":", rules->expires_ms);
}

/* Members of jobs in some states only. */
static void add_place(struct buf *out, const struct job_row *row)
{
    if (row->job.state == JOB_RESERVED)
        json_put_number(out, ",\"deadline_ms\":", row->place_ms);
    if (row->job.state != JOB_DEAD)
        return;
    json_put_number(out, ",\"died_ms\":", row->place_ms);
    json_put_text(out, ",\"death\":", bytes_of_text(death_word(row->job.death)));
}

static void add_attributes(struct buf *out, struct bytes packed)
{
    const char *before = ",\"attributes\":[{";
    struct attribute attribute;

    if (packed.len == 0)
        return;
    while (attributes_next(&packed, &attribute)) {
        buf_add_text(out, before);
        add_bytes(out, "name", attribute.name);
        buf_add_char(out, ',');
        add_bytes(out, "value", attribute.value);
        buf_add_char(out, '}');
        before = ",{";
    }
    buf_add_text(out, before[1] == '{' ? "]" : "");
}

/* Of jobs that a dialect has pushed. */
static void add_extra(struct buf *out, const struct job_extra *extra)
{
    if (!extra->is_there)
        return;
    json_put_number(out, ",\"created_ms\":", extra->created_ms);
    json_put_number(out, ",\"counts\":{\"reserves\":", extra->reserves);
    json_put_number(out, ",\"timeouts\":", extra->timeouts);
    json_put_number(out, ",\"releases\":", extra->releases);
    json_put_number(out, ",\"buries\":", extra->buries);
    json_put_number(out, ",\"kicks\":", extra->kicks);
    buf_add_char(out, '}');
    add_attributes(out, extra->attributes);
}

static void add_facts(struct buf *out, const struct job_row *row)
{
    const struct job *job = &row->job;

    json_put_text(out, ",\"state\":", bytes_of_text(job_state_word(job->state)));
    add_times(out, job);
    add_rules(out, &job->rules);
    if (job->holder.len)
        json_put_text(out, ",\"holder\":", job->holder);
    add_place(out, row);
    add_extra(out, &job->extra);
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
    json_put_number(out, ",\"body_bytes\":", row->body_bytes);
    add_facts(out, row);
}

/* A number that counts up, and what nobody can guess; decode.c reads it. */
static void add_lease(struct buf *out, int64_t stamp, const uint64_t *check)
{
    json_put_number(out, ",\"lease\":\"", stamp);
    if (check)
        buf_printf(out, "-%016" PRIx64, *check);
    buf_add_char(out, '"');
}

void api_add_popped(struct buf *out, struct bytes topic, const struct job *jobs, unsigned count,
                    const uint64_t *checks)
{
    if (count)
        json_put_text(out, "{\"topic\":", topic);
    else
        buf_add_text(out, "{\"topic\":null");
    buf_add_text(out, ",\"jobs\":[");
    for (unsigned i = 0; i < count; i++) {
        json_next(out);
        open_job(out, topic, &jobs[i]);
        add_body(out, jobs[i].body);
        add_lease(out, jobs[i].stamp, checks ? &checks[i] : NULL);
        add_times(out, &jobs[i]);
        json_put_number(out, ",\"max_tries\":", jobs[i].rules.max_tries);
        buf_add_char(out, '}');
    }
    buf_add_text(out, "]}");
}

/* Replies about topics, and about what happened. */

/* ---- counts ---- */

static void add_counts(struct buf *out, struct bytes topic, const struct topic_stats *stats)
{
    json_put_text(out, "{\"topic\":", topic);
    json_put_number(out, ",\"delayed\":", stats->delayed);
    json_put_number(out, ",\"ready\":", stats->ready);
    json_put_number(out, ",\"reserved\":", stats->reserved);
    json_put_number(out, ",\"dead\":", stats->dead);
    json_put_number_or_null(out, ",\"oldest_ready_age_ms\":", stats->oldest_ready_ms);
    json_put_number_or_null(out, ",\"next_due_in_ms\":", stats->next_due_ms);
}

void api_add_topic(struct buf *out, struct bytes topic, const struct topic_stats *stats)
{
    add_counts(out, topic, stats);
    buf_add_char(out, '}');
}

/* ---- owners ---- */

static void add_owner(struct buf *out, const struct topic_lock *lock)
{
    if (!lock->node.len) {
        buf_add_text(out, ",\"owner\":null");
        return;
    }
    json_put_text(out, ",\"owner\":{\"node\":", lock->node);
    json_put_number(out, ",\"token\":", lock->token);
    json_put_number(out, ",\"left_ms\":", lock->left_ms);
    json_put_number(out, ",\"view\":", (int64_t)lock->view);
    buf_add_char(out, '}');
}

void api_add_owned_topic(struct buf *out, unsigned bucket, const struct topic_count *row,
                         struct bytes preferred)
{
    add_counts(out, row->topic, &row->stats);
    json_put_number(out, ",\"bucket\":", bucket);
    add_owner(out, &row->lock);
    if (preferred.len)
        json_put_text(out, ",\"preferred\":", preferred);
    else
        buf_add_text(out, ",\"preferred\":null");
    buf_add_char(out, '}');
}

/* ---- pauses ---- */

static void add_pause(struct buf *out, const char *before, int64_t paused_until_ms)
{
    bool has_end = paused_until_ms && paused_until_ms != SETTINGS_FOREVER;

    buf_add_text(out, before);
    json_put_bool(out, "\"paused\":", paused_until_ms != 0);
    json_put_number_or_null(out, ",\"paused_until_ms\":", has_end ? paused_until_ms : -1);
    buf_add_char(out, '}');
}

void api_add_pause(struct buf *out, int64_t paused_until_ms)
{
    add_pause(out, "{", paused_until_ms);
}

void api_add_topic_page(struct buf *out, struct bytes topic, const struct topic_stats *stats,
                        int64_t paused_until_ms)
{
    add_counts(out, topic, stats);
    add_pause(out, ",", paused_until_ms);
}

/* ---- settings ---- */

static void add_setting(struct buf *out, enum setting setting, const struct topic_settings *s)
{
    enum setting_kind kind = setting_kind(setting);

    buf_printf(out, "\"%s\":", setting_word(setting));
    if (kind == SETTING_BACKOFFS)
        api_add_backoff(out, &s->backoff);
    else if (kind == SETTING_SWITCH)
        json_put_bool(out, "", setting_number(s, setting));
    else
        buf_add_number(out, setting_number(s, setting));
}

static void add_those_set(struct buf *out, const char *prefix, const struct topic_settings *s)
{
    buf_add_text(out, prefix);
    buf_add_char(out, '{');
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        if (!(s->set & 1u << i))
            continue;
        json_next(out);
        add_setting(out, (enum setting)i, s);
    }
    buf_add_char(out, '}');
}

static void add_own(struct buf *out, const struct settings_row *own)
{
    json_put_text(out, "{\"topic\":", own->topic);
    add_those_set(out, ",\"own\":", &own->settings);
}

void api_add_own_settings(struct buf *out, const struct settings_row *own,
                          int64_t paused_until_ms)
{
    add_own(out, own);
    add_pause(out, ",", paused_until_ms);
}

void api_add_settings(struct buf *out, const struct settings_row *own,
                      const struct topic_settings *configured,
                      const struct topic_settings *effective, int64_t paused_until_ms)
{
    add_own(out, own);
    add_those_set(out, ",\"configured\":", configured);
    add_those_set(out, ",\"effective\":", effective);
    add_pause(out, ",", paused_until_ms);
}

/* ---- history ---- */

static void add_line(struct buf *out, const struct history_item *line)
{
    json_put_text(out, "{\"event\":", bytes_of_text(event_word(line->event)));
    json_put_number(out, ",\"time_ms\":", line->time_ms);
    if (line->at_ms)
        json_put_number(out, ",\"at_ms\":", line->at_ms);
    if (line->tries)
        json_put_number(out, ",\"tries\":", line->tries);
    if (line->death != DEATH_NONE)
        json_put_text(out, ",\"death\":", bytes_of_text(death_word(line->death)));
    if (line->node.len)
        json_put_text(out, ",\"node\":", line->node);
    if (line->client.len)
        json_put_text(out, ",\"client\":", line->client);
    buf_add_char(out, '}');
}

void api_add_history(struct buf *out, const struct trace *trace)
{
    json_put_bool(out, "{\"is_on\":", trace->is_on);
    buf_add_text(out, ",\"history\":[");
    for (unsigned i = 0; i < trace->count; i++) {
        json_next(out);
        add_line(out, &trace->items[i]);
    }
    buf_add_text(out, "]}");
}

/* ---- deliveries ---- */

/* The tries include this delivery, which has happened. */
static void add_delivery(struct buf *out, const struct feed_item *item)
{
    json_put_number(out, "{\"seq\":", item->seq);
    json_put_number(out, ",\"at_ms\":", item->at_ms);
    json_put_text(out, ",\"topic\":", item->topic);
    json_put_text(out, ",\"id\":", item->id);
    json_put_number(
        out, ",\"tries\":", item->tries < JOB_TRIES_MAX ? item->tries + 1 : JOB_TRIES_MAX);
    json_put_number_or_null(out, ",\"late_ms\":", item->late_ms);
    json_put_text(out, ",\"client\":", item->client);
    buf_add_char(out, '}');
}

void api_add_deliveries(struct buf *out, const struct follow *follow)
{
    buf_add_text(out, "{\"deliveries\":[");
    for (unsigned i = 0; i < follow->count; i++) {
        json_next(out);
        add_delivery(out, &follow->items[i]);
    }
    json_put_number(out, "],\"next\":", follow->next);
    json_put_number(out, ",\"missed\":", (int64_t)follow->missed);
    buf_add_char(out, '}');
}
