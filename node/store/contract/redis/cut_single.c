/* What a script of single jobs, of leases, or of a chunk leaves behind when it breaks off. */
#include "node/store/contract/redis/cut.h"

#include <stdio.h>

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
    struct op op = cut_rich_op(id);

    op.in.push.mode = PUSH_REPLACE;
    op.in.push.is_indexed = true;
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

static struct op take_it(const char *id)
{
    struct op op = id_op(OP_TAKE, id);

    op.in.pop = (typeof(op.in.pop)){.count = 1, .id_only = true, .is_owned = true};
    return op;
}

static struct op cancel_it(const char *id)
{
    return id_op(OP_CANCEL, id);
}

static void no_job_is_lost_when_its_id_is_replaced(void **state)
{
    for (unsigned i = 0; i < CUT_IDS; i++) {
        assert_survived(push_now, cut_ids[i], "");
        assert_survived(push_later, cut_ids[i], "");
        assert_survived(push_rich, cut_ids[i], "");
        assert_survived(push_rich_later, cut_ids[i], "");
    }
}

static void no_other_job_suffers_from_a_new_one(void **state)
{
    assert_survived(push_now, "new", "");
    assert_survived(push_now, "", "");
    assert_survived(push_rich, "new", "");
    assert_survived(push_rich_later, "", "");
}

/* ---- several in a call ---- */

static struct op large_beside(const char *id, int64_t delay_ms)
{
    struct op op = push_op(TOPIC, id);

    cut_scene.together = large_op("");
    cut_scene.together.in.push.delay_ms = delay_ms;
    cut_scene.together.in.push.is_indexed = op.in.push.is_indexed = true;
    return op;
}

/* One by its id, and one of another priority, which keeps its number. */
static struct op push_by_ids(const char *id)
{
    struct op op = large_beside(id, 0);

    op.in.push.by_id = true;
    cut_scene.together.in.push.rules.priority = 5;
    cut_scene.together.in.push.by_id = true;
    return op;
}

static struct op push_by_ids_later(const char *id)
{
    struct op op = push_by_ids(id);

    op.in.push.delay_ms = 5000;
    return op;
}

static struct op push_two(const char *id)
{
    return large_beside(id, 0);
}

static struct op push_two_later(const char *id)
{
    struct op op = large_beside(id, 5000);

    op.in.push.delay_ms = 9000;
    return op;
}

static struct op push_now_and_later(const char *id)
{
    return large_beside(id, 5000);
}

static void no_other_job_suffers_from_two_new_ones(void **state)
{
    static const char *const ids[] = {"new", "", "plain"};

    for (unsigned i = 0; i < 3; i++) {
        assert_survived(push_two, ids[i], "");
        assert_survived(push_by_ids, ids[i], "");
        assert_survived(push_by_ids_later, ids[i], "");
        assert_survived(push_two_later, ids[i], "");
        assert_survived(push_now_and_later, ids[i], "");
    }
}

static void no_job_is_lost_on_its_way(void **state)
{
    for (unsigned i = 0; i < CUT_IDS; i++) {
        assert_survived(move_now, cut_ids[i], "");
        assert_survived(move_later, cut_ids[i], "");
        if (strcmp(cut_ids[i], "held") != 0 && strcmp(cut_ids[i], "popped") != 0)
            assert_survived(take_it, cut_ids[i], "");
    }
}

static void no_job_is_lost_with_another_that_is_cancelled(void **state)
{
    for (unsigned i = 0; i < CUT_IDS; i++)
        assert_survived(cancel_it, cut_ids[i], cut_ids[i]);
}

/* ---- of leases ---- */

static const struct job *leased(const char *id)
{
    return strcmp(id, "held") ? &cut_scene.popped : &cut_scene.held;
}

/* Their reservations are noted. */
static struct op owned_op(enum op_verb verb, const struct job *job)
{
    struct op op = lease_op(verb, job);

    op.in.lease.is_owned = true;
    return op;
}

static struct op ack_it(const char *id)
{
    return owned_op(OP_ACK, leased(id));
}

static struct op ack_two(const char *id)
{
    cut_scene.together = owned_op(OP_ACK, &cut_scene.popped);
    return owned_op(OP_ACK, &cut_scene.held);
}

static struct op bury_it(const char *id)
{
    return owned_op(OP_BURY, leased(id));
}

static struct op touch_it(const char *id)
{
    return owned_op(OP_TOUCH, leased(id));
}

static struct op release_now(const char *id)
{
    return owned_op(OP_RELEASE, leased(id));
}

static struct op release_later(const char *id)
{
    struct op op = release_now(id);

    op.in.lease.delay_ms = 5000;
    return op;
}

/* The held one dies: it had one try. */
static struct op release_and_die(const char *id)
{
    cut_scene.together = release_now("popped");
    return release_now("held");
}

static struct op release_later_and_die(const char *id)
{
    cut_scene.together = release_later("popped");
    return release_later("held");
}

/* One with a priority, and a try left. */
static struct op release_ranked(int64_t delay_ms)
{
    struct op op = cut_rich_op("ranked");
    struct job job;

    op.in.push.rules.priority = 1;
    op.in.push.rules.max_tries = 2;
    run_well(op);
    job = contract_pop_indexed();
    cut_scene.more[0] = "ranked";
    op = owned_op(OP_RELEASE, &job);
    op.in.lease.delay_ms = delay_ms;
    return op;
}

static struct op release_two_lines(const char *id)
{
    cut_scene.together = release_now("popped");
    return release_ranked(0);
}

static struct op release_ranked_and_later(const char *id)
{
    cut_scene.together = release_later("popped");
    return release_ranked(0);
}

static struct op release_two_later(const char *id)
{
    cut_scene.together = release_later("popped");
    return release_ranked(9000);
}

static struct op leases_op(enum op_verb verb)
{
    return (struct op){.verb = verb,
                       .topic = TOPIC,
                       .in.leases = {.items = cut_scene.leases, .count = 2, .is_owned = true}};
}

static struct op deliver_both(const char *id)
{
    cut_scene.leases[0].holder = BYTES("somebody");
    return leases_op(OP_DELIVERED);
}

static struct op deliver_one_for_good(const char *id)
{
    cut_scene.leases[0].has_ttr = true;
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
    struct op op = {.verb = OP_POP,
                    .topic = TOPIC,
                    .in.pop = {.count = 9, .id_only = true, .is_owned = true}};

    push_mortal("mortal", 0, 1);
    wait_until(store_now() + 2);
    return op;
}

static struct op kick_all(const char *id)
{
    return (struct op){.verb = OP_KICK, .topic = TOPIC, .in.chunk.limit = 9};
}

static struct op kick_anew(const char *id)
{
    struct op op = kick_all(id);

    op.in.chunk.ttl_ms = FAR_MS;
    op.in.chunk.tries = 1;
    return op;
}

static struct op kick_delayed(const char *id)
{
    struct op op = kick_all(id);

    op.in.chunk.state = JOB_DELAYED;
    return op;
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
    assert_survived(kick_anew, "", "");
    assert_survived(kick_delayed, "", "");
    assert_survived(purge_it, "dead", "dead");
    assert_survived(purge_it, "ready", "ready plain");
    assert_survived(purge_it, "held", "held popped");
    assert_survived(purge_it, "delayed", "delayed");
}

/* ---- the last of its topic ---- */

#define ALL "dead held ready delayed plain popped"

static void leave_only(const char *id)
{
    for (unsigned i = 0; i < CUT_IDS; i++)
        if (strcmp(cut_ids[i], id) != 0)
            run_well(cancel_it(cut_ids[i]));
}

static struct op cancel_the_last(const char *id)
{
    leave_only(id);
    return cancel_it(id);
}

static struct op purge_the_last(const char *id)
{
    leave_only(id);
    return purge_it(id);
}

static void nothing_is_left_in_two_minds_with_the_last_job(void **state)
{
    for (unsigned i = 0; i < CUT_IDS; i++) {
        assert_survived(cancel_the_last, cut_ids[i], ALL);
        assert_survived(purge_the_last, cut_ids[i], ALL);
    }
}

static void no_job_is_lost_with_two_that_are_acknowledged(void **state)
{
    assert_survived(ack_two, "held", "held popped");
}

static void no_job_is_lost_with_two_that_are_released(void **state)
{
    assert_survived(release_and_die, "", "");
    assert_survived(release_later_and_die, "", "");
    assert_survived(release_two_lines, "", "");
    assert_survived(release_ranked_and_later, "", "");
    assert_survived(release_two_later, "", "");
}

static const struct CMUnitTest tests[] = {
    TEST(no_job_is_lost_when_its_id_is_replaced),
    TEST(no_other_job_suffers_from_a_new_one),
    TEST(no_other_job_suffers_from_two_new_ones),
    TEST(no_job_is_lost_with_two_that_are_acknowledged),
    TEST(no_job_is_lost_with_two_that_are_released),
    TEST(no_job_is_lost_on_its_way),
    TEST(no_job_is_lost_with_another_that_is_cancelled),
    TEST(no_job_is_lost_with_its_lease),
    TEST(no_job_is_lost_when_several_go),
    TEST(nothing_is_left_in_two_minds_with_the_last_job),
};

const struct contract_part contract_cut = {tests, sizeof(tests) / sizeof(*tests)};
