#include "protocol/gmq/codec.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>

#include "base/encoding.h"
#include "node/queue/queue.h"
#include "protocol/json/read.h"

/* ---- seconds ----
 *
 * A call's numbers of seconds, as gmq's clients send them, in JSON or in a string.
 *
 *   "", soon, 12s, 0x10, inf   no number: 0, as in gmq
 *   5, " 5 ", +5, 5.0, 5e0     5
 *   -1, -0.5                   refused: negative
 *   1.5                        refused: not whole
 *   1e30, 99999999999          refused: above the limit
 */

enum gmq_seconds {
    GMQ_SECONDS_OK,
    GMQ_SECONDS_NEGATIVE,
    GMQ_SECONDS_NOT_WHOLE,
    GMQ_SECONDS_LARGE,
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct bytes trim(struct bytes text)
{
    while (text.len && is_space(text.at[0]))
        text = bytes_of(text.at + 1, text.len - 1);
    while (text.len && is_space(text.at[text.len - 1]))
        text.len--;
    return text;
}

static size_t count_digits(struct bytes text, size_t from)
{
    size_t i = from;

    while (i < text.len && text.at[i] >= '0' && text.at[i] <= '9')
        i++;
    return i - from;
}

static size_t count_sign(struct bytes text, size_t from)
{
    return from < text.len && (text.at[from] == '-' || text.at[from] == '+') ? 1 : 0;
}

/* Decimal only: strtod would also take "inf", "nan" and "0x10". */
static bool is_decimal(struct bytes text)
{
    size_t i = count_sign(text, 0);
    size_t digits = count_digits(text, i);

    i += digits;
    if (i < text.len && text.at[i] == '.') {
        size_t fraction = count_digits(text, i + 1);

        i += 1 + fraction;
        digits += fraction;
    }
    if (digits && i < text.len && (text.at[i] == 'e' || text.at[i] == 'E')) {
        size_t sign = count_sign(text, i + 1);
        size_t exponent = count_digits(text, i + 1 + sign);

        if (exponent == 0)
            return false;
        i += 1 + sign + exponent;
    }
    return digits && i == text.len;
}

#define DIGITS_MAX 63 /* longer ones are no number of seconds that anybody means */

/* `ms` is untouched unless OK. */
static enum gmq_seconds gmq_seconds_read(struct bytes text, int64_t max_ms, int64_t *ms)
{
    char terminated[DIGITS_MAX + 1];
    double seconds = 0;
    int64_t whole;

    text = trim(text);
    if (text.len <= 9 && digits_read(text, &whole)) { /* as nearly all clients write it */
        seconds = (double)whole;
    } else if (is_decimal(text)) {
        if (text.len > DIGITS_MAX)
            return text.at[0] == '-' ? GMQ_SECONDS_NEGATIVE : GMQ_SECONDS_LARGE;
        memcpy(terminated, text.at, text.len);
        terminated[text.len] = '\0';
        seconds = strtod(terminated, NULL);
    }
    if (seconds < 0)
        return GMQ_SECONDS_NEGATIVE;
    if (seconds > (double)max_ms / 1000)
        return GMQ_SECONDS_LARGE;
    if (floor(seconds) != seconds)
        return GMQ_SECONDS_NOT_WHOLE;
    *ms = (int64_t)seconds * 1000;
    return GMQ_SECONDS_OK;
}

/* ---- names and values ---- */

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

/* An id is a string, or a whole number: some languages send a string that looks like a number
 * so. */
static const char *read_id(struct gmq_call *call, struct bytes value)
{
    int64_t number;

    if (is_missing(value))
        return "job.id is empty";
    if (json_kind_of(value) == JSON_KIND_STRING)
        call->job_id = json_unescape(value);
    else if (number_read(value, &number))
        call->job_id = value;
    else
        return "bad_id: job.id must be a string or a whole number";
    return call->job_id.len ? NULL : "job.id is empty";
}

/* Takes `value` out of a list around it, of one element; leaves it alone when it is no list. */
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

/* Two steps: of two equal members the last one counts, and gmq complains about the id first
 * wherever it stands. */
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
    call->topics = must(calloc(count, sizeof(*call->topics)));
    if (json_kind_of(topics) != JSON_KIND_LIST)
        return add_topic(call, topics);
    while (!refusal && json_walk_element(&list, &topic))
        refusal = add_topic(call, topic);
    return refusal;
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
    [GMQ_ACK] = {{"Service.Ack", 11}, read_id},
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

/* A name with an escape in it is none of ours, and ignored. */
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

void gmq_call_move(struct gmq_call *call, char *room)
{
    call->id = text_put(&room, call->id);
    call->job_id = text_put(&room, call->job_id);
    call->topic = text_put(&room, call->topic);
    call->body = text_put(&room, call->body);
    for (unsigned i = 0; i < call->topic_count; i++)
        call->topics[i] = text_put(&room, call->topics[i]);
}

void gmq_call_fini(struct gmq_call *call)
{
    free(call->topics);
}

/* ---- where a request ends ---- */

/* Scans to behind the string's last quote, or to the end of the input, perhaps right behind a
 * backslash. */
static void scan_string(struct gmq_scan *scan, struct bytes input)
{
    const char *at = input.at + scan->seen, *end = input.at + input.len;

    while (at < end && scan->in_string) {
        if (!scan->is_escaped)
            at = json_find_mark(at, end);
        if (at == end)
            break;
        scan->in_string = scan->is_escaped || *at != '"';
        scan->is_escaped = !scan->is_escaped && *at == '\\';
        at++;
    }
    scan->seen = (size_t)(at - input.at);
}

/* One byte outside of strings. */
static void scan_mark(struct gmq_scan *scan, char c)
{
    if (c == '"')
        scan->in_string = true;
    else if (c == '{' || c == '[')
        scan->depth++;
    else if (c == '}' || c == ']')
        scan->depth--;
}

/* True when the frame has ended, with `seen` behind its last byte. */
static bool scan_to_end(struct gmq_scan *scan, struct bytes input)
{
    while (scan->seen < input.len) {
        if (scan->in_string) {
            scan_string(scan, input);
            continue;
        }
        scan_mark(scan, input.at[scan->seen++]);
        if (scan->depth == 0)
            return true;
    }
    return false;
}

static size_t count_space(struct bytes input)
{
    size_t n = 0;

    while (n < input.len && json_is_space(input.at[n]))
        n++;
    return n;
}

bool gmq_scan_is_inside(const struct gmq_scan *scan)
{
    return scan->depth > 0;
}

static enum gmq_scan_result end_frame(struct gmq_scan *scan)
{
    bool was_skipped = scan->is_skipping;

    *scan = (struct gmq_scan){0};
    return was_skipped ? GMQ_SCAN_OVERSIZE : GMQ_SCAN_FRAME;
}

enum gmq_scan_result gmq_scan_next(struct gmq_scan *scan, struct bytes input,
                                   size_t frame_max_bytes, struct bytes *frame, size_t *used)
{
    size_t space = gmq_scan_is_inside(scan) ? 0 : count_space(input);
    struct bytes rest = bytes_of(input.at + space, input.len - space);
    bool has_ended;

    *used = space;
    if (rest.len == 0)
        return GMQ_SCAN_MORE;
    if (!gmq_scan_is_inside(scan) && rest.at[0] != '{')
        return GMQ_SCAN_NOT_JSON;

    has_ended = scan_to_end(scan, rest);
    *frame = bytes_of(rest.at, scan->seen);
    if (scan->seen > frame_max_bytes)
        scan->is_skipping = true;
    if (has_ended || scan->is_skipping)
        *used += scan->seen;
    if (has_ended)
        return end_frame(scan);
    if (scan->is_skipping)
        scan->seen = 0;
    return GMQ_SCAN_MORE;
}
