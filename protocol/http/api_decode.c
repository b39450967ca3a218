#include "protocol/http/api_decode.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "node/queue/queue.h"
#include "protocol/json_base64.h"
#include "protocol/json_check.h"
#include "protocol/json_walk.h"

#define QUOTED_MAX_BYTES 60 /* of what the client wrote */

__attribute__((format(printf, 3, 4))) static enum status
refuse(struct api_why *why, enum status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    return status;
}

/* ---- an object by its table ---- */

struct rule {
    const char *name;
    enum json_kind kind; /* STRING or NUMBER */
    int64_t min;         /* of a number, which is always a whole one */
    int64_t max;
};

struct member {
    bool is_given;
    struct bytes text; /* STRING: unescaped */
    int64_t number;    /* NUMBER */
};

/* Digits and nothing else. What is beyond the type becomes its end. */
static bool read_digits(struct bytes text, int64_t *number)
{
    int64_t found = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        if (__builtin_mul_overflow(found, 10, &found) ||
            __builtin_add_overflow(found, text.at[i] - '0', &found))
            found = INT64_MAX;
    }
    *number = found;
    return text.len > 0;
}

static enum status read_number(const struct rule *rule, struct bytes value, int64_t *number,
                               struct api_why *why)
{
    bool is_negative = value.at[0] == '-';
    struct bytes digits = bytes_of(value.at + is_negative, value.len - is_negative);
    int64_t found;

    if (!read_digits(digits, &found))
        return refuse(why, STATUS_BAD_REQUEST, "%s: not an integer", rule->name);
    if (is_negative)
        found = -found;
    if (found < rule->min || found > rule->max)
        return refuse(why, STATUS_OUT_OF_RANGE, "%s: not from %lld to %lld", rule->name,
                      (long long)rule->min, (long long)rule->max);
    *number = found;
    return STATUS_OK;
}

/* The mistake that many make is worth a word. */
static enum status refuse_kind(const struct rule *rule, struct api_why *why)
{
    const char *hint =
        strcmp(rule->name, "body") == 0 ? " (send other JSON as its text, in a string)" : "";

    return refuse(why, STATUS_BAD_REQUEST, "%s: not %s%s", rule->name,
                  rule->kind == JSON_KIND_NUMBER ? "an integer" : "a string", hint);
}

static enum status read_value(const struct rule *rule, struct bytes value,
                              struct member *member, struct api_why *why)
{
    if (member->is_given)
        return refuse(why, STATUS_BAD_REQUEST, "%s: given twice", rule->name);
    member->is_given = true;
    if (json_kind_of(value) != rule->kind)
        return refuse_kind(rule, why);
    if (rule->kind == JSON_KIND_NUMBER)
        return read_number(rule, value, &member->number, why);
    member->text = json_unescape(value);
    return STATUS_OK;
}

static const struct rule *find_rule(const struct rule *rules, unsigned count, struct bytes name)
{
    for (unsigned i = 0; i < count; i++)
        if (bytes_equal(name, bytes_of_text(rules[i].name)))
            return &rules[i];
    return NULL;
}

/* Fills in `members`, zeroed and in the order of the rules. */
static enum status read_object(struct bytes object, const struct rule *rules, unsigned count,
                               struct member *members, struct api_why *why)
{
    struct json_walk walk = json_walk_into(object);
    enum status status = STATUS_OK;
    struct bytes name, value;

    if (json_kind_of(object) != JSON_KIND_OBJECT)
        return refuse(why, STATUS_BAD_REQUEST, "not an object");
    while (!status && json_walk_member(&walk, &name, &value)) {
        const struct rule *rule;

        name = json_unescape(name);
        rule = find_rule(rules, count, name);
        if (rule)
            status = read_value(rule, value, &members[rule - rules], why);
        else
            status =
                refuse(why, STATUS_BAD_REQUEST, "%.*s: unknown member",
                       name.len < QUOTED_MAX_BYTES ? (int)name.len : QUOTED_MAX_BYTES, name.at);
    }
    return status;
}

static int64_t number_or(const struct member *member, int64_t fallback)
{
    return member->is_given ? member->number : fallback;
}

/* ---- jobs ---- */

enum { PUSH_BODY, PUSH_BASE64, PUSH_ID, PUSH_DELAY, PUSH_AT, PUSH_TTR, PUSH_MEMBERS };

static const struct rule push_rules[PUSH_MEMBERS] = {
    [PUSH_BODY] = {"body", JSON_KIND_STRING, 0, 0},
    [PUSH_BASE64] = {"body_base64", JSON_KIND_STRING, 0, 0},
    [PUSH_ID] = {"id", JSON_KIND_STRING, 0, 0},
    [PUSH_DELAY] = {"delay_ms", JSON_KIND_NUMBER, 0, QUEUE_DELAY_MAX_MS},
    [PUSH_AT] = {"at_ms", JSON_KIND_NUMBER, 0, QUEUE_AT_MAX_MS},
    [PUSH_TTR] = {"ttr_ms", JSON_KIND_NUMBER, 0, QUEUE_TTR_MAX_MS},
};

static enum status read_body(const struct member *members, struct bytes *body,
                             struct api_why *why)
{
    const struct member *plain = &members[PUSH_BODY], *encoded = &members[PUSH_BASE64];

    if (plain->is_given == encoded->is_given)
        return refuse(why, STATUS_BAD_REQUEST, "body: %s (body or body_base64, one of them)",
                      plain->is_given ? "given twice" : "missing");
    if (plain->is_given)
        *body = plain->text;
    else if (!json_base64_decode(encoded->text, body))
        return refuse(why, STATUS_BAD_REQUEST,
                      "body_base64: not base64 (the standard alphabet, padded)");
    return STATUS_OK;
}

enum status api_decode_push(struct bytes object, struct api_push *push, struct api_why *why)
{
    struct member members[PUSH_MEMBERS] = {{0}};
    enum status status = read_object(object, push_rules, PUSH_MEMBERS, members, why);
    struct bytes body = BYTES("");

    if (!status)
        status = read_body(members, &body, why);
    if (status)
        return status;
    if (members[PUSH_DELAY].is_given && members[PUSH_AT].is_given)
        return refuse(why, STATUS_BAD_REQUEST, "delay_ms: not together with at_ms");
    if (members[PUSH_ID].is_given && members[PUSH_ID].text.len == 0)
        return refuse(why, STATUS_BAD_ID, "id: empty (leave it away to be given one)");
    *push = (struct api_push){
        .id = members[PUSH_ID].text,
        .body = body,
        .delay_ms = members[PUSH_DELAY].number,
        .at_ms = members[PUSH_AT].number,
        .ttr_ms = number_or(&members[PUSH_TTR], API_TTR_DEFAULT_MS),
    };
    return STATUS_OK;
}

enum status api_count_jobs(struct bytes list, unsigned *count, struct api_why *why)
{
    struct json_walk walk = json_walk_into(list);
    struct bytes job;
    unsigned found = 0;

    while (found <= API_JOBS_MAX && json_walk_element(&walk, &job))
        found++;
    if (found < 1 || found > API_JOBS_MAX)
        return refuse(why, STATUS_OUT_OF_RANGE, "a list has 1 to %d jobs", API_JOBS_MAX);
    *count = found;
    return STATUS_OK;
}

/* ---- leases ---- */

#define LEASE_RULE                      \
    {                                   \
        "lease", JSON_KIND_STRING, 0, 0 \
    }

/* What stands beside the lease is one number at most. */
static const struct lease_rules {
    unsigned count;
    struct rule rules[2];
} lease_rules[OP_COUNT] = {
    [OP_ACK] = {1, {LEASE_RULE}},
    [OP_RELEASE] = {2, {LEASE_RULE, {"delay_ms", JSON_KIND_NUMBER, 0, QUEUE_DELAY_MAX_MS}}},
    [OP_TOUCH] = {2, {LEASE_RULE, {"ttr_ms", JSON_KIND_NUMBER, 0, QUEUE_TTR_MAX_MS}}},
};

/* The stamp, in decimal, as pop has written it. */
static enum status read_stamp(const struct member *proof, int64_t *stamp, struct api_why *why)
{
    int64_t found;

    if (!proof->is_given)
        return refuse(why, STATUS_BAD_REQUEST, "lease: missing (pop gives it with each job)");
    if (!read_digits(proof->text, &found) || found > JOB_STAMP_MAX)
        return refuse(why, STATUS_BAD_REQUEST, "lease: not one that pop gives");
    *stamp = found;
    return STATUS_OK;
}

enum status api_decode_lease(struct bytes object, enum op_verb verb, struct api_lease *lease,
                             struct api_why *why)
{
    const struct lease_rules *rules = &lease_rules[verb];
    struct member members[2] = {{0}};
    int64_t stamp = 0;
    enum status status;

    assert(rules->count);
    status = read_object(object, rules->rules, rules->count, members, why);
    if (!status)
        status = read_stamp(&members[0], &stamp, why);
    if (status)
        return status;
    *lease = (struct api_lease){
        .stamp = stamp,
        .delay_ms = verb == OP_RELEASE ? members[1].number : 0,
        .ttr_ms = verb == OP_TOUCH ? members[1].number : 0,
    };
    return STATUS_OK;
}

/* ---- the whole body ---- */

static struct bytes trim(struct bytes text)
{
    while (text.len && json_is_space(text.at[0]))
        text = bytes_of(text.at + 1, text.len - 1);
    while (text.len && json_is_space(text.at[text.len - 1]))
        text.len--;
    return text;
}

enum status api_decode(struct bytes body, struct bytes *value, struct api_why *why)
{
    static const char *const faults[] = {
        [JSON_FAULT_SYNTAX] = "the body is not JSON",
        [JSON_FAULT_UTF8] = "the body is not UTF-8",
        [JSON_FAULT_SURROGATE] = "a \\u escape is half a character",
        [JSON_FAULT_DEPTH] = "the body is nested too deeply",
    };
    size_t at_byte;
    enum json_fault fault = json_check_at(body, &at_byte);

    if (fault)
        return refuse(why, STATUS_BAD_REQUEST, "%s, at byte %zu", faults[fault], at_byte);
    *value = trim(body);
    return STATUS_OK;
}
