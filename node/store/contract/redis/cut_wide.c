/* What a scan, a repair, a change of settings or a line of history leaves behind when it breaks
 * off.
 */
#include "node/store/contract/redis/cut.h"
#include "node/store/contract/identities.h"
#include "node/store/contract/locks.h"

/* ---- scan ---- */

static void add(const char *id)
{
    unsigned i = 0;

    while (cut_scene.more[i])
        i++;
    cut_scene.more[i] = id;
}

/* Its reservation, which its consumer has, is over at once. */
static void let_time_out(const struct job *job)
{
    assert_status(touch(job, 1), OK);
}

static void push_resting(void)
{
    struct op op = push_op(TOPIC, "resting");
    struct job job;

    op.in.push.rules.priority = 1;
    op.in.push.rules.backoff = (struct backoff){.kind = BACKOFF_FIXED, .base_ms = FAR_MS};
    job = reserve(op);
    assert_bytes(job.id, BYTES("resting"));
    let_time_out(&job);
    add("resting");
}

/* The oldest dead job goes with the next scan. */
static void allow_one_dead(void)
{
    struct topic_settings settings = {
        .set = SETTING_BIT(DEAD_MAX) | SETTING_BIT(HISTORY), .dead_max = 1, .history = true};

    configure(settings, settings.set);
}

/* One job expires, two become due, of the reservations one is the last, one rests, and one
 * becomes ready; a dead one is too many, and a pause ends. */
static struct op scan_it(const char *id)
{
    struct op op = scan_op();

    push_resting();
    let_time_out(&cut_scene.held);
    let_time_out(&cut_scene.popped);
    assert_status(move("delayed", 1, FROM(DELAYED)), OK);
    push_delayed("due", 1);
    add("due");
    push_mortal("mortal", 0, 1);
    add("mortal");
    allow_one_dead();
    wait_until(pause_for(1).now_ms + 2);
    op.in.scan.node = BYTES("node");
    op.in.scan.history_bytes = 100;
    return op;
}

static struct op scan_two(const char *id)
{
    struct op op = scan_it(id);

    op.in.scan.limit = 2;
    return op;
}

/* By one node of many, which takes the topic's lock. */
static struct op scan_own(const char *id)
{
    static struct sharer all;
    struct op op = scan_it(id);

    sharer_init(&all, "node", "00000000000000aa", SHARE_OWN, 7);
    op.in.scan.share = &all.share;
    return op;
}

/* The scan, with the pop of a consumer that waits for so many jobs. */
static struct op with_a_pop(struct op scan, unsigned count)
{
    static struct op pop, *pops[] = {&pop};

    pop = (struct op){
        .verb = OP_POP, .topic = TOPIC, .in.pop = {.count = count, .id_only = true}};
    scan.in.scan.pops = pops;
    scan.in.scan.pop_count = 1;
    return scan;
}

/* A consumer waits for three of them. */
static struct op scan_for_a_consumer(const char *id)
{
    struct op op = with_a_pop(scan_it(id), 3);

    cut_scene.pops_behind = true;
    return op;
}

/* A consumer waits, and the line is empty: what becomes due goes to it at once. */
static struct op scan_past_the_line(const char *id)
{
    contract_pop_indexed(); /* "ready" */
    contract_pop_indexed(); /* and "plain" */
    assert_status(move("delayed", FAR_MS, FROM(DELAYED)), OK);
    push_delayed("due", 1);
    add("due");
    wait_until(push_delayed("second", 1).out.push.due_ms);
    add("second");
    cut_scene.never = "RPUSH";
    return with_a_pop(scan_op(), 2);
}

static void no_job_is_lost_by_a_scan(void **state)
{
    assert_survived(scan_past_the_line, "", "");
    assert_survived(scan_for_a_consumer, "", "dead");
    assert_survived(scan_own, "", "dead");
    assert_survived(scan_it, "", "dead");
    assert_survived(scan_two, "", "dead");
}

/* ---- settings and history ---- */

static struct op pause_it(const char *id)
{
    return pause_op(TOPIC, 0, FAR_MS);
}

static struct op resume_it(const char *id)
{
    pause_until(SETTINGS_FOREVER);
    return pause_op(TOPIC, 0, 0);
}

static struct op limit_it(const char *id)
{
    struct op op = {.verb = OP_CONFIGURE, .topic = TOPIC};

    op.in.configure.mask = SETTINGS_ALL;
    op.in.configure.settings.set = SETTING_BIT(DEAD_MAX);
    op.in.configure.settings.dead_max = 1;
    return op;
}

static void no_job_is_lost_with_a_change_of_settings(void **state)
{
    assert_survived(pause_it, "", "");
    assert_survived(resume_it, "", "");
    assert_survived(limit_it, "", "");
}

/* A page that drops a row: of a topic that is none, whose pause is over. */
static struct op look_at_settings(const char *id)
{
    set_dead_max(7);
    wait_until(run_well(pause_op(OTHER, 0, 1)).now_ms + 2);
    return (struct op){.verb = OP_SETTINGS, .bucket = bucket_of(TOPIC)};
}

static void no_row_is_dropped_with_the_one_that_says_nothing(void **state)
{
    struct op page = look_at_settings("");

    assert_survived(look_at_settings, "", "");
    page = run_well(page);
    assert_int_equal(page.out.settings.count, 1);
    assert_int_equal(page.out.settings.rows[0].settings.dead_max, 7);
    assert_int_equal(plant("HLEN", 'c', ""), 1);
}

/* So many lines that the history is cut. */
static struct op record_much(const char *id)
{
    static struct history_item items[OP_RECORDS_MAX];
    struct op op = {.verb = OP_RECORD, .bucket = bucket_of(TOPIC)};

    for (unsigned i = 0; i < OP_RECORDS_MAX; i++)
        items[i] = (struct history_item){
            .event = EVENT_PUSHED, .time_ms = 1, .topic = TOPIC, .id = BYTES("plain")};
    op.in.record.items = items;
    op.in.record.count = OP_RECORDS_MAX;
    op.in.record.bytes_max = 100;
    return op;
}

static void no_job_is_lost_with_its_history(void **state)
{
    assert_survived(record_much, "", "");
}

/* One tombstone more than there is room for. */
static struct op revoke_it(const char *id)
{
    for (unsigned i = 0; i < OP_IDENTITIES_MAX; i++)
        identify(numbered(i), "");
    identify("shop", "shop produce");
    return identify_op("shop", "");
}

static void no_job_is_lost_with_an_identity(void **state)
{
    assert_survived(revoke_it, "", "");
    assert_identity("shop", OP_IDENTITIES_MAX + 2, "");
    assert_null(identity_named(numbered(0)));
}

/* ---- repair ---- */

static struct op repair_it(const char *id)
{
    return id_op(OP_REPAIR, id);
}

static struct op repair_missing(const char *id)
{
    struct job job = get(id);

    plant_entry("ZREM %s %b", 'q', &job);
    plant_entry("LREM %s 1 %b", 'r', &job);
    for (const char *letter = "dvxe"; *letter; letter++)
        plant("ZREM", *letter, id);
    return repair_it(id);
}

/* As missing, but that it is where it should not be. */
static struct op repair_everywhere(const char *id)
{
    struct job job = get(id);

    repair_missing(id);
    plant_entry("ZADD %s 77 %b", 'q', &job);
    for (const char *letter = "dvxe"; *letter; letter++)
        plant_score(*letter, id, store_now() + FAR_MS);
    return repair_it(id);
}

static struct op repair_without_body(const char *id)
{
    plant("HDEL", 'p', id);
    cut_scene.is_damaged = true;
    return repair_it(id);
}

static struct op repair_strange(const char *id)
{
    plant_value(id, "?", 1);
    cut_scene.is_damaged = true;
    return repair_it(id);
}

static struct op repair_ghost(const char *id)
{
    struct job ghost = {.id = bytes_of_text(id), .stamp = JOB_KEY_MIDDLE};

    plant_entry("ZADD %s 5 %b", 'q', &ghost);
    for (const char *letter = "dvxe"; *letter; letter++)
        plant_score(*letter, id, store_now() + FAR_MS);
    plant("HSET", 'p', "ghost body");
    return repair_it(id);
}

static struct op repair_topic(const char *id)
{
    plant("DEL", 't', "");
    plant("DEL", 'a', "");
    return repair_it("");
}

static void no_job_is_lost_by_a_repair(void **state)
{
    for (unsigned i = 0; i < CUT_IDS; i++) {
        assert_survived(repair_missing, cut_ids[i], "");
        assert_survived(repair_everywhere, cut_ids[i], "");
        assert_survived(repair_strange, cut_ids[i], cut_ids[i]);
    }
    assert_survived(repair_without_body, "held", "held");
    assert_survived(repair_without_body, "ready", "ready");
    assert_survived(repair_ghost, "ghost", "");
    assert_survived(repair_topic, "", "");
}

/* ---- looks ---- */

static struct op look_with(const char *verb)
{
    struct op op = {.bucket = bucket_of(TOPIC), .topic = TOPIC, .id = BYTES("held")};

    while (strcmp(op_word(op.verb), verb) != 0)
        op.verb++;
    if (op.verb == OP_LIST) {
        op.in.list.state = JOB_READY;
        op.in.list.limit = 1;
    } else if (op.verb == OP_TOPICS) {
        op.topic = BYTES("");
        op.in.topics.limit = 1;
    } else if (op.verb == OP_TRACE) {
        op.in.trace.limit = 1;
    }
    return op;
}

static void no_job_is_lost_by_a_look(void **state)
{
    static const char *const verbs[] = {"get",      "list",  "stats", "topics",
                                        "settings", "trace", "audit"};

    for (unsigned i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        assert_survived(look_with, verbs[i], "");
}

static const struct CMUnitTest tests[] = {
    TEST(no_job_is_lost_by_a_scan),
    TEST(no_job_is_lost_with_a_change_of_settings),
    TEST(no_row_is_dropped_with_the_one_that_says_nothing),
    TEST(no_job_is_lost_by_a_look),
    TEST(no_job_is_lost_with_its_history),
    TEST(no_job_is_lost_with_an_identity),
    TEST(no_job_is_lost_by_a_repair),
};

const struct contract_part contract_cut_wide = {tests, sizeof(tests) / sizeof(*tests)};
