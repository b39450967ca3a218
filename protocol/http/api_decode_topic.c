#include "protocol/http/api_decode_topic.h"

#include "node/queue/queue.h"

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

enum status api_decode_sweep(struct bytes object, enum op_verb verb, struct api_sweep *sweep,
                             struct api_why *why)
{
    struct object_member members[SWEEP_MEMBERS] = {{0}};
    unsigned count = verb == OP_PURGE ? SWEEP_MEMBERS : SWEEP_STATES;
    enum status status = object_read(object, "", sweep_rules, count, members, why);
    unsigned states = 0;

    if (!status && verb == OP_PURGE)
        status = read_states(members[SWEEP_STATES].value, &states, why);
    if (status)
        return status;
    for (unsigned i = SWEEP_SINCE; i <= SWEEP_BEFORE; i++)
        if (members[i].is_given && states & ~(1u << JOB_DEAD))
            return api_because(why, STATUS_BAD_REQUEST, "%s: of dead jobs alone",
                               sweep_rules[i].name);
    *sweep = (struct api_sweep){
        .states = states,
        .limit = (uint64_t)members[SWEEP_LIMIT].number,
        .since_ms = members[SWEEP_SINCE].number,
        .before_ms = members[SWEEP_BEFORE].number,
    };
    return STATUS_OK;
}

/* ---- pauses ---- */

enum status api_decode_pause(struct bytes object, struct api_pause *pause, struct api_why *why)
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
    *pause = (struct api_pause){
        .until_ms = members[1].is_given ? members[1].number : SETTINGS_FOREVER,
        .for_ms = members[0].number,
    };
    return STATUS_OK;
}

/* ---- settings ---- */

#define OR_NULL(member, type, largest)                                                    \
    {                                                                                     \
        .name = (member), .kind = JSON_KIND_##type, .max = (largest), .may_be_null = true \
    }

static const struct object_rule setting_rules[SETTING_COUNT] = {
    [SETTING_TTR] = OR_NULL("ttr_ms", NUMBER, QUEUE_TTR_MAX_MS),
    [SETTING_PRIORITY] = OR_NULL("priority", NUMBER, RULES_PRIORITY_MAX),
    [SETTING_MAX_TRIES] = OR_NULL("max_tries", NUMBER, RULES_TRIES_MAX),
    [SETTING_BACKOFF] = OR_NULL("backoff", OBJECT, 0),
    [SETTING_TTL] = OR_NULL("ttl_ms", NUMBER, QUEUE_DELAY_MAX_MS),
    [SETTING_DEAD_MAX] = OR_NULL("dead_max", NUMBER, UINT32_MAX),
    [SETTING_DEAD_AGE] = OR_NULL("dead_age_ms", NUMBER, QUEUE_DELAY_MAX_MS),
    [SETTING_HISTORY] = OR_NULL("history", BOOL, 0),
};

#undef OR_NULL

static void take_settings(const struct object_member *members, struct api_settings *to)
{
    *to = (struct api_settings){.settings = {
                                    .ttr_ms = members[SETTING_TTR].number,
                                    .priority = (uint32_t)members[SETTING_PRIORITY].number,
                                    .max_tries = (unsigned)members[SETTING_MAX_TRIES].number,
                                    .ttl_ms = members[SETTING_TTL].number,
                                    .dead_max = members[SETTING_DEAD_MAX].number,
                                    .dead_age_ms = members[SETTING_DEAD_AGE].number,
                                    .history = members[SETTING_HISTORY].is_true,
                                }};
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        to->mask |= (unsigned)members[i].is_given << i;
        to->settings.set |= (unsigned)(members[i].is_given && !members[i].is_null) << i;
    }
}

enum status api_decode_settings(struct bytes object, struct api_settings *settings,
                                struct api_why *why)
{
    struct object_member members[SETTING_COUNT] = {{0}};
    enum status status = object_read(object, "", setting_rules, SETTING_COUNT, members, why);
    struct backoff backoff = {0};
    struct api_settings found;

    if (status)
        return status;
    take_settings(members, &found);
    if (!found.mask)
        return api_because(why, STATUS_BAD_REQUEST, "no setting is given");
    if (found.settings.set & SETTING_BIT(BACKOFF))
        status = api_decode_backoff(members[SETTING_BACKOFF].value, &backoff, why);
    if (status)
        return status;
    found.settings.backoff = backoff;
    *settings = found;
    return STATUS_OK;
}
