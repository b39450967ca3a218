/* The twins and single jobs: pushed, held, moved, looked at. */
#include "node/store/contract/redis/steps.h"

#define LEASES_MAX  16 /* remembered, valid or not */
#define OWN_IDS_MAX 80
#define IDS         6

static const char *const ids[IDS] = {"a", "b", "c", "d", "e", "f"};

static struct {
    struct lease leases[LEASES_MAX]; /* ids are in `ids` or in `own` */
    unsigned lease_count;
    struct bytes own[OWN_IDS_MAX]; /* given by the store in this life */
    unsigned own_count;
} known;

/* ---- what there is ---- */

struct bytes any_topic(void)
{
    return twins_below(4) ? TOPIC : OTHER;
}

struct bytes any_id(void)
{
    if (known.own_count && !twins_below(4))
        return known.own[twins_below(known.own_count)];
    return bytes_of_text(ids[twins_below(IDS)]);
}

static struct lease any_lease(void)
{
    if (!known.lease_count || !twins_below(8))
        return (struct lease){.id = any_id(), .stamp = 1 + twins_below(1000)};
    if (twins_below(3)) /* one of the last, which may be valid */
        return known.leases[known.lease_count - 1 - twins_below(known.lease_count) / 4];
    return known.leases[twins_below(known.lease_count)];
}

void remember_lease(const struct job *job)
{
    if (known.lease_count == LEASES_MAX)
        memmove(known.leases, known.leases + 1, --known.lease_count * sizeof(struct lease));
    known.leases[known.lease_count++] = (struct lease){.id = job->id, .stamp = job->stamp};
}

/* At once, in some milliseconds, or in about an hour. */
static int64_t any_delay(void)
{
    return twins_below(2)    ? 0
           : twins_below(2)  ? 1 + twins_below(3)
           : twins_below(20) ? FAR_MS - twins_below(1000)
                             : JOB_DELAY_MAX_MS + 1 - twins_below(3);
}

static struct job_rules any_rules(void)
{
    static const uint32_t priorities[] = {0, 5, 5, 1023, 1024, 1025, 5000, RULES_PRIORITY_MAX};
    struct job_rules rules = rules_default;

    rules.priority = priorities[twins_below(8)];
    rules.max_tries = twins_below(2) ? 0 : 1 + twins_below(2);
    if (twins_below(2))
        rules.backoff =
            (struct backoff){.kind = twins_below(2) ? BACKOFF_FIXED : BACKOFF_EXPONENTIAL,
                             .jitter_percent = twins_below(101),
                             .base_ms = 1 + twins_below(3),
                             .cap_ms = twins_below(2) ? 0 : 3};
    return rules;
}

/* ---- one operation ---- */

static struct op any_push(struct bytes topic)
{
    static const int64_t ttrs_ms[] = {0, 1, 2, 800, 1500, TTR_MS};
    static char body[OP_POP_BYTES_MAX];
    struct op op = push_op(topic, "");

    if (twins_below(6))
        op.id = bytes_of_text(ids[twins_below(IDS)]);
    op.in.push.body = bytes_of(body, twins_below(3) ? twins_below(100) : twins_below(3000));
    if (!twins_below(5)) /* two of them are more than one answer holds */
        op.in.push.body = bytes_of(body, sizeof(body) / 2 + twins_below(sizeof(body) / 2));
    op.in.push.delay_ms = any_delay();
    op.in.push.ttr_ms = ttrs_ms[twins_below(6)];
    if (!twins_below(8))
        op.in.push.at_ms = 1 + twins_now() - 100 + twins_below(200);
    if (twins_below(2))
        op.in.push.rules = any_rules();
    if (!twins_below(4))
        op.in.push.ttl_ms = twins_below(2) ? 1 + twins_below(9) : FAR_MS + twins_below(1000);
    op.in.push.ttl_from_due = twins_below(2);
    if (twins_below(2)) {
        op.in.push.has_extra = true;
        op.in.push.by_id = twins_below(3);
        op.in.push.attributes = twins_below(2) ? BYTES("") : BYTES("\1a\0\3one");
    }
    op.in.push.mode = (enum push_mode)twins_below(3);
    op.in.push.is_indexed = twins_below(2);
    op.in.push.jobs_max = twins_below(3) ? 0 : 1 + twins_below(9);
    op.in.push.bytes_max =
        twins_below(3) ? 0 : 1 + twins_below(twins_below(4) ? 8000 : 4000000);
    return op;
}

static void remember_own(const struct op *op)
{
    if (op->status == STATUS_OK && op->out.push.id.len > 1 && known.own_count < OWN_IDS_MAX)
        known.own[known.own_count++] = op->out.push.id;
}

void step_push(enum op_verb verb, struct bytes topic)
{
    struct op op = twins_run(any_push(topic));

    remember_own(&op);
}

/* As most pushes are: several of them can share a call. */
static void make_plain(struct op *push)
{
    push->in.push.mode = PUSH_REJECT;
    push->in.push.ttl_ms = 0;
    push->in.push.attributes = BYTES("");
    if (twins_below(2))
        push->in.push.rules.priority = RULES_PRIORITY_DEFAULT;
}

static struct op any_lease_op(enum op_verb verb, struct bytes topic)
{
    struct lease lease = any_lease();
    struct op op = {
        .verb = verb, .topic = topic, .id = lease.id, .in.lease.stamp = lease.stamp};

    if (verb == OP_RELEASE)
        op.in.lease.delay_ms = twins_below(3) ? any_delay() : -1;
    if (verb == OP_RELEASE && !twins_below(4)) {
        op.in.lease.delay_ms = 0;
        op.in.lease.is_end = true;
    }
    if (verb == OP_RELEASE || verb == OP_BURY) {
        op.in.lease.has_priority = twins_below(2);
        op.in.lease.priority = any_rules().priority;
    }
    op.in.lease.is_owned = twins_below(2);
    if (verb == OP_TOUCH)
        op.in.lease.ttr_ms = twins_below(2) ? 0 : 1 + twins_below(3);
    return op;
}

void step_together(enum op_verb verb, struct bytes topic)
{
    struct op ops[TOGETHER_MAX];
    unsigned count = 2 + twins_below(TOGETHER_MAX - 1);

    for (unsigned i = 0; i < count; i++) {
        ops[i] = verb == OP_PUSH ? any_push(topic) : any_lease_op(verb, topic);
        if (verb == OP_PUSH && twins_below(4))
            make_plain(&ops[i]);
        if (verb == OP_RELEASE) /* one call: two might wake for a line each */
            ops[i].in.lease.is_owned = ops[0].in.lease.is_owned;
    }
    twins_run_together(ops, count);
    for (unsigned i = 0; verb == OP_PUSH && i < count; i++)
        remember_own(&ops[i]);
}

/* No lease twice, callers do not do that. */
void step_leases(enum op_verb verb, struct bytes topic)
{
    unsigned count = 0, first = twins_below(LEASES_MAX);
    bool are_neighbours = twins_below(2); /* often of one pop */
    struct lease leases[3];

    for (unsigned i = 0; i < 3; i++) {
        struct lease lease = any_lease();
        unsigned j = 0;

        if (are_neighbours && known.lease_count)
            lease = known.leases[(first + i) % known.lease_count];
        while (j < count && !bytes_equal(leases[j].id, lease.id))
            j++;
        if (j == count)
            leases[count++] = lease;
    }
    if (verb == OP_DELIVERED && !twins_below(3)) {
        leases[0].has_ttr = true;
        leases[0].ttr_ms = twins_below(2) ? 0 : 1 + twins_below(2000);
    }
    if (verb == OP_DELIVERED && twins_below(2))
        leases[0].holder = BYTES("somebody");
    twins_run((struct op){
        .verb = verb,
        .topic = topic,
        .in.leases = {.items = leases, .count = count, .is_owned = twins_below(2)}});
}

void step_lease(enum op_verb verb, struct bytes topic)
{
    twins_run(any_lease_op(verb, topic));
}

void step_notes(enum op_verb verb, struct bytes topic)
{
    struct op op = {.verb = verb, .bucket = bucket_of(TOPIC)};

    op.in.notes.limit = OP_NOTES_MAX;
    twins_run(op);
}

void step_take(enum op_verb verb, struct bytes topic)
{
    struct op op = {.verb = verb, .topic = topic, .id = any_id()};

    op.in.pop =
        (typeof(op.in.pop)){.count = 1, .id_only = twins_below(2), .is_owned = twins_below(2)};
    op = twins_run(op);
    if (op.status == STATUS_OK)
        remember_lease(&op.out.pop.jobs[0]);
}

void step_id(enum op_verb verb, struct bytes topic)
{
    struct op op = {.verb = verb, .topic = topic, .bucket = bucket_of(TOPIC), .id = any_id()};

    if (verb == OP_OWNER && twins_below(3))
        op.topic = bytes_of("", 0);
    if (verb == OP_MOVE) {
        op.in.move.delay_ms = any_delay();
        op.in.move.states = FROM_ANYWHERE & (twins_below(2) ? ~0u : twins_below(32));
    }
    twins_run(op);
}

/* ---- the end of a life ---- */

void cancel_all(struct bytes topic)
{
    for (unsigned i = 0; i < IDS; i++)
        twins_run((struct op){.verb = OP_CANCEL, .topic = topic, .id = bytes_of_text(ids[i])});
    for (unsigned i = 0; i < known.own_count; i++)
        twins_run((struct op){.verb = OP_CANCEL, .topic = topic, .id = known.own[i]});
}

void forget_jobs(void)
{
    memset(&known, 0, sizeof(known));
}
