#include "protocol/mykit/codec.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/encoding.h"
#include "node/queue/queue.h"
#include "protocol/json/read.h"
#include "protocol/json/write.h"

/* ---- values ---- */

#define DIGITS_MAX 40 /* a longer number is none that a long of Java holds */

/* A fraction is cut off, as Jackson does. */
static bool read_decimal(struct bytes text, int64_t *number)
{
    char terminated[DIGITS_MAX + 1];
    double value;

    if (text.len == 0 || text.len > DIGITS_MAX)
        return false;
    memcpy(terminated, text.at, text.len);
    terminated[text.len] = '\0';
    value = strtod(terminated, NULL);
    if (!(value > -9.2e18 && value < 9.2e18))
        return false;
    *number = (int64_t)value;
    return true;
}

static bool read_number(struct bytes value, int64_t *number)
{
    struct bytes text;

    switch (json_kind_of(value)) {
    case JSON_KIND_NUMBER:
        return number_read(value, number) || read_decimal(value, number);
    case JSON_KIND_STRING:
        text = json_trim(json_unescape(value));
        return text.len == 0 || number_read(text, number);
    default:
        return false;
    }
}

static bool read_text(struct bytes value, struct bytes *text)
{
    switch (json_kind_of(value)) {
    case JSON_KIND_STRING:
        *text = json_unescape(value);
        return true;
    case JSON_KIND_NUMBER:
    case JSON_KIND_BOOL:
        *text = value;
        return true;
    default:
        return false;
    }
}

/* ---- the job of a push ---- */

enum member {
    M_TOPIC,
    M_SUBTOPIC,
    M_ID,
    M_BIZ_KEY,
    M_BODY,
    M_DELAY,
    M_TTL,
    M_CREATE_TIME,
    M_STATUS,
    M_COUNT
};

#define TEXT(member, word, field_) \
    [member] = {word, offsetof(struct mykit_job, field_), true, word " must be a text"}
#define NUMBER(member, word, field_) \
    [member] = {word, offsetof(struct mykit_job, field_), false, word " must be a whole number"}

static const struct {
    const char *name;
    size_t at; /* of the field */
    bool is_text;
    const char *refusal;
} members[M_COUNT] = {
    TEXT(M_TOPIC, "topic", topic),
    TEXT(M_SUBTOPIC, "subtopic", subtopic),
    TEXT(M_ID, "id", id),
    TEXT(M_BIZ_KEY, "bizKey", biz_key),
    TEXT(M_BODY, "body", body),
    NUMBER(M_DELAY, "delay", delay_ms),
    NUMBER(M_TTL, "ttl", ttl),
    NUMBER(M_CREATE_TIME, "createTime", create_ms),
    NUMBER(M_STATUS, "status", status),
};

/* Of two equal members the last one counts: the values are read when all are found. */
static void find_members(struct bytes object, struct bytes values[M_COUNT])
{
    struct json_walk walk = json_walk_into(object);
    struct bytes name, value;

    while (json_walk_member(&walk, &name, &value)) {
        name = json_unescape(name);
        for (unsigned i = 0; i < M_COUNT; i++)
            if (bytes_equal(name, bytes_of_text(members[i].name)))
                values[i] = value;
    }
}

static bool read_member(struct mykit_job *job, unsigned i, struct bytes value)
{
    void *field = (char *)job + members[i].at;

    return members[i].is_text ? read_text(value, field) : read_number(value, field);
}

bool mykit_job_read(struct bytes body, struct mykit_job *job, const char **why)
{
    struct bytes values[M_COUNT] = {{NULL, 0}};

    *job = (struct mykit_job){.delay_ms = 0};
    *why = "the body is not JSON, or not UTF-8";
    if (json_check(body))
        return false;
    body = json_trim(body);
    *why = "the body must be a job, an object";
    if (json_kind_of(body) != JSON_KIND_OBJECT)
        return false;
    find_members(body, values);
    for (unsigned i = 0; i < M_COUNT; i++) {
        *why = members[i].refusal;
        if (json_kind_of(values[i]) > JSON_KIND_NULL && !read_member(job, i, values[i]))
            return false;
    }
    job->has_create = json_kind_of(values[M_CREATE_TIME]) > JSON_KIND_NULL;
    return true;
}

/* So far from both ends of an int64_t that two of them add up. */
static int64_t clamp(int64_t ms)
{
    return ms < -QUEUE_AT_MAX_MS ? -QUEUE_AT_MAX_MS : ms;
}

bool mykit_job_due(const struct mykit_job *job, int64_t *at_ms, int64_t *delay_ms)
{
    if (job->delay_ms > QUEUE_AT_MAX_MS || job->create_ms > QUEUE_AT_MAX_MS)
        return false;
    *at_ms = 0;
    *delay_ms = job->delay_ms > 0 ? job->delay_ms : 0;
    if (job->has_create) {
        *at_ms = clamp(job->create_ms) + clamp(job->delay_ms);
        *at_ms = *at_ms > 0 ? *at_ms : 1;
        *delay_ms = 0;
    }
    return *at_ms <= QUEUE_AT_MAX_MS && *delay_ms <= QUEUE_DELAY_MAX_MS;
}

/* ---- what travels with it ---- */

/* The words of attributes, which consumers of other protocols see. */
#define SUBTOPIC    "subtopic"
#define BIZ_KEY     "bizKey"
#define TTL         "ttl"
#define DELAY       "delay"
#define CREATE_TIME "createTime"

static bool pack_text(struct attributes *to, const char *name, struct bytes text)
{
    return text.len == 0 || attributes_add(to, bytes_of_text(name), text);
}

static bool pack_number(struct attributes *to, const char *name, int64_t number)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%lld", (long long)number);

    return attributes_add(to, bytes_of_text(name), bytes_of(text, (size_t)len));
}

/* The store itself keeps the delay of a job without createTime. */
bool mykit_job_pack(const struct mykit_job *job, struct attributes *to)
{
    *to = (struct attributes){.count = 0};
    return pack_text(to, SUBTOPIC, job->subtopic) && pack_text(to, BIZ_KEY, job->biz_key) &&
           (!job->ttl || pack_number(to, TTL, job->ttl)) &&
           (!job->has_create || (pack_number(to, DELAY, job->delay_ms) &&
                                 pack_number(to, CREATE_TIME, job->create_ms)));
}

/* ---- an id ---- */

static bool may_be_in_id(struct bytes part, size_t room)
{
    return part.len && part.len <= room && job_id_is_valid(part);
}

void mykit_id_add(struct buf *out, const struct mykit_job *job, struct bytes address,
                  uint64_t number)
{
    struct buf tail = BUF_INIT;
    struct bytes topic = job->topic;
    size_t room;

    buf_add_char(&tail, ':');
    if (address.len && address.len <= NAME_MAX_BYTES / 2) {
        buf_add_bytes(&tail, address);
        buf_add_char(&tail, ':');
    }
    buf_printf(&tail, "%llu", (unsigned long long)number);
    room = NAME_MAX_BYTES - tail.len;
    topic.len = topic.len < room ? topic.len : room;
    buf_add_bytes(out, topic);
    if (room > topic.len && may_be_in_id(job->biz_key, room - topic.len - 1)) {
        buf_add_char(out, ':');
        buf_add_bytes(out, job->biz_key);
    }
    buf_add_bytes(out, buf_bytes(&tail));
    buf_fini(&tail);
}

/* ---- replies ---- */

static void open_envelope(struct buf *out, bool is_success)
{
    buf_add_text(out,
                 is_success ? "{\"success\":true,\"data\":" : "{\"success\":false,\"data\":");
}

/* `message` is NULL: none. */
static void close_envelope(struct buf *out, bool is_success, const struct bytes *message)
{
    buf_add_text(out, is_success ? ",\"code\":200" : ",\"code\":500");
    buf_add_text(out, ",\"includes\":null,\"excludes\":null,\"onlyData\":false,"
                      "\"callback\":null,\"message\":");
    if (message)
        json_add_text(out, *message);
    else
        buf_add_text(out, "null");
    buf_add_char(out, '}');
}

void mykit_add_ok(struct buf *out)
{
    open_envelope(out, true);
    buf_add_text(out, "null");
    close_envelope(out, true, NULL);
}

void mykit_add_text(struct buf *out, struct bytes data)
{
    open_envelope(out, true);
    json_add_text(out, data);
    close_envelope(out, true, NULL);
}

void mykit_add_error(struct buf *out, struct bytes message)
{
    open_envelope(out, false);
    buf_add_text(out, "null");
    close_envelope(out, false, &message);
}

/* ---- a job that was popped ---- */

#define STATUS_READY 2 /* of its states, that of a job which a consumer may have */

static void add_text_attribute(struct buf *out, const char *before, const struct job *job,
                               const char *name)
{
    struct bytes text;

    buf_add_text(out, before);
    if (attributes_find(job->extra.attributes, bytes_of_text(name), &text))
        json_add_text(out, text);
    else
        buf_add_text(out, "null");
}

static void add_number_attribute(struct buf *out, const char *before, const struct job *job,
                                 const char *name, int64_t fallback)
{
    struct bytes text;
    int64_t number;

    if (!attributes_find(job->extra.attributes, bytes_of_text(name), &text) ||
        !number_read(text, &number))
        number = fallback;
    json_put_number(out, before, number);
}

/* What a job of another protocol does not have is null, or worked out. */
void mykit_add_job(struct buf *out, struct bytes topic, const struct job *job)
{
    int64_t created_ms =
        job->extra.is_there ? job->extra.created_ms : job->due_ms - job->delay_ms;

    open_envelope(out, true);
    json_put_text(out, "{\"topic\":", topic);
    add_text_attribute(out, ",\"subtopic\":", job, SUBTOPIC);
    json_put_text(out, ",\"id\":", job->id);
    add_text_attribute(out, ",\"bizKey\":", job, BIZ_KEY);
    add_number_attribute(out, ",\"delay\":", job, DELAY, job->delay_ms);
    add_number_attribute(out, ",\"ttl\":", job, TTL, 0);
    json_put_bytes(out, ",\"body\":", job->body, ",\"bodyBase64\":");
    add_number_attribute(out, ",\"createTime\":", job, CREATE_TIME, created_ms);
    json_put_number(out, ",\"status\":", STATUS_READY);
    buf_add_char(out, '}');
    close_envelope(out, true, NULL);
}

/* ---- health ---- */

void mykit_add_health(struct buf *out, const struct mykit_health *health)
{
    const char *word = health->is_up ? "UP" : "DOWN";

    buf_printf(out, "{\"status\":\"%s\",\"jikexiu\":{\"status\":\"%s\",\"mykit-delay\":", word,
               word);
    buf_printf(out, "{\"status\":\"%s\"", word);
    json_put_bool(out, ",\"run\":", health->is_up);
    json_put_bool(out, ",\"isMaster\":", health->is_master);
    json_put_bool(out, ",\"isCluster\":", health->is_cluster);
    json_put_number(out, ",\"bucketSize\":", health->bucket_count);
    json_put_text(out, ",\"prefix\":", health->prefix);
    buf_add_text(out, ",\"namespace\":\"mykit-delay\"}}}");
}
