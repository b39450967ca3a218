#include "protocol/gmq_web/codec.h"

#include <stddef.h>
#include <time.h>

#include "base/encoding.h"
#include "node/queue/queue.h"
#include "protocol/json/read.h"
#include "protocol/json/write.h"

/* ---- the job of a push ---- */

static const struct {
    const char *name;
    size_t at; /* of the field */
    enum json_kind kind;
    int64_t max_ms;
    const char *refusal;
} members[] = {
    {"id", offsetof(struct gmq_web_job, id), JSON_KIND_STRING, 0, "job.id must be a string"},
    {"topic", offsetof(struct gmq_web_job, topic), JSON_KIND_STRING, 0,
     "job.topic must be a string"},
    {"body", offsetof(struct gmq_web_job, body), JSON_KIND_STRING, 0,
     "job.body must be a string"},
    {"delay", offsetof(struct gmq_web_job, delay_ms), JSON_KIND_NUMBER, QUEUE_DELAY_MAX_MS,
     "job.delay must be whole seconds, a number from 0 to 315360000"},
    {"TTR", offsetof(struct gmq_web_job, ttr_ms), JSON_KIND_NUMBER, QUEUE_TTR_MAX_MS,
     "job.TTR must be whole seconds, a number from 0 to 604800"},
};

#define MEMBER_COUNT (sizeof(members) / sizeof(*members))

static bool read_seconds(struct bytes value, int64_t max_ms, int64_t *ms)
{
    int64_t seconds;

    if (!number_read(value, &seconds) || seconds < 0 || seconds > max_ms / 1000)
        return false;
    *ms = seconds * 1000;
    return true;
}

static bool read_member(struct gmq_web_job *job, size_t i, struct bytes value)
{
    void *field = (char *)job + members[i].at;

    if (json_kind_of(value) != members[i].kind)
        return false;
    if (members[i].kind == JSON_KIND_NUMBER)
        return read_seconds(value, members[i].max_ms, field);
    *(struct bytes *)field = json_unescape(value);
    return true;
}

bool gmq_web_job_read(struct bytes json, struct gmq_web_job *job, const char **why)
{
    const char *names[MEMBER_COUNT];
    struct bytes values[MEMBER_COUNT];

    for (size_t i = 0; i < MEMBER_COUNT; i++)
        names[i] = members[i].name;
    *job = (struct gmq_web_job){.delay_ms = 0};
    *why = "data is not JSON, or not UTF-8";
    if (json_check(json))
        return false;
    json = json_trim(json);
    *why = "data must be a job, an object";
    if (json_kind_of(json) != JSON_KIND_OBJECT)
        return false;
    json_pick(json, names, values, MEMBER_COUNT);
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        *why = members[i].refusal;
        if (values[i].len && !read_member(job, i, values[i]))
            return false;
    }
    *why = "job.id is empty";
    if (!job->id.len)
        return false;
    *why = "job.topic is empty";
    return job->topic.len > 0;
}

/* ---- replies of version 2 ---- */

void gmq_web_add_done(struct buf *out, const char *msg)
{
    buf_add_text(out, "{\"code\":0,\"data\":null");
    json_put_text(out, ",\"msg\":", bytes_of_text(msg));
    buf_add_char(out, '}');
}

void gmq_web_add_error(struct buf *out, struct bytes msg)
{
    buf_add_text(out, "{\"code\":1,\"data\":null");
    json_put_text(out, ",\"msg\":", msg);
    buf_add_char(out, '}');
}

/* Rounded up: a TTR of 500 ms must not look like 0, which means "need not be acknowledged". */
static int64_t seconds_of(int64_t ms)
{
    return (ms + 999) / 1000;
}

static void put_number_text(struct buf *out, const char *before, int64_t number)
{
    buf_printf(out, "%s\"%lld\"", before, (long long)number);
}

#define STATUS_RESERVED 3 /* the only one of gmq's states that a popped job can be in */

void gmq_web_add_popped(struct buf *out, struct bytes topic, const struct job *job)
{
    put_number_text(out, "{\"code\":0,\"data\":{\"TTR\":", seconds_of(job->ttr_ms));
    json_put_bytes(out, ",\"body\":", job->body, ",\"body_base64\":");
    put_number_text(out, ",\"consume_num\":", job->tries);
    put_number_text(out, ",\"delay\":", seconds_of(job->delay_ms));
    json_put_text(out, ",\"id\":", job->id);
    put_number_text(out, ",\"status\":", STATUS_RESERVED);
    json_put_text(out, ",\"topic\":", topic);
    buf_add_text(out, "},\"msg\":\"success\"}");
}

/* ---- the monitor's keys ---- */

const enum job_state gmq_web_states[GMQ_WEB_KINDS] = {
    [GMQ_WEB_READY] = JOB_READY,
    [GMQ_WEB_DELAYED] = JOB_DELAYED,
    [GMQ_WEB_RESERVED] = JOB_RESERVED,
};

static const struct bytes keys[GMQ_WEB_KINDS] = {
    [GMQ_WEB_READY] = {"gmq:readyqueue:", 15},
    [GMQ_WEB_DELAYED] = {"gmq:bucket:", 11},
    [GMQ_WEB_RESERVED] = {"gmq:ttrbucket:", 14},
};

int64_t gmq_web_count(enum gmq_web_kind kind, const struct topic_stats *stats)
{
    switch (kind) {
    case GMQ_WEB_READY:
        return stats->ready;
    case GMQ_WEB_DELAYED:
        return stats->delayed;
    default:
        return stats->reserved;
    }
}

void gmq_web_add_key(struct buf *out, enum gmq_web_kind kind, struct bytes topic)
{
    buf_add_bytes(out, keys[kind]);
    buf_add_bytes(out, topic);
}

bool gmq_web_key_read(struct bytes key, enum gmq_web_kind *kind, struct bytes *topic)
{
    for (int i = 0; i < GMQ_WEB_KINDS; i++) {
        size_t front = keys[i].len;

        if (key.len <= front || memcmp(key.at, keys[i].at, front) != 0)
            continue;
        *kind = (enum gmq_web_kind)i;
        *topic = bytes_of(key.at + front, key.len - front);
        return true;
    }
    return false;
}

/* ---- its lists ---- */

void gmq_web_open(struct buf *out)
{
    buf_add_text(out, "{\"code\":0,\"data\":[");
}

/* "2006-01-02 15:04:05", in the node's time zone, as gmq does. */
static void put_time(struct buf *out, const char *before, int64_t time_ms)
{
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm parts;
    char text[64] = "";

    if (localtime_r(&seconds, &parts))
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
    json_put_text(out, before, bytes_of_text(text));
}

/* The name as text of JSON: all bytes of a topic's name, and of a key, stand for themselves. */
static void put_key(struct buf *out, const char *before, enum gmq_web_kind kind,
                    struct bytes topic)
{
    buf_add_text(out, before);
    buf_add_char(out, '"');
    gmq_web_add_key(out, kind, topic);
    buf_add_char(out, '"');
}

/* A list of ready jobs has no next time. */
void gmq_web_add_stat(struct buf *out, unsigned number, enum gmq_web_kind kind,
                      struct bytes topic, int64_t job_count, int64_t next_ms)
{
    bool is_queue = kind == GMQ_WEB_READY;

    json_next(out);
    json_put_number(out, "{\"id\":", number);
    put_key(out, is_queue ? ",\"queue_name\":" : ",\"bucket_name\":", kind, topic);
    json_put_number(out, ",\"job_num\":", job_count);
    if (!is_queue)
        put_time(out, ",\"next_time\":", next_ms);
    buf_add_char(out, '}');
}

/* The monitor's page shows a job's state as HTML, and gets it so. */
static const char *status_of(enum job_state state)
{
    switch (state) {
    case JOB_DELAYED:
        return "<span class=\"layui-badge layui-bg-orange\">delay</span>";
    case JOB_READY:
        return "<span class=\"layui-badge layui-bg-red\">ready</span>";
    case JOB_RESERVED:
        return "<span class=\"layui-badge layui-bg-blue\">reserved</span>";
    default:
        return "<span class=\"layui-badge layui-bg-black\">delete</span>";
    }
}

void gmq_web_add_duration(struct buf *out, int64_t seconds)
{
    int64_t minutes = seconds / 60;

    if (minutes >= 60)
        buf_printf(out, "%lldh", (long long)(minutes / 60));
    if (minutes)
        buf_printf(out, "%lldm", (long long)(minutes % 60));
    buf_printf(out, "%llds", (long long)(seconds % 60));
}

static void put_job_key(struct buf *out, const char *before, struct bytes id)
{
    struct buf key = BUF_INIT;

    buf_add_text(&key, "gmq:jobpool:");
    buf_add_bytes(&key, id);
    json_put_text(out, before, buf_bytes(&key));
    buf_fini(&key);
}

void gmq_web_add_listed(struct buf *out, struct bytes topic, const struct job_row *row)
{
    const struct job *job = &row->job;

    json_next(out);
    json_put_text(out, "{\"id\":", job->id);
    put_job_key(out, ",\"job_key\":", job->id);
    put_time(out, ",\"runtime\":", row->place_ms);
    put_number_text(out, ",\"ttr\":", seconds_of(job->ttr_ms));
    buf_add_text(out, ",\"delay_time\":\"");
    gmq_web_add_duration(out, seconds_of(job->delay_ms));
    json_put_text(out, "\",\"topic\":", topic);
    json_put_text(out, ",\"status\":", bytes_of_text(status_of(job->state)));
    buf_add_char(out, '}');
}

void gmq_web_close(struct buf *out, unsigned row_count, const char *msg)
{
    if (row_count == 0) { /* in place of the '[' */
        out->len--;
        buf_add_text(out, "null");
    } else {
        buf_add_char(out, ']');
    }
    json_put_text(out, ",\"msg\":", bytes_of_text(msg));
    buf_add_char(out, '}');
}
