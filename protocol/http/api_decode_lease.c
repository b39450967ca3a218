/* Of api_decode.h: leases, and other times. */
#include <assert.h>

#include "node/queue/queue.h"
#include "protocol/http/api_decode.h"

#define LEASE_RULE                                \
    {                                             \
        .name = "lease", .kind = JSON_KIND_STRING \
    }

/* What stands beside the lease is one number at most. */
static const struct lease_rules {
    unsigned count;
    struct object_rule rules[2];
} lease_rules[OP_COUNT] = {
    [OP_ACK] = {1, {LEASE_RULE}},
    [OP_BURY] = {1, {LEASE_RULE}},
    [OP_RELEASE] = {2, {LEASE_RULE, OBJECT_NUMBER("delay_ms", 0, QUEUE_DELAY_MAX_MS)}},
    [OP_TOUCH] = {2, {LEASE_RULE, OBJECT_NUMBER("ttr_ms", 0, QUEUE_TTR_MAX_MS)}},
};

/* The stamp, in decimal, as pop has written it. */
static enum status read_stamp(const struct object_member *proof, int64_t *stamp,
                              struct api_why *why)
{
    int64_t found;

    if (!proof->is_given)
        return api_because(why, STATUS_BAD_REQUEST,
                           "lease: missing (pop gives it with each job)");
    if (!object_digits(proof->text, &found) || found > JOB_STAMP_MAX)
        return api_because(why, STATUS_BAD_REQUEST, "lease: not one that pop gives");
    *stamp = found;
    return STATUS_OK;
}

enum status api_decode_lease(struct bytes object, enum op_verb verb, struct api_lease *lease,
                             struct api_why *why)
{
    const struct lease_rules *rules = &lease_rules[verb];
    struct object_member members[2] = {{0}};
    int64_t stamp = 0;
    enum status status;

    assert(rules->count);
    status = object_read(object, "", rules->rules, rules->count, members, why);
    if (!status)
        status = read_stamp(&members[0], &stamp, why);
    if (status)
        return status;
    *lease = (struct api_lease){.stamp = stamp};
    if (verb == OP_RELEASE)
        lease->delay_ms = members[1].is_given ? members[1].number : -1;
    if (verb == OP_TOUCH)
        lease->ttr_ms = members[1].number;
    return STATUS_OK;
}

enum status api_decode_one_lease(struct bytes object, struct api_lease *lease,
                                 struct api_why *why)
{
    static const struct object_rule rules[] = {LEASE_RULE,
                                               {.name = "id", .kind = JSON_KIND_STRING}};
    struct object_member members[2] = {{0}};
    int64_t stamp = 0;
    enum status status = object_read(object, "", rules, 2, members, why);

    if (!status && !members[1].is_given)
        status = api_because(why, STATUS_BAD_REQUEST, "id: missing");
    if (!status)
        status = read_stamp(&members[0], &stamp, why);
    if (!status)
        *lease = (struct api_lease){.id = members[1].text, .stamp = stamp};
    return status;
}

/* ---- another time ---- */

enum status api_decode_move(struct bytes object, struct api_move *move, struct api_why *why)
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
    *move = (struct api_move){.delay_ms = members[0].number, .at_ms = members[1].number};
    return STATUS_OK;
}
