/* Bodies, ids and topics of every length and content, through every place. */
#include "node/store/contract/contract.h"

#include <stdlib.h>

/* Every value of a byte, zeros first. The caller frees it. */
static struct bytes pattern(size_t len)
{
    char *at = malloc(len + 1);

    for (size_t i = 0; i < len; i++)
        at[i] = (char)(i % 257);
    return bytes_of(at, len);
}

/* From delayed to acknowledged, by way of everything in between. */
static void lead_through_life(struct bytes topic, struct bytes id, struct bytes body)
{
    struct op op = push_op(topic, "");
    struct op scan_it = {.verb = OP_SCAN, .bucket = bucket_of(topic), .in.scan.limit = 1000};
    struct job job;
    struct lease lease;

    op.id = id;
    op.in.push.body = body;
    op.in.push.delay_ms = 1;
    op = run_well(op);
    wait_until(op.out.push.due_ms);
    run_well(scan_it);
    for (unsigned i = 0; i < 2; i++) {
        struct op get_it = {.verb = OP_GET, .topic = topic, .id = id};
        enum op_verb next = i == 0 ? OP_RETURN : OP_DELIVERED;

        get_it = run_well(get_it);
        assert_int_equal(get_it.out.row.job.state, JOB_READY);
        assert_bytes(get_it.out.row.job.body, body);
        job = pop_one_of(topic);
        assert_bytes(job.id, id);
        assert_bytes(job.body, body);
        lease = (struct lease){.id = job.id, .stamp = job.stamp};
        op = run_well((struct op){
            .verb = next, .topic = topic, .in.leases = {.items = &lease, .count = 1}});
        assert_int_equal(op.out.leases.stale, 0);
    }
    op = lease_op(OP_RELEASE, &job);
    op.topic = topic;
    run_well(op);
    job = pop_one_of(topic);
    assert_bytes(job.body, body);
    assert_int_equal(job.tries, 1);
    op = lease_op(OP_ACK, &job);
    op.topic = topic;
    run_well(op);
    assert_counts(topic, 0, 0, 0);
}

static void bodies_of_every_length_and_byte_live_unchanged(void **state)
{
    static const size_t lens[] = {0, 1, 23, 24, 25, 1023, 1024, 1025, 2048, 65536, 1048576};

    for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
        struct bytes body = pattern(lens[i]);

        lead_through_life(TOPIC, BYTES("a"), body);
        free((char *)body.at);
    }
}

static struct op push_body(const char *id, struct bytes body)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.body = body;
    op = run_well(op);
    return op;
}

static void big_and_small_bodies_are_popped_together(void **state)
{
    struct bytes big = pattern(5000), bigger = pattern(300000);
    struct op op;

    push_body("a", BODY);
    push_body("b", big);
    push_body("c", BYTES(""));
    push_body("d", bigger);
    op = pop(4);
    assert_int_equal(op.out.pop.count, 4);
    assert_bytes(op.out.pop.jobs[0].body, BODY);
    assert_bytes(op.out.pop.jobs[1].body, big);
    assert_bytes(op.out.pop.jobs[2].body, BYTES(""));
    assert_bytes(op.out.pop.jobs[3].body, bigger);
    assert_int_equal(delivered(op.out.pop.jobs, 4).out.leases.stale, 0);
    assert_bytes(get("d").body, bigger);
    assert_int_equal(returned(op.out.pop.jobs, 4).out.leases.stale, 0);
    assert_bytes(get("b").body, big);
    free((char *)big.at);
    free((char *)bigger.at);
}

/* A job for each length, in this order. */
static void push_bodies(const size_t *lens, unsigned count)
{
    static char body[2 * OP_POP_BYTES_MAX];

    for (unsigned i = 0; i < count; i++)
        push_body("", bytes_of(body, lens[i]));
}

/* These many jobs, one answer after the other; only the last of them says that it was all. */
static void assert_answers(unsigned answers, const unsigned *counts)
{
    for (unsigned i = 0; i < answers; i++) {
        struct op op = pop(BATCH_MAX);

        assert_int_equal(op.out.pop.count, counts[i]);
        assert_int_equal(op.out.pop.has_more, i + 1 < answers);
    }
}

static void an_answer_has_so_many_bytes_of_big_bodies_at_most(void **state)
{
    size_t half = OP_POP_BYTES_MAX / 2;

    push_bodies((size_t[]){half, half, half, half + 1, half}, 5);
    assert_counts(TOPIC, 0, 5, 0);
    assert_answers(4, (unsigned[]){2, 1, 1, 1});
    assert_counts(TOPIC, 0, 0, 5);
}

static void one_job_comes_however_big_it_is(void **state)
{
    size_t max = OP_POP_BYTES_MAX;

    push_bodies((size_t[]){2 * max, max + 1, max, max}, 4);
    assert_answers(4, (unsigned[]){1, 1, 1, 1});
}

/* So the ordinary pop need not count, and has 64 KiB more at most. */
static void small_bodies_take_no_room(void **state)
{
    size_t max = OP_POP_BYTES_MAX, small = OP_BODY_SMALL_MAX;

    push_bodies((size_t[]){small, max, small, 0, small + 1, small}, 6);
    assert_answers(2, (unsigned[]){4, 2});
    push_bodies((size_t[]){2 * max, small, small + 1}, 3);
    assert_answers(2, (unsigned[]){2, 1});
}

static void what_had_no_room_keeps_its_place(void **state)
{
    struct bytes big = pattern(OP_POP_BYTES_MAX);
    struct op op;

    push("a");
    push("gone");
    push_body("b", big);
    push("gone too");
    push_body("c", big);
    push("d");
    cancel("gone");
    cancel("gone too");
    op = pop(BATCH_MAX);
    assert_int_equal(op.out.pop.count, 2);
    assert_true(op.out.pop.has_more);
    assert_bytes(op.out.pop.jobs[1].id, BYTES("b"));
    assert_state("c", JOB_READY);
    assert_bytes(get("c").body, big);
    ASSERT_READY("c", "d");
    free((char *)big.at);
}

/* Ends the job in one of the ways there are. */
static void end_by(unsigned way)
{
    struct job job;

    if (way == 0) {
        assert_status(cancel("a"), OK);
        return;
    }
    job = pop_one();
    if (way == 1)
        assert_status(ack(&job), OK);
    else
        assert_int_equal(delivered(&job, 1).out.leases.stale, 0);
}

static void a_big_body_goes_with_its_job(void **state)
{
    struct bytes big = pattern(5000);

    for (unsigned way = 0; way < 3; way++) {
        struct op op = push_op(TOPIC, "a");

        op.in.push.body = big;
        op.in.push.ttr_ms = way == 2 ? 0 : TTR_MS;
        run_well(op);
        end_by(way);
        assert_gone("a");
        push_body("a", BODY);
        assert_bytes(get("a").body, BODY);
        assert_status(cancel("a"), OK);
    }
    free((char *)big.at);
}

static void a_refused_push_leaves_the_body_alone(void **state)
{
    struct bytes big = pattern(5000), other = pattern(6000);
    struct op again = push_op(TOPIC, "a");

    push_body("a", big);
    again.in.push.body = other;
    assert_status(run(again), DUPLICATE);
    again.in.push.body = BODY;
    assert_status(run(again), DUPLICATE);
    assert_bytes(get("a").body, big);
    free((char *)big.at);
    free((char *)other.at);
}

static void ids_are_bytes_and_nothing_else(void **state)
{
    static const char *const ids[] = {
        "0",
        "007",
        "-1",
        "1e3",
        "0x10",
        "nan",
        "inf",
        "1.0",
        "{}",
        "{a}b",
        "a:b",
        "%s%n",
        "\"'",
        "\\",
        "$(x)`y`",
        "nil",
        "~!",
        "*?[a]",
        "\xc3\xa9",
        "-inf",
        "+inf",
        "(error)",
        "9007199254740993",
    };

    for (unsigned i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        push(ids[i]);
    for (unsigned i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        lead_through_life(OTHER, bytes_of_text(ids[i]), BODY);
    for (unsigned i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        assert_bytes(pop_one().id, bytes_of_text(ids[i]));
}

static void ids_may_have_up_to_200_bytes(void **state)
{
    char id[200];

    memset(id, 'x', sizeof(id));
    for (size_t len = 1; len <= sizeof(id); len += 199)
        lead_through_life(TOPIC, bytes_of(id, len), BODY);
}

static void topics_may_have_up_to_200_bytes_and_do_not_mix(void **state)
{
    static const char *const names[] = {"a", "a:b", "b", "a.b/c+d;e$(f)-g", "0", "9.5", "_"};
    char name[200];

    memset(name, 'y', sizeof(name));
    lead_through_life(bytes_of(name, sizeof(name)), BYTES("a"), BODY);
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
        run_well(push_op(bytes_of_text(names[i]), names[i]));
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct bytes topic = bytes_of_text(names[i]);

        assert_counts(topic, 0, 1, 0);
        assert_bytes(pop_one_of(topic).id, topic);
    }
}

static const struct CMUnitTest tests[] = {
    TEST(bodies_of_every_length_and_byte_live_unchanged),
    TEST(big_and_small_bodies_are_popped_together),
    TEST(an_answer_has_so_many_bytes_of_big_bodies_at_most),
    TEST(one_job_comes_however_big_it_is),
    TEST(small_bodies_take_no_room),
    TEST(what_had_no_room_keeps_its_place),
    TEST(a_big_body_goes_with_its_job),
    TEST(a_refused_push_leaves_the_body_alone),
    TEST(ids_are_bytes_and_nothing_else),
    TEST(ids_may_have_up_to_200_bytes),
    TEST(topics_may_have_up_to_200_bytes_and_do_not_mix),
};

const struct contract_part contract_bytes = {tests, sizeof(tests) / sizeof(*tests)};
