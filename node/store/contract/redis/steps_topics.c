/* The twins and all of a topic: lists, sweeps, settings, the scan and its history. */
#include "node/store/contract/redis/steps.h"

#define PLENTY \
    (INT64_C(1) << 40) /* bytes: no history is cut, for each store cuts in its own way */

void step_topics(enum op_verb verb, struct bytes topic)
{
    struct op op = {.verb = verb, .bucket = bucket_of(TOPIC)};

    op.in.topics.limit = 1 + twins_below(3);
    if (twins_below(2))
        op.in.topics.after = any_topic();
    op.in.topics.owners = twins_below(2);
    twins_run(op);
}

void step_topic(enum op_verb verb, struct bytes topic)
{
    twins_run((struct op){.verb = verb, .topic = topic});
}

/* ---- lists ---- */

/* One at a time, page after page; between them goes on what may. */
static struct {
    struct bytes topic,
        after; /* after "": it is over. Redis's cursor; the memory's is twins_next() */
    enum job_state state;
} pages;

static void begin_list(struct bytes topic)
{
    pages.topic = topic;
    pages.state = (enum job_state)(JOB_DELAYED + twins_below(4));
    pages.after = BYTES("");
}

void step_list(enum op_verb verb, struct bytes topic)
{
    struct op redis = {.verb = verb}, memory;

    if (!pages.after.len || !twins_below(6))
        begin_list(topic);
    redis.topic = pages.topic;
    redis.in.list.state = pages.state;
    redis.in.list.limit = 1 + twins_below(pages.after.len ? 8 : 3);
    memory = redis;
    redis.in.list.after = pages.after;
    if (pages.after.len)
        memory.in.list.after = twins_next();
    redis = twins_run_each(redis, memory);
    pages.after = redis.out.list.next;
}

void forget_list(void)
{
    pages.after = BYTES("");
}

/* ---- sweeps ---- */

void step_chunk(enum op_verb verb, struct bytes topic)
{
    struct op op = {.verb = verb, .topic = topic};

    op.in.chunk.state = (enum job_state)(JOB_DELAYED + twins_below(4));
    op.in.chunk.limit = 1 + twins_below(3);
    if (verb == OP_KICK || op.in.chunk.state == JOB_DEAD) {
        if (!twins_below(3))
            op.in.chunk.before_ms = twins_now() - twins_below(3);
        if (!twins_below(3))
            op.in.chunk.since_ms = twins_now() - twins_below(8);
    }
    if (verb == OP_KICK) {
        op.in.chunk.ttl_ms = twins_below(2) ? 0 : 1 + twins_below(9);
        op.in.chunk.tries = twins_below(2) ? 0 : 1 + twins_below(2);
    }
    twins_run(op);
}

/* ---- settings ---- */

/* Limits of the dead, and the history: some of them, with values that soon tell. */
static struct topic_settings any_settings(void)
{
    static const int64_t ages_ms[] = {0, 2, 6, FAR_MS};

    return (struct topic_settings){
        .set = twins_below(SETTINGS_ALL + 1) &
               (SETTING_BIT(DEAD_MAX) | SETTING_BIT(DEAD_AGE) | SETTING_BIT(HISTORY)),
        .dead_max = twins_below(3),
        .dead_age_ms = ages_ms[twins_below(4)],
        .history = twins_below(2),
    };
}

/* For some ms, until a time that may be past, or its end. */
static void pause_somehow(struct op *op)
{
    op->in.configure.has_pause = true;
    if (!twins_below(3))
        op->in.configure.pause_ms = 1 + twins_below(5);
    else if (!twins_below(3))
        op->in.configure.settings.paused_until_ms = twins_now() - 2 + twins_below(8);
}

void step_configure(enum op_verb verb, struct bytes topic)
{
    struct op op = {.verb = verb, .topic = topic};

    op.in.configure.settings = any_settings();
    op.in.configure.mask = twins_below(SETTINGS_ALL + 1);
    if (twins_below(4))
        pause_somehow(&op);
    twins_run(op);
}

/* ---- the scan, and the history ---- */

/* One of two nodes that mostly agree; with a view of some age. */
static void share_somehow(struct op *op)
{
    static const struct bytes owners[] = {{"00000000000000aa", 16}, {"00000000000000bb", 16}};
    static const int64_t times_ms[] = {0, 2, 8, 40};
    static struct scan_share share;
    static char marks[SHARES];
    unsigned who = twins_below(2);

    for (unsigned i = 0; i < SHARES; i++)
        marks[i] = twins_below(4) ? "+-"[(i + who) % 2] : "+~-"[twins_below(3)];
    share = (struct scan_share){
        .view = twins_below(3),
        .owner = owners[who],
        .marks = bytes_of(marks, SHARES),
        .lock_ms = 1 + times_ms[twins_below(4)],
        .late_ms = times_ms[twins_below(4)],
    };
    op->in.scan.share = &share;
}

/* Each store fills in its own. */
static void scan_with_pops(struct op redis)
{
    struct op pops[2][2] = {{{0}}}, *lists[2][2], memory = redis;
    unsigned count = 1 + twins_below(2);

    for (unsigned i = 0; i < count; i++) {
        pops[0][i] =
            (struct op){.verb = OP_POP,
                        .topic = i == 0 ? TOPIC : OTHER,
                        .in.pop = {.count = 1 + twins_below(3), .id_only = twins_below(2)}};
        pops[1][i] = pops[0][i];
        lists[0][i] = &pops[0][i];
        lists[1][i] = &pops[1][i];
    }
    redis.in.scan.pops = lists[0];
    memory.in.scan.pops = lists[1];
    redis.in.scan.pop_count = memory.in.scan.pop_count = count;
    redis = twins_run_each(redis, memory);
    if (redis.status != STATUS_OK)
        return;
    for (unsigned i = 0; i < pops[0][0].out.pop.count; i++)
        remember_lease(&pops[0][0].out.pop.jobs[i]);
}

void step_scan(enum op_verb verb, struct bytes topic)
{
    static const struct bytes patterns[] = {{"orders", 6}, {"*", 1}, {"mai*", 4}, {"other", 5}};
    struct op op = {.verb = verb, .bucket = bucket_of(TOPIC)};
    struct settings_rule rules[3];

    op.in.scan.limit = twins_below(3) ? 1000 : 1 + twins_below(3);
    op.in.scan.rule_count = twins_below(2) ? 0 : twins_below(4);
    op.in.scan.rules = rules;
    for (unsigned i = 0; i < op.in.scan.rule_count; i++)
        rules[i] = (struct settings_rule){patterns[twins_below(4)], any_settings()};
    op.in.scan.node = BYTES("node");
    op.in.scan.history_bytes = twins_below(4) ? PLENTY : 0;
    if (twins_below(2))
        share_somehow(&op);
    if (twins_below(2))
        twins_run(op);
    else
        scan_with_pops(op);
}

void step_record(enum op_verb verb, struct bytes topic)
{
    struct op op = {.verb = verb, .bucket = bucket_of(TOPIC)};
    struct history_item item = {
        .event = (enum job_event)twins_below(EVENT_COUNT),
        .time_ms = twins_now(),
        .at_ms = twins_now() + twins_below(100),
        .tries = twins_below(3),
        .topic = topic,
        .id = any_id(),
        .node = BYTES("node"),
        .client = twins_below(2) ? BYTES("somebody") : BYTES(""),
    };

    op.in.record.items = &item;
    op.in.record.count = 1;
    op.in.record.bytes_max = PLENTY;
    twins_run(op);
}

void step_trace(enum op_verb verb, struct bytes topic)
{
    struct op op = {.verb = verb, .topic = topic, .id = any_id()};

    op.in.trace.limit = 1 + twins_below(4);
    twins_run(op);
}

/* ---- identities: of TOPIC's bucket; they outlive the lives of the jobs ---- */

static const char *const change_ids[] = {"0000000000000001", "0000000000000002",
                                         "0123456789abcdef"};

static struct bytes any_change(void)
{
    return bytes_of_text(change_ids[twins_below(3)]);
}

void step_identify(enum op_verb verb, struct bytes topic)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    static const char *const lines[] = {"", "", "x token=1", "y token=2,3 cert=DNS:x",
                                        "z token=2"};
    static const struct bytes marks[] = {BYTES("1"), BYTES("cert=DNS:x"), BYTES("2"),
                                         BYTES("3")};
    static int64_t last;
    const int64_t expected[] = {-1, -1, 0, last};
    struct op op = {.verb = verb, .bucket = bucket_of(TOPIC)};

    op.id = bytes_of_text(names[twins_below(4)]);
    op.in.identify.line = bytes_of_text(lines[twins_below(5)]);
    op.in.identify.id = any_change();
    op.in.identify.expected = expected[twins_below(4)];
    if (!twins_below(3))
        op.in.identify.as = 1 + twins_below((unsigned)last + 3);
    if (!twins_below(4))
        op.in.identify.floor = last + twins_below(3);
    op.in.identify.marks = &marks[twins_below(4)];
    op.in.identify.mark_count = twins_below(2);
    op = twins_run(op);
    if (op.status == STATUS_OK)
        last = op.out.identify.version;
}

void step_identities(enum op_verb verb, struct bytes topic)
{
    struct op op = {.verb = verb, .bucket = bucket_of(TOPIC)};

    if (twins_below(2))
        op.in.identities.known = any_change();
    twins_run(op);
}
