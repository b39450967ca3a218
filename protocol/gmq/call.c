#include "protocol/gmq/call.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "node/queue/queue.h"
#include "protocol/gmq/seconds.h"

/* All numbers as doubles: else jansson gives up on an integer above 64 bits, and whoever sent
 * it would get no answer. */
#define PARSE_FLAGS (JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL)

#define WHOLE_MAX 9007199254740992.0 /* 2^53: above it a double no longer counts every one */

/* As Go finds it: by its exact name, else in any case. NULL for null, too. */
static json_t *find_member(json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    const char *key;
    json_t *other;

    if (!value) {
        json_object_foreach(object, key, other)
        {
            if (strcasecmp(key, name) == 0)
                value = other;
        }
    }
    return json_is_null(value) ? NULL : value;
}

static struct bytes text_of(const json_t *string)
{
    return bytes_of(json_string_value(string), json_string_length(string));
}

/* ---- the fields: each reader returns why it refuses, or NULL ---- */

/* An id is a string; or a whole number, which is what some languages make of one that looks
 * like a number. */
static json_t *text_from_number(struct gmq_call *call, const json_t *number)
{
    double value = json_number_value(number);

    if (value < -WHOLE_MAX || value > WHOLE_MAX || (double)(int64_t)value != value)
        return NULL;
    call->number = json_sprintf("%.0f", value);
    if (!call->number)
        abort();
    return call->number;
}

static const char *read_id(struct gmq_call *call, json_t *value)
{
    if (!value)
        return "job.id is empty";
    if (json_is_real(value))
        value = text_from_number(call, value);
    if (!json_is_string(value))
        return "bad_id: job.id must be a string";
    call->job_id = text_of(value);
    return call->job_id.len ? NULL : "job.id is empty";
}

static const char *read_topic(struct gmq_call *call, json_t *value)
{
    if (json_is_array(value) && json_array_size(value) > 1)
        return "bad_topic: job.topic must be one topic";
    if (json_is_array(value))
        value = json_array_get(value, 0);
    if (!value || json_is_null(value))
        return "job.topic is empty";
    if (!json_is_string(value))
        return "bad_topic: job.topic must be a string";
    call->topic = text_of(value);
    return call->topic.len ? NULL : "job.topic is empty";
}

static const char *read_body(struct gmq_call *call, json_t *value)
{
    if (value && !json_is_string(value))
        return "bad_request: job.body must be a string";
    call->body = value ? text_of(value) : BYTES("");
    return NULL;
}

static const char *read_delay(struct gmq_call *call, json_t *value)
{
    static const char *const refusals[] = {
        [GMQ_SECONDS_NEGATIVE] = "out_of_range: job.delay is negative",
        [GMQ_SECONDS_NOT_WHOLE] = "out_of_range: job.delay must be whole seconds",
        [GMQ_SECONDS_LARGE] = "out_of_range: job.delay is above 10 years (315360000 seconds)",
    };

    return refusals[gmq_seconds_read(value, QUEUE_DELAY_MAX_MS, &call->delay_ms)];
}

static const char *read_ttr(struct gmq_call *call, json_t *value)
{
    static const char *const refusals[] = {
        [GMQ_SECONDS_NEGATIVE] = "out_of_range: job.TTR is negative",
        [GMQ_SECONDS_NOT_WHOLE] = "out_of_range: job.TTR must be whole seconds",
        [GMQ_SECONDS_LARGE] = "out_of_range: job.TTR is above 7 days (604800 seconds)",
    };

    return refusals[gmq_seconds_read(value, QUEUE_TTR_MAX_MS, &call->ttr_ms)];
}

/* ---- the methods: each reads params[0] ---- */

static const char *read_push(struct gmq_call *call, json_t *job)
{
    static const struct {
        const char *name;
        const char *(*read)(struct gmq_call *call, json_t *value);
    } fields[] = {
        {"id", read_id},       {"topic", read_topic}, {"body", read_body},
        {"delay", read_delay}, {"TTR", read_ttr},
    };
    const char *refusal = NULL;

    if (!json_is_object(job))
        return "bad_request: params[0] must be a job, an object";
    for (size_t i = 0; !refusal && i < sizeof(fields) / sizeof(fields[0]); i++)
        refusal = fields[i].read(call, find_member(job, fields[i].name));
    return refusal;
}

static const char *add_topic(struct gmq_call *call, const json_t *topic)
{
    if (!json_is_string(topic))
        return "bad_topic: a topic must be a string";
    call->topics[call->topic_count++] = text_of(topic);
    return NULL;
}

static const char *read_pop(struct gmq_call *call, json_t *topics)
{
    size_t count = json_is_array(topics) ? json_array_size(topics) : topics ? 1 : 0;
    const char *refusal = NULL;

    if (count == 0)
        return "topics is empty";
    if (count > QUEUE_TOPICS_PER_POP_MAX)
        return "out_of_range: more than 64 topics in one Pop";
    call->topics = calloc(count, sizeof(*call->topics));
    if (!call->topics)
        abort();
    if (!json_is_array(topics))
        return add_topic(call, topics);
    for (size_t i = 0; !refusal && i < count; i++)
        refusal = add_topic(call, json_array_get(topics, i));
    return refusal;
}

static const char *read_ack(struct gmq_call *call, json_t *id)
{
    return read_id(call, id);
}

/* ---- the envelope ---- */

static const struct {
    struct bytes name;
    const char *(*read)(struct gmq_call *call, json_t *param);
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

static const char *read_method(struct gmq_call *call, const json_t *value)
{
    struct bytes name = json_is_string(value) ? text_of(value) : BYTES("");

    for (unsigned i = 0; i < GMQ_METHOD_COUNT; i++) {
        if (bytes_equal(name, methods[i].name)) {
            call->method = (enum gmq_method)i;
            call->has_method = true;
            return NULL;
        }
    }
    return refuse_method(call, name);
}

static const char *read_envelope(struct gmq_call *call)
{
    const char *refusal = read_method(call, find_member(call->tree, "method"));
    json_t *params = find_member(call->tree, "params");
    json_t *param = json_array_get(params, 0);

    if (refusal)
        return refusal;
    if (!param)
        return "bad_request: params must be a list with one element";
    return methods[call->method].read(call, json_is_null(param) ? NULL : param);
}

/* Well-formed by its braces, and still more than the parser takes: worth an answer. */
static const char *refuse_unreadable(const json_error_t *error)
{
    switch (json_error_code(error)) {
    case json_error_numeric_overflow:
        return "out_of_range: a number is too large";
    case json_error_stack_overflow:
        return "bad_request: the request is nested too deeply";
    case json_error_null_byte_in_key:
        return "bad_request: a member's name contains \\u0000";
    case json_error_invalid_utf8:
        return "bad_request: the request is not UTF-8";
    default:
        /* A lone surrogate has no code of its own. */
        return strncmp(error->text, "invalid Unicode", 15) == 0
                   ? "bad_request: a \\u escape is no character"
                   : NULL;
    }
}

static bool is_json(struct bytes text)
{
    json_t *value = json_loadb(text.at, text.len, PARSE_FLAGS | JSON_DECODE_ANY, NULL);

    json_decref(value);
    return value != NULL;
}

bool gmq_call_parse(struct gmq_call *call, struct bytes frame)
{
    json_error_t error;

    *call = (struct gmq_call){.id = gmq_raw_id(frame)};
    if (call->id.len > GMQ_ID_MAX_BYTES) {
        call->id = BYTES("null");
        call->refusal = "bad_request: the request's id is longer than 1024 bytes";
    }
    call->tree = json_loadb(frame.at, frame.len, PARSE_FLAGS, &error);
    if (!call->tree) {
        call->refusal = refuse_unreadable(&error);
        if (!is_json(call->id))
            call->id = BYTES("null");
        return call->refusal != NULL;
    }
    if (!call->refusal)
        call->refusal = read_envelope(call);
    return true;
}

void gmq_call_fini(struct gmq_call *call)
{
    free(call->topics);
    json_decref(call->number);
    json_decref(call->tree);
}
