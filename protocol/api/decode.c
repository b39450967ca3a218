#include "protocol/api/decode.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/encoding.h"
#include "node/queue/queue.h"
#include "protocol/json/read.h"

/* ---- backoff ---- */

enum { BACKOFF_KIND, BACKOFF_BASE, BACKOFF_CAP, BACKOFF_JITTER, BACKOFF_MEMBERS };

static const struct object_rule backoff_rules[BACKOFF_MEMBERS] = {
    [BACKOFF_KIND] = {.name = "kind", .kind = JSON_KIND_STRING},
    [BACKOFF_BASE] = OBJECT_NUMBER("base_ms", 1, RULES_BACKOFF_MAX_MS),
    [BACKOFF_CAP] = OBJECT_NUMBER("cap_ms", 0, RULES_BACKOFF_MAX_MS),
    [BACKOFF_JITTER] = OBJECT_NUMBER("jitter_percent", 0, 100),
};

/* Fixed delays do not grow, so they have no cap (0 is none). */
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

/* A backoff has a base; the kind "none" has nothing. */
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

/* {"kind", "base_ms", "cap_ms", "jitter_percent"}, what stands under "backoff". */
static enum status decode_backoff(struct bytes object, struct backoff *backoff,
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

/* Members that the topic's settings replace where they are left out. */
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
    else if (!base64_decode(encoded->text, body))
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

/* Checks that take several members. */
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

enum status api_decode_push(struct bytes object, struct op *op, struct api_why *why)
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
        status = decode_backoff(members[PUSH_BACKOFF].value, &backoff, why);
    if (!status)
        status = check_together(members, why);
    if (status)
        return status;
    op->id = members[PUSH_ID].text;
    op->in.push.body = body;
    op->in.push.delay_ms = members[PUSH_DELAY].number;
    op->in.push.at_ms = members[PUSH_AT].number;
    op->in.push.ttr_ms = members[PUSH_TTR].number;
    op->in.push.ttl_ms = members[PUSH_TTL].number;
    op->in.push.rules.priority = (uint32_t)members[PUSH_PRIORITY].number;
    op->in.push.rules.max_tries = (unsigned)members[PUSH_MAX_TRIES].number;
    op->in.push.rules.backoff = backoff;
    op->in.push.mode = mode;
    op->in.push.given = given_of(members);
    return STATUS_OK;
}

/* ---- lists ---- */

enum status api_count(struct bytes list, const char *what, unsigned *count, struct api_why *why)
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

enum status api_decode_leases(struct bytes object, struct bytes *list, unsigned *count,
                              struct api_why *why)
{
    static const struct object_rule rule = {.name = "leases", .kind = JSON_KIND_LIST};
    struct object_member leases = {0};
    enum status status = object_read(object, "", &rule, 1, &leases, why);

    if (!status && !leases.is_given)
        status = api_because(why, STATUS_BAD_REQUEST, "leases: missing");
    if (!status)
        status = api_count(leases.value, "leases", count, why);
    if (!status)
        *list = leases.value;
    return status;
}

/* ---- the whole body ---- */

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

    if (!json_trim(body).len)
        return api_because(why, STATUS_BAD_REQUEST,
                           "the body is missing (an object, {} at least)");
    if (fault)
        return api_because(why, STATUS_BAD_REQUEST, "%s, at byte %zu", faults[fault], at_byte);
    *value = json_trim(body);
    return STATUS_OK;
}

enum status api_decode_nothing(struct bytes body, struct api_why *why)
{
    struct bytes object = BYTES("");
    enum status status;

    if (!json_trim(body).len)
        return STATUS_OK;
    status = api_decode(body, &object, why);
    return status ? status : object_read(object, "", NULL, 0, NULL, why);
}

/* Leases, and other due times. */

#define LEASE_RULE                                \
    {                                             \
        .name = "lease", .kind = JSON_KIND_STRING \
    }

/* Beside the lease stands one number at most. */
static const struct lease_rules {
    unsigned count;
    struct object_rule rules[2];
} lease_rules[OP_COUNT] = {
    [OP_ACK] = {1, {LEASE_RULE}},
    [OP_BURY] = {1, {LEASE_RULE}},
    [OP_RELEASE] = {2, {LEASE_RULE, OBJECT_NUMBER("delay_ms", 0, QUEUE_DELAY_MAX_MS)}},
    [OP_TOUCH] = {2, {LEASE_RULE, OBJECT_NUMBER("ttr_ms", 0, QUEUE_TTR_MAX_MS)}},
};

/* Exactly what api_add_popped() writes. */
static bool read_check(struct bytes text, uint64_t *check)
{
    uint64_t found;

    if (!hex_read(text, &found, sizeof(found)))
        return false;
    *check = be64toh(found);
    return true;
}

#define STAMP_DIGITS_MAX 15 /* of JOB_STAMP_MAX */

static bool parse_lease(struct bytes text, struct op_lease *lease)
{
    const char *dash = text.len ? memchr(text.at, '-', text.len) : NULL;
    size_t len = dash ? (size_t)(dash - text.at) : text.len;

    lease->has_check = dash != NULL;
    return len <= STAMP_DIGITS_MAX && digits_read(bytes_of(text.at, len), &lease->stamp) &&
           lease->stamp <= JOB_STAMP_MAX &&
           (!dash || read_check(bytes_of(dash + 1, text.len - len - 1), &lease->check));
}

/* The stamp, in decimal, and its check, as pop has written them. */
static enum status read_lease(const struct object_member *given, struct op_lease *lease,
                              struct api_why *why)
{
    struct op_lease found = {0};

    if (!given->is_given)
        return api_because(why, STATUS_BAD_REQUEST,
                           "lease: missing (pop gives it with each job)");
    if (!parse_lease(given->text, &found))
        return api_because(why, STATUS_BAD_REQUEST, "lease: not one that pop gives");
    *lease = found;
    return STATUS_OK;
}

enum status api_decode_lease(struct bytes object, struct op *op, struct api_why *why)
{
    const struct lease_rules *rules = &lease_rules[op->verb];
    struct object_member members[2] = {{0}};
    enum status status;

    assert(rules->count);
    status = object_read(object, "", rules->rules, rules->count, members, why);
    if (!status)
        status = read_lease(&members[0], &op->in.lease, why);
    if (status)
        return status;
    if (op->verb == OP_RELEASE)
        op->in.lease.delay_ms = members[1].is_given ? members[1].number : -1;
    if (op->verb == OP_TOUCH)
        op->in.lease.ttr_ms = members[1].number;
    return STATUS_OK;
}

enum status api_decode_one_lease(struct bytes object, struct op *op, struct api_why *why)
{
    static const struct object_rule rules[] = {LEASE_RULE,
                                               {.name = "id", .kind = JSON_KIND_STRING}};
    struct object_member members[2] = {{0}};
    enum status status = object_read(object, "", rules, 2, members, why);

    if (!status && !members[1].is_given)
        status = api_because(why, STATUS_BAD_REQUEST, "id: missing");
    if (!status)
        status = read_lease(&members[0], &op->in.lease, why);
    if (status)
        return status;
    op->id = members[1].text;
    return STATUS_OK;
}

/* ---- another time ---- */

enum status api_decode_move(struct bytes object, struct op *op, struct api_why *why)
{
    static const struct object_rule rules[] = {
        OBJECT_NUMBER("delay_ms", 0, QUEUE_DELAY_MAX_MS),
        OBJECT_MOMENT("at_ms", QUEUE_AT_MAX_MS),
    };
    struct object_member members[2] = {{0}};
    enum status status = object_read(object, "", rules, 2, members, why);

    if (status)
        return status;
    if (members[0].is_given == members[1].is_given)
        return api_because(why, STATUS_BAD_REQUEST,
                           "delay_ms: %s (delay_ms or at_ms, one of them)",
                           members[0].is_given ? "not together with at_ms" : "missing");
    op->in.move.delay_ms = members[0].number;
    op->in.move.at_ms = members[1].number;
    return STATUS_OK;
}

/* ---- api_decode_topic ---- */

#define SWEEP_LIMIT_MAX 1000000000

const char *const api_states[JOB_DEAD + 1] = {
    [JOB_DELAYED] = "delayed",
    [JOB_READY] = "ready",
    [JOB_RESERVED] = "reserved",
    [JOB_DEAD] = "dead",
};

/* ---- whole states ---- */

enum { SWEEP_LIMIT, SWEEP_SINCE, SWEEP_BEFORE, SWEEP_STATES, SWEEP_MEMBERS };

static const struct object_rule sweep_rules[SWEEP_MEMBERS] = {
    [SWEEP_LIMIT] = OBJECT_NUMBER("limit", 1, SWEEP_LIMIT_MAX),
    [SWEEP_SINCE] = OBJECT_MOMENT_OR_0("since_ms", QUEUE_AT_MAX_MS),
    [SWEEP_BEFORE] = OBJECT_MOMENT("before_ms", QUEUE_AT_MAX_MS),
    [SWEEP_STATES] = {.name = "states", .kind = JSON_KIND_LIST}, /* PURGE alone */
};

static enum status read_state(struct bytes word, unsigned *states, struct api_why *why)
{
    unsigned state = 0;
    enum status status;

    if (json_kind_of(word) != JSON_KIND_STRING)
        return api_because(why, STATUS_BAD_REQUEST, "states: not strings");
    status = object_word(json_unescape(word), "states", api_states, JOB_DEAD + 1, &state, why);
    if (!status && *states & 1u << state)
        return api_because(why, STATUS_BAD_REQUEST, "states: %s given twice",
                           api_states[state]);
    *states |= 1u << state;
    return status;
}

static enum status read_states(struct bytes list, unsigned *states, struct api_why *why)
{
    struct json_walk walk = json_walk_into(list);
    enum status status = STATUS_OK;
    struct bytes word;

    while (!status && json_walk_element(&walk, &word))
        status = read_state(word, states, why);
    if (!status && !*states)
        return api_because(why, STATUS_BAD_REQUEST,
                           "states: missing (delayed, ready, reserved, dead, some of them)");
    return status;
}

enum status api_decode_sweep(struct bytes object, struct sweep *sweep, struct api_why *why)
{
    struct object_member members[SWEEP_MEMBERS] = {{0}};
    unsigned count = sweep->verb == OP_PURGE ? SWEEP_MEMBERS : SWEEP_STATES;
    enum status status = object_read(object, "", sweep_rules, count, members, why);
    unsigned states = 0;

    if (!status && sweep->verb == OP_PURGE)
        status = read_states(members[SWEEP_STATES].value, &states, why);
    if (status)
        return status;
    for (unsigned i = SWEEP_SINCE; i <= SWEEP_BEFORE; i++)
        if (members[i].is_given && states & ~(1u << JOB_DEAD))
            return api_because(why, STATUS_BAD_REQUEST, "%s: of dead jobs alone",
                               sweep_rules[i].name);
    sweep->states = states;
    sweep->limit = (uint64_t)members[SWEEP_LIMIT].number;
    sweep->since_ms = members[SWEEP_SINCE].number;
    sweep->before_ms = members[SWEEP_BEFORE].number;
    return STATUS_OK;
}

/* ---- pauses ---- */

enum status api_decode_pause(struct bytes object, struct op *op, struct api_why *why)
{
    static const struct object_rule rules[] = {
        OBJECT_NUMBER("for_ms", 1, QUEUE_DELAY_MAX_MS),
        OBJECT_MOMENT("until_ms", SETTINGS_FOREVER - 1),
    };
    struct object_member members[2] = {{0}};
    enum status status = object_read(object, "", rules, 2, members, why);

    if (status)
        return status;
    if (members[0].is_given && members[1].is_given)
        return api_because(why, STATUS_BAD_REQUEST, "for_ms: not together with until_ms");
    op->in.configure.has_pause = true;
    op->in.configure.pause_ms = members[0].number;
    op->in.configure.settings.paused_until_ms =
        members[1].is_given ? members[1].number : SETTINGS_FOREVER;
    return STATUS_OK;
}

/* ---- settings ---- */

#define JSON_OF_DURATION JSON_KIND_NUMBER
#define JSON_OF_COUNT    JSON_KIND_NUMBER
#define JSON_OF_SIZE     JSON_KIND_NUMBER
#define JSON_OF_SWITCH   JSON_KIND_BOOL
#define JSON_OF_BACKOFF  JSON_KIND_OBJECT

static const struct object_rule setting_rules[SETTING_COUNT] = {
#define X(which, word, field, type, bytes, largest, ...) \
    [SETTING_##which] = {                                \
        .name = #field, .kind = JSON_OF_##type, .max = (largest), .may_be_null = true},
    TOPIC_SETTING_LIST(X)
#undef X
};

/* The settings that are given, or are null; returns the bits of both. */
static unsigned take_settings(const struct object_member *members, struct topic_settings *to)
{
    unsigned mask = 0;

    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        enum setting_kind kind = setting_kind(i);

        if (kind != SETTING_BACKOFFS)
            setting_set_number(to, i,
                               kind == SETTING_SWITCH ? members[i].is_true : members[i].number);
        mask |= (unsigned)members[i].is_given << i;
        to->set |= (unsigned)(members[i].is_given && !members[i].is_null) << i;
    }
    return mask;
}

enum status api_decode_settings(struct bytes object, struct op *op, struct api_why *why)
{
    struct object_member members[SETTING_COUNT] = {{0}};
    enum status status = object_read(object, "", setting_rules, SETTING_COUNT, members, why);
    struct topic_settings settings = {0};
    unsigned mask;

    if (status)
        return status;
    mask = take_settings(members, &settings);
    if (!mask)
        return api_because(why, STATUS_BAD_REQUEST, "no setting is given");
    if (settings.set & SETTING_BIT(BACKOFF))
        status = decode_backoff(members[SETTING_BACKOFF].value, &settings.backoff, why);
    if (status)
        return status;
    op->in.configure.settings = settings;
    op->in.configure.mask = mask;
    return STATUS_OK;
}
