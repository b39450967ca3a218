#include "protocol/http/api_decode.h"

#include "node/queue/queue.h"
#include "protocol/json/base64.h"
#include "protocol/json/check.h"

/* ---- jobs ---- */

enum {
    PUSH_BODY,
    PUSH_BASE64,
    PUSH_ID,
    PUSH_DELAY,
    PUSH_AT,
    PUSH_TTR,
    PUSH_TTL,
    PUSH_PRIORITY,
    PUSH_MAX_TRIES,
    PUSH_BACKOFF,
    PUSH_MODE,
    PUSH_MEMBERS
};

static const struct object_rule push_rules[PUSH_MEMBERS] = {
    [PUSH_BODY] = {.name = "body", .kind = JSON_KIND_STRING},
    [PUSH_BASE64] = {.name = "body_base64", .kind = JSON_KIND_STRING},
    [PUSH_ID] = {.name = "id", .kind = JSON_KIND_STRING},
    [PUSH_DELAY] = OBJECT_NUMBER("delay_ms", 0, QUEUE_DELAY_MAX_MS),
    [PUSH_AT] = OBJECT_MOMENT("at_ms", QUEUE_AT_MAX_MS),
    [PUSH_TTR] = OBJECT_NUMBER("ttr_ms", 0, QUEUE_TTR_MAX_MS),
    [PUSH_TTL] = OBJECT_NUMBER("ttl_ms", 0, QUEUE_DELAY_MAX_MS),
    [PUSH_PRIORITY] = OBJECT_NUMBER("priority", 0, RULES_PRIORITY_MAX),
    [PUSH_MAX_TRIES] = OBJECT_NUMBER("max_tries", 0, RULES_TRIES_MAX),
    [PUSH_BACKOFF] = {.name = "backoff", .kind = JSON_KIND_OBJECT},
    [PUSH_MODE] = {.name = "mode", .kind = JSON_KIND_STRING},
};

/* Members that a topic's settings stand for where they are left out. */
static const struct {
    unsigned member;
    unsigned bit;
} settable[] = {
    {PUSH_TTR, SETTING_BIT(TTR)},           {PUSH_TTL, SETTING_BIT(TTL)},
    {PUSH_PRIORITY, SETTING_BIT(PRIORITY)}, {PUSH_MAX_TRIES, SETTING_BIT(MAX_TRIES)},
    {PUSH_BACKOFF, SETTING_BIT(BACKOFF)},
};

static unsigned given_of(const struct object_member *members)
{
    unsigned given = 0;

    for (size_t i = 0; i < sizeof(settable) / sizeof(*settable); i++)
        if (members[settable[i].member].is_given)
            given |= settable[i].bit;
    return given;
}

static enum status read_body(const struct object_member *members, struct bytes *body,
                             struct api_why *why)
{
    const struct object_member *plain = &members[PUSH_BODY], *encoded = &members[PUSH_BASE64];

    if (plain->is_given == encoded->is_given)
        return api_because(why, STATUS_BAD_REQUEST,
                           "body: %s (body or body_base64, one of them)",
                           plain->is_given ? "given twice" : "missing");
    if (plain->is_given)
        *body = plain->text;
    else if (!json_base64_decode(encoded->text, body))
        return api_because(why, STATUS_BAD_REQUEST,
                           "body_base64: not base64 (the standard alphabet, padded)");
    return STATUS_OK;
}

static enum status read_mode(const struct object_member *member, enum push_mode *mode,
                             struct api_why *why)
{
    static const char *const words[] = {
        [PUSH_REJECT] = "reject", [PUSH_REPLACE] = "replace", [PUSH_IGNORE] = "ignore"};
    unsigned index = PUSH_REJECT;
    enum status status = STATUS_OK;

    if (member->is_given)
        status = object_word(member->text, "mode", words, 3, &index, why);
    *mode = (enum push_mode)index;
    return status;
}

/* What no member can tell by itself. */
static enum status check_together(const struct object_member *members, struct api_why *why)
{
    const struct object_member *delay = &members[PUSH_DELAY], *ttl = &members[PUSH_TTL];

    if (delay->is_given && members[PUSH_AT].is_given)
        return api_because(why, STATUS_BAD_REQUEST, "delay_ms: not together with at_ms");
    if (members[PUSH_ID].is_given && members[PUSH_ID].text.len == 0)
        return api_because(why, STATUS_BAD_ID, "id: empty (leave it away to be given one)");
    if (ttl->number > 0 && ttl->number <= delay->number)
        return api_because(why, STATUS_OUT_OF_RANGE, "ttl_ms: not longer than delay_ms");
    return STATUS_OK;
}

enum status api_decode_push(struct bytes object, struct api_push *push, struct api_why *why)
{
    struct object_member members[PUSH_MEMBERS] = {{0}};
    enum status status = object_read(object, "", push_rules, PUSH_MEMBERS, members, why);
    struct backoff backoff = {0};
    enum push_mode mode = PUSH_REJECT;
    struct bytes body = BYTES("");

    if (!status)
        status = read_body(members, &body, why);
    if (!status)
        status = read_mode(&members[PUSH_MODE], &mode, why);
    if (!status && members[PUSH_BACKOFF].is_given)
        status = api_decode_backoff(members[PUSH_BACKOFF].value, &backoff, why);
    if (!status)
        status = check_together(members, why);
    if (status)
        return status;
    *push = (struct api_push){
        .id = members[PUSH_ID].text,
        .body = body,
        .delay_ms = members[PUSH_DELAY].number,
        .at_ms = members[PUSH_AT].number,
        .ttr_ms = members[PUSH_TTR].number,
        .ttl_ms = members[PUSH_TTL].number,
        .rules = {.priority = (uint32_t)members[PUSH_PRIORITY].number,
                  .max_tries = (unsigned)members[PUSH_MAX_TRIES].number,
                  .backoff = backoff},
        .mode = mode,
        .given = given_of(members),
    };
    return STATUS_OK;
}

/* ---- lists ---- */

static enum status count_items(struct bytes list, const char *what, unsigned *count,
                               struct api_why *why)
{
    struct json_walk walk = json_walk_into(list);
    struct bytes item;
    unsigned found = 0;

    while (found <= API_ITEMS_MAX && json_walk_element(&walk, &item))
        found++;
    if (found < 1 || found > API_ITEMS_MAX)
        return api_because(why, STATUS_OUT_OF_RANGE, "a list has 1 to %d %s", API_ITEMS_MAX,
                           what);
    *count = found;
    return STATUS_OK;
}

enum status api_count_jobs(struct bytes list, unsigned *count, struct api_why *why)
{
    return count_items(list, "jobs", count, why);
}

enum status api_decode_leases(struct bytes object, struct bytes *list, unsigned *count,
                              struct api_why *why)
{
    static const struct object_rule rule = {.name = "leases", .kind = JSON_KIND_LIST};
    struct object_member leases = {0};
    enum status status = object_read(object, "", &rule, 1, &leases, why);

    if (!status && !leases.is_given)
        status = api_because(why, STATUS_BAD_REQUEST, "leases: missing");
    if (!status)
        status = count_items(leases.value, "leases", count, why);
    if (!status)
        *list = leases.value;
    return status;
}

/* ---- backoff ---- */

enum { BACKOFF_KIND, BACKOFF_BASE, BACKOFF_CAP, BACKOFF_JITTER, BACKOFF_MEMBERS };

static const struct object_rule backoff_rules[BACKOFF_MEMBERS] = {
    [BACKOFF_KIND] = {.name = "kind", .kind = JSON_KIND_STRING},
    [BACKOFF_BASE] = OBJECT_NUMBER("base_ms", 1, RULES_BACKOFF_MAX_MS),
    [BACKOFF_CAP] = OBJECT_NUMBER("cap_ms", 0, RULES_BACKOFF_MAX_MS),
    [BACKOFF_JITTER] = OBJECT_NUMBER("jitter_percent", 0, 100),
};

/* Fixed rests do not grow: they have no cap, 0 aside, which is none. */
static enum status check_cap(enum backoff_kind kind, const struct object_member *members,
                             struct api_why *why)
{
    int64_t cap_ms = members[BACKOFF_CAP].number;

    if (cap_ms && kind == BACKOFF_FIXED)
        return api_because(why, STATUS_OUT_OF_RANGE,
                           "backoff.cap_ms: not with the kind fixed, which does not grow");
    if (cap_ms && cap_ms < members[BACKOFF_BASE].number)
        return api_because(why, STATUS_OUT_OF_RANGE, "backoff.cap_ms: below base_ms");
    return STATUS_OK;
}

/* A backoff has a base; none has nothing. */
static enum status check_backoff(enum backoff_kind kind, const struct object_member *members,
                                 struct api_why *why)
{
    if (kind != BACKOFF_NONE && !members[BACKOFF_BASE].is_given)
        return api_because(why, STATUS_BAD_REQUEST, "backoff.base_ms: missing");
    for (unsigned i = BACKOFF_BASE; kind == BACKOFF_NONE && i < BACKOFF_MEMBERS; i++)
        if (members[i].is_given)
            return api_because(why, STATUS_BAD_REQUEST, "backoff.%s: not with the kind none",
                               backoff_rules[i].name);
    return check_cap(kind, members, why);
}

enum status api_decode_backoff(struct bytes object, struct backoff *backoff,
                               struct api_why *why)
{
    static const char *const kinds[] = {[BACKOFF_NONE] = "none",
                                        [BACKOFF_FIXED] = "fixed",
                                        [BACKOFF_EXPONENTIAL] = "exponential"};
    struct object_member members[BACKOFF_MEMBERS] = {{0}};
    enum status status =
        object_read(object, "backoff.", backoff_rules, BACKOFF_MEMBERS, members, why);
    unsigned kind = BACKOFF_NONE;

    if (!status)
        status = object_word(members[BACKOFF_KIND].text, "backoff.kind", kinds, 3, &kind, why);
    if (!status)
        status = check_backoff((enum backoff_kind)kind, members, why);
    if (status)
        return status;
    *backoff = (struct backoff){
        .kind = (enum backoff_kind)kind,
        .base_ms = members[BACKOFF_BASE].number,
        .cap_ms = members[BACKOFF_CAP].number,
        .jitter_percent = (unsigned)members[BACKOFF_JITTER].number,
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

    if (!trim(body).len)
        return api_because(why, STATUS_BAD_REQUEST,
                           "the body is missing (an object, {} at least)");
    if (fault)
        return api_because(why, STATUS_BAD_REQUEST, "%s, at byte %zu", faults[fault], at_byte);
    *value = trim(body);
    return STATUS_OK;
}

enum status api_decode_nothing(struct bytes body, struct api_why *why)
{
    struct bytes object = BYTES("");
    enum status status;

    if (!trim(body).len)
        return STATUS_OK;
    status = api_decode(body, &object, why);
    return status ? status : object_read(object, "", NULL, 0, NULL, why);
}
