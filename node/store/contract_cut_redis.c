/* What is left behind when a script is cut off in the middle.
 *
 * A script does not roll back. So each is run again and again on the same scene, and each time
 * another one of its calls fails, from the first to the last. The promises under test:
 *   - where a call that reads fails, no job and no place has been changed;
 *   - wherever it fails, no job is lost: what is left is found by an audit and mended, all jobs
 *     that were not to end are alive, and whole.
 */
#include "node/store/contract_plant.h"

#include <stdio.h>
#include <stdlib.h>

#include <hiredis/hiredis.h>

#include "node/store/scripts.h"

#define BODY_BYTES 4096
#define CALLS_MAX  200
#define IDS        6

/* One of each kind; the last two have no rules. */
static const char *const ids[IDS] = {"dead", "held", "ready", "delayed", "plain", "popped"};

static struct scene {
    struct job held, popped;
    struct lease leases[2];
} scene;

static char body[BODY_BYTES];

/* Large, urgent, with a ttl and a single try. */
static struct op rich_op(const char *id)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.body = bytes_of(body, BODY_BYTES);
    op.in.push.rules.priority = 5;
    op.in.push.rules.max_tries = 1;
    op.in.push.ttl_ms = FAR_MS;
    return op;
}

static void set_the_scene(void)
{
    struct op delayed = rich_op("delayed");
    struct job job;

    redis_fixture_command(contract_redis_fixture(), "FLUSHDB");
    run_well(rich_op("dead"));
    job = contract_pop_owned();
    assert_status(bury(&job), OK);
    run_well(rich_op("held"));
    scene.held = contract_pop_owned();
    push("popped");
    scene.popped = pop_one();
    run_well(rich_op("ready"));
    push("plain");
    delayed.in.push.delay_ms = 1000;
    run_well(delayed);
    scene.leases[0] = (struct lease){.id = scene.held.id, .stamp = scene.held.stamp};
    scene.leases[1] = (struct lease){.id = scene.popped.id, .stamp = scene.popped.stamp};
}

/* ---- cutting ---- */

static struct script_call call;

/* The script's text, with its call number `at` failing by its name; the caller's to free. */
static char *cut_text(enum op_verb verb, unsigned at)
{
    static const char hook[] = "= redis.call,";
    const char *text = script_text(verb), *place = strstr(text, hook);
    size_t size = strlen(text) + 512;
    char *cut = malloc(size);

    assert_non_null(place);
    snprintf(cut, size,
             "local made = 0\n"
             "local function cut(...)\n"
             "    made = made + 1\n"
             "    if made == %u then error('CUT<' .. (...) .. '>', 0) end\n"
             "    return redis.call(...)\n"
             "end\n"
             "%.*s= cut,%s",
             at, (int)(place - text), text, place + strlen(hook));
    return cut;
}

/* Runs it with its call number `at` failing. False when it has fewer calls; else `failed` is
 * the name of that call. */
static bool run_cut(struct op op, unsigned at, char failed[32])
{
    struct script_keys keys = {.buckets = CONTRACT_BUCKETS};
    const char *name = contract_key('t');
    char prefix[SCRIPT_PREFIX_MAX + 1] = "", *text = cut_text(op.verb, at);
    redisReply *reply;
    bool is_cut;

    memcpy(prefix, name, strcspn(name, ":"));
    keys.prefix = prefix;
    op.bucket = bucket_of(TOPIC);
    script_encode(&call, &keys, &op, NULL);
    call.argv[1] = text;
    call.lens[1] = strlen(text);
    reply =
        redisCommandArgv(contract_redis_fixture()->control, call.argc, call.argv, call.lens);
    assert_non_null(reply);
    is_cut = reply->type == REDIS_REPLY_ERROR;
    if (is_cut && sscanf(reply->str, "%*[^<]<%31[A-Z]", failed) != 1)
        fail_msg("%s: %s", op_word(op.verb), reply->str);
    freeReplyObject(reply);
    free(text);
    return is_cut;
}

static bool is_read(const char *command)
{
    static const char *const reads[] = {
        "TIME",   "EXISTS", "GET",  "HGET",  "HMGET",  "HLEN",          "HEXISTS", "HSTRLEN",
        "LINDEX", "LRANGE", "LLEN", "ZCARD", "ZCOUNT", "ZRANGEBYSCORE", "ZRANGE",  "ZSCORE",
    };

    for (unsigned i = 0; i < sizeof(reads) / sizeof(*reads); i++)
        if (!strcmp(reads[i], command))
            return true;
    return false;
}

/* Jobs and places; t and a may know of more than there is. */
static void take_jobs(char digests[CONTRACT_DIGESTS])
{
    contract_digests('t', digests);
    for (char *line = digests; *line; line = strchr(line, '\n') + 1)
        if (*line == 'a')
            memset(line, ' ', strcspn(line, "\n"));
}

/* ---- judging ---- */

/* Until nothing is found any more. */
static void mend_all(const struct op *op, unsigned at)
{
    for (unsigned round = 0; round < 3; round++) {
        audit();
        if (!found.count)
            return;
        for (unsigned i = 0; i < found.count; i++)
            run_well((struct op){.verb = OP_REPAIR, .topic = TOPIC, .id = found.items[i].id});
    }
    fail_msg("%s cut off at call %u cannot be mended: '%.*s' stays", op_word(op->verb), at,
             BYTES_ARG(found.items[0].id));
}

/* Alive and whole; or gone, where it may be. */
static void assert_survives(const struct op *op, unsigned at, const char *id, bool may_end)
{
    struct op look_at = run(id_op(OP_GET, id));
    struct job *job = &look_at.out.row.job;

    if (may_end && look_at.status == STATUS_NOT_FOUND)
        return;
    if (look_at.status != STATUS_OK)
        fail_msg("%s cut off at call %u: '%s' is lost", op_word(op->verb), at, id);
    if (job->death == DEATH_DAMAGED ||
        (job->body.len != BODY_BYTES && job->body.len != BODY.len))
        fail_msg("%s cut off at call %u: the body of '%s' is lost", op_word(op->verb), at, id);
}

/* `ends`: the ids that are to be gone when it is done. */
static void assert_survived(struct op (*make)(const char *id), const char *id, const char *ends)
{
    for (unsigned at = 1; at < CALLS_MAX; at++) {
        char before[CONTRACT_DIGESTS] = "", after[CONTRACT_DIGESTS] = "", failed[32] = "";
        struct op op;
        bool is_cut;

        set_the_scene();
        op = make(id);
        take_jobs(before);
        is_cut = run_cut(op, at, failed);
        take_jobs(after);
        if (is_cut && is_read(failed) && strcmp(before, after) != 0)
            fail_msg("%s: call %u, %s, stands behind a write\n%s\n%s", op_word(op.verb), at,
                     failed, before, after);
        if (is_cut)
            mend_all(&op, at);
        else
            assert_true(at > 2);
        for (unsigned i = 0; i < IDS; i++)
            assert_survives(&op, at, ids[i], strstr(ends, ids[i]));
        if (!is_cut)
            return;
    }
    fail_msg("it makes more than %d calls", CALLS_MAX);
}

/* ---- the operations ---- */

static struct op push_now(const char *id)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.mode = PUSH_REPLACE;
    return op;
}

static struct op push_later(const char *id)
{
    struct op op = push_now(id);

    op.in.push.delay_ms = 5000;
    return op;
}

static struct op push_rich(const char *id)
{
    struct op op = rich_op(id);

    op.in.push.mode = PUSH_REPLACE;
    return op;
}

static struct op push_rich_later(const char *id)
{
    struct op op = push_rich(id);

    op.in.push.delay_ms = 5000;
    return op;
}

static struct op move_now(const char *id)
{
    struct op op = id_op(OP_MOVE, id);

    op.in.move.states = FROM_ANYWHERE;
    return op;
}

static struct op move_later(const char *id)
{
    struct op op = move_now(id);

    op.in.move.delay_ms = 5000;
    return op;
}

static struct op cancel_it(const char *id)
{
    return id_op(OP_CANCEL, id);
}

static void no_job_is_lost_when_its_id_is_replaced(void **state)
{
    for (unsigned i = 0; i < IDS; i++) {
        assert_survived(push_now, ids[i], "");
        assert_survived(push_later, ids[i], "");
        assert_survived(push_rich, ids[i], "");
        assert_survived(push_rich_later, ids[i], "");
    }
}

static void no_other_job_suffers_from_a_new_one(void **state)
{
    assert_survived(push_now, "new", "");
    assert_survived(push_now, "", "");
    assert_survived(push_rich, "new", "");
    assert_survived(push_rich_later, "", "");
}

static void no_job_is_lost_on_its_way(void **state)
{
    for (unsigned i = 0; i < IDS; i++) {
        assert_survived(move_now, ids[i], "");
        assert_survived(move_later, ids[i], "");
    }
}

static void no_job_is_lost_with_another_that_is_cancelled(void **state)
{
    for (unsigned i = 0; i < IDS; i++)
        assert_survived(cancel_it, ids[i], ids[i]);
}

/* ---- of leases ---- */

static const struct job *leased(const char *id)
{
    return strcmp(id, "held") ? &scene.popped : &scene.held;
}

static struct op ack_it(const char *id)
{
    return lease_op(OP_ACK, leased(id));
}

static struct op bury_it(const char *id)
{
    return lease_op(OP_BURY, leased(id));
}

static struct op touch_it(const char *id)
{
    return lease_op(OP_TOUCH, leased(id));
}

static struct op release_now(const char *id)
{
    return lease_op(OP_RELEASE, leased(id));
}

static struct op release_later(const char *id)
{
    struct op op = release_now(id);

    op.in.lease.delay_ms = 5000;
    return op;
}

static struct op leases_op(enum op_verb verb)
{
    return (struct op){.verb = verb, .topic = TOPIC, .in.leases = {scene.leases, 2}};
}

static struct op deliver_both(const char *id)
{
    scene.leases[0].holder = BYTES("somebody");
    return leases_op(OP_DELIVERED);
}

static struct op deliver_one_for_good(const char *id)
{
    scene.leases[0].has_ttr = true;
    return leases_op(OP_DELIVERED);
}

static struct op keep_both(const char *id)
{
    return leases_op(OP_KEEP);
}

static struct op return_both(const char *id)
{
    return leases_op(OP_RETURN);
}

static void no_job_is_lost_with_its_lease(void **state)
{
    static const char *const reserved[] = {"held", "popped"};

    for (unsigned i = 0; i < 2; i++) {
        assert_survived(ack_it, reserved[i], reserved[i]);
        assert_survived(bury_it, reserved[i], "");
        assert_survived(touch_it, reserved[i], "");
        assert_survived(release_now, reserved[i], "");
        assert_survived(release_later, reserved[i], "");
    }
    assert_survived(deliver_both, "", "");
    assert_survived(deliver_one_for_good, "", "held");
    assert_survived(keep_both, "", "");
    assert_survived(return_both, "", "");
}

/* ---- of several ---- */

static struct op pop_some(const char *id)
{
    struct op op = {.verb = OP_POP, .topic = TOPIC, .in.pop = {.count = 9, .id_only = true}};

    push_mortal("mortal", 0, 1);
    wait_until(store_now() + 2);
    return op;
}

static struct op kick_all(const char *id)
{
    return (struct op){.verb = OP_KICK, .topic = TOPIC, .in.chunk.limit = 9};
}

static struct op purge_it(const char *id)
{
    struct op op = {.verb = OP_PURGE, .topic = TOPIC, .in.chunk.limit = 9};

    op.in.chunk.state = get(id).state;
    return op;
}

static void no_job_is_lost_when_several_go(void **state)
{
    assert_survived(pop_some, "", "");
    assert_survived(kick_all, "", "");
    assert_survived(purge_it, "dead", "dead");
    assert_survived(purge_it, "ready", "ready plain");
    assert_survived(purge_it, "held", "held popped");
    assert_survived(purge_it, "delayed", "delayed");
}

#define TEST(name) cmocka_unit_test(name)
static const struct CMUnitTest tests[] = {
    TEST(no_job_is_lost_when_its_id_is_replaced),
    TEST(no_other_job_suffers_from_a_new_one),
    TEST(no_job_is_lost_on_its_way),
    TEST(no_job_is_lost_with_another_that_is_cancelled),
    TEST(no_job_is_lost_with_its_lease),
    TEST(no_job_is_lost_when_several_go),
};

const struct contract_part contract_cut = {tests, sizeof(tests) / sizeof(*tests)};
