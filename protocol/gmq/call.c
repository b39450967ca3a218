#include "protocol/gmq/call.h"

#include <stdlib.h>
#include <strings.h>

#include "node/queue/queue.h"
#include "protocol/gmq/codec.h"
#include "protocol/json/read.h"

/* As Go does, in any case. */
static bool is_named(struct bytes name, const char *wanted)
{
    return name.len == strlen(wanted) && strncasecmp(name.at, wanted, name.len) == 0;
}

/* null counts like a missing value. */
static bool is_missing(struct bytes value)
{
    return json_kind_of(value) <= JSON_KIND_NULL;
}

/* ---- the fields: each reader returns why it refuses, or NULL ---- */

static bool is_whole_number(struct bytes value)
{
    for (size_t i = 0; i < value.len; i++)
        if ((value.at[i] < '0' || value.at[i] > '9') && !(i == 0 && value.at[i] == '-'))
            return false;
    return value.len > 0;
}

/* An id is a string; or a whole number, which is what some languages make of one that looks
 * like a number. */
static const char *read_id(struct gmq_call *call, struct bytes value)
{
    if (is_missing(value))
        return "job.id is empty";
    if (json_kind_of(value) == JSON_KIND_STRING)
        call->job_id = json_unescape(value);
    else if (is_whole_number(value))
        call->job_id = value;
    else
        return "bad_id: job.id must be a string or a whole number";
    return call->job_id.len ? NULL : "job.id is empty";
}

/* The only element of a list around one topic; `value` itself when it is no list. */
static bool unwrap(struct bytes *value)
{
    struct json_walk list = json_walk_into(*value);
    struct bytes first = BYTES(""), second;

    if (json_kind_of(*value) != JSON_KIND_LIST)
        return true;
    if (json_walk_element(&list, &first) && json_walk_element(&list, &second))
        return false;
    *value = first;
    return true;
}

static const char *read_topic(struct gmq_call *call, struct bytes value)
{
    if (!unwrap(&value))
        return "bad_topic: job.topic must be one topic";
    if (is_missing(value))
        return "job.topic is empty";
    if (json_kind_of(value) != JSON_KIND_STRING)
        return "bad_topic: job.topic must be a string";
    call->topic = json_unescape(value);
    return call->topic.len ? NULL : "job.topic is empty";
}

static const char *read_body(struct gmq_call *call, struct bytes value)
{
    if (is_missing(value))
        return NULL;
    if (json_kind_of(value) != JSON_KIND_STRING)
        return "bad_request: job.body must be a string";
    call->body = json_unescape(value);
    return NULL;
}

static enum gmq_seconds read_seconds(struct bytes value, int64_t max_ms, int64_t *ms)
{
    enum json_kind kind = json_kind_of(value);
    struct bytes text = kind == JSON_KIND_STRING   ? json_unescape(value)
                        : kind == JSON_KIND_NUMBER ? value
                                                   : BYTES("");

    return gmq_seconds_read(text, max_ms, ms);
}

static const char *read_delay(struct gmq_call *call, struct bytes value)
{
    static const char *const refusals[] = {
        [GMQ_SECONDS_NEGATIVE] = "out_of_range: job.delay is negative",
        [GMQ_SECONDS_NOT_WHOLE] = "out_of_range: job.delay must be whole seconds",
        [GMQ_SECONDS_LARGE] = "out_of_range: job.delay is above 10 years (315360000 seconds)",
    };

    return refusals[read_seconds(value, QUEUE_DELAY_MAX_MS, &call->delay_ms)];
}

static const char *read_ttr(struct gmq_call *call, struct bytes value)
{
    static const char *const refusals[] = {
        [GMQ_SECONDS_NEGATIVE] = "out_of_range: job.TTR is negative",
        [GMQ_SECONDS_NOT_WHOLE] = "out_of_range: job.TTR must be whole seconds",
        [GMQ_SECONDS_LARGE] = "out_of_range: job.TTR is above 7 days (604800 seconds)",
    };

    return refusals[read_seconds(value, QUEUE_TTR_MAX_MS, &call->ttr_ms)];
}

/* ---- the methods: each reads params[0] ---- */

static const struct {
    const char *name;
    const char *(*read)(struct gmq_call *call, struct bytes value);
} fields[] = {
    {"id", read_id},       {"topic", read_topic}, {"body", read_body},
    {"delay", read_delay}, {"TTR", read_ttr},
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/* Two steps, because of two equal members the last one counts, and because gmq complains
 * about the id first wherever it stands. */
static const char *read_push(struct gmq_call *call, struct bytes job)
{
    struct json_walk members = json_walk_into(job);
    struct bytes values[FIELD_COUNT] = {{NULL, 0}};
    struct bytes name, value;
    const char *refusal = NULL;

    if (json_kind_of(job) != JSON_KIND_OBJECT)
        return "bad_request: params[0] must be a job, an object";
    while (json_walk_member(&members, &name, &value)) {
        name = json_unescape(name);
        for (size_t i = 0; i < FIELD_COUNT; i++)
            if (is_named(name, fields[i].name))
                values[i] = value;
    }
    for (size_t i = 0; !refusal && i < FIELD_COUNT; i++)
        refusal = fields[i].read(call, values[i]);
    return refusal;
}

static unsigned count_topics(struct bytes topics)
{
    struct json_walk list = json_walk_into(topics);
    struct bytes topic;
    unsigned count = 0;

    if (json_kind_of(topics) != JSON_KIND_LIST)
        return !is_missing(topics);
    while (count <= QUEUE_TOPICS_PER_POP_MAX && json_walk_element(&list, &topic))
        count++;
    return count;
}

static const char *add_topic(struct gmq_call *call, struct bytes topic)
{
    if (json_kind_of(topic) != JSON_KIND_STRING)
        return "bad_topic: a topic must be a string";
    call->topics[call->topic_count++] = json_unescape(topic);
    return NULL;
}

static const char *read_pop(struct gmq_call *call, struct bytes topics)
{
    struct json_walk list = json_walk_into(topics);
    unsigned count = count_topics(topics);
    const char *refusal = NULL;
    struct bytes topic;

    if (count == 0)
        return "topics is empty";
    if (count > QUEUE_TOPICS_PER_POP_MAX)
        return "out_of_range: more than 64 topics in one Pop";
    call->topics = calloc(count, sizeof(*call->topics));
    if (!call->topics)
        abort();
    if (json_kind_of(topics) != JSON_KIND_LIST)
        return add_topic(call, topics);
    while (!refusal && json_walk_element(&list, &topic))
        refusal = add_topic(call, topic);
    return refusal;
}

static const char *read_ack(struct gmq_call *call, struct bytes id)
{
    return read_id(call, id);
}

/* ---- the envelope ---- */

struct envelope {
    struct bytes method;
    struct bytes params;
    struct bytes id;
};

static const struct {
    struct bytes name;
    const char *(*read)(struct gmq_call *call, struct bytes param);
} methods[GMQ_METHOD_COUNT] = {
    [GMQ_PUSH] = {{"Service.Push", 12}, read_push},
    [GMQ_POP] = {{"Service.Pop", 11}, read_pop},
    [GMQ_ACK] = {{"Service.Ack", 11}, read_ack},
};

/* The texts of Go's rpc package, which gmq's users know. */
static const char *refuse_method(struct gmq_call *call, struct bytes name)
{
    call->detail = name;
    if (name.len >= 8 && memcmp(name.at, "Service.", 8) == 0)
        return "rpc: can't find method ";
    if (name.len && memchr(name.at, '.', name.len))
        return "rpc: can't find service ";
    return "rpc: service/method request ill-formed: ";
}

static const char *read_method(struct gmq_call *call, struct bytes value)
{
    bool is_text = json_kind_of(value) == JSON_KIND_STRING;
    struct bytes name = is_text ? json_unescape(value) : BYTES("");

    for (unsigned i = 0; i < GMQ_METHOD_COUNT; i++) {
        if (bytes_equal(name, methods[i].name)) {
            call->method = (enum gmq_method)i;
            call->has_method = true;
            return NULL;
        }
    }
    return refuse_method(call, name);
}

/* A name with an escape in it is none of ours, and left alone. */
static void open_envelope(struct bytes frame, struct envelope *envelope)
{
    struct json_walk members = json_walk_into(frame);
    struct bytes name, value;

    *envelope = (struct envelope){.id = BYTES("null")};
    while (json_walk_member(&members, &name, &value)) {
        if (is_named(name, "\"method\""))
            envelope->method = value;
        else if (is_named(name, "\"params\""))
            envelope->params = value;
        else if (is_named(name, "\"id\""))
            envelope->id = value;
    }
}

static const char *read_envelope(struct gmq_call *call, const struct envelope *envelope)
{
    const char *refusal = read_method(call, envelope->method);
    struct json_walk params = json_walk_into(envelope->params);
    struct bytes param;

    if (refusal)
        return refusal;
    if (json_kind_of(envelope->params) != JSON_KIND_LIST || !json_walk_element(&params, &param))
        return "bad_request: params must be a list with one element";
    return methods[call->method].read(call, param);
}

/* Well-formed by its braces, and still no JSON: worth an answer where a client can produce it
 * by accident. */
static const char *const fault_refusals[] = {
    [JSON_FAULT_UTF8] = "bad_request: the request is not UTF-8",
    [JSON_FAULT_SURROGATE] = "bad_request: a \\u escape is half a character",
    [JSON_FAULT_DEPTH] = "bad_request: the request is nested too deeply",
    [JSON_FAULT_SYNTAX] = NULL,
};

static struct bytes echo_of(struct bytes id, enum json_fault fault)
{
    if (id.len > GMQ_ID_MAX_BYTES || (fault && json_check(id)))
        return BYTES("null");
    return id;
}

bool gmq_call_parse(struct gmq_call *call, char *frame, size_t len)
{
    struct bytes text = bytes_of(frame, len);
    enum json_fault fault = json_check(text);
    struct envelope envelope;

    open_envelope(text, &envelope);
    *call = (struct gmq_call){.id = echo_of(envelope.id, fault)};
    if (fault)
        call->refusal = fault_refusals[fault];
    else if (envelope.id.len > GMQ_ID_MAX_BYTES)
        call->refusal = "bad_request: the request's id is longer than 1024 bytes";
    else
        call->refusal = read_envelope(call, &envelope);
    return !fault || call->refusal;
}

/* ---- taking it along ---- */

size_t gmq_call_bytes(const struct gmq_call *call)
{
    size_t bytes = call->id.len + call->job_id.len + call->topic.len + call->body.len;

    for (unsigned i = 0; i < call->topic_count; i++)
        bytes += call->topics[i].len;
    return bytes;
}

static char *move_bytes(struct bytes *bytes, char *to)
{
    if (bytes->len)
        memcpy(to, bytes->at, bytes->len);
    bytes->at = to;
    return to + bytes->len;
}

void gmq_call_move(struct gmq_call *call, char *room)
{
    room = move_bytes(&call->id, room);
    room = move_bytes(&call->job_id, room);
    room = move_bytes(&call->topic, room);
    room = move_bytes(&call->body, room);
    for (unsigned i = 0; i < call->topic_count; i++)
        room = move_bytes(&call->topics[i], room);
}

void gmq_call_fini(struct gmq_call *call)
{
    free(call->topics);
}
