/* Ids alone: finding a job; and acknowledging, where the consumer means its own delivery. */
#include "node/queue/tests/fixtures/nodes_fixture.h"
#include "node/queue/core.h"
#include "node/queue/ids.h"

#include <stdio.h>

enum { ALICE = 1, BOB = 2 };

struct acking {
    struct id_ack ack;
    bool is_done;
};

static void on_acked(struct id_ack *ack)
{
    CONTAINER_OF(ack, struct acking, ack)->is_done = true;
}

static enum status ack_of(struct fixture *node, uint64_t holder, uint64_t group, const char *id)
{
    struct acking acking = {
        .ack = {
            .id = bytes_of_text(id), .holder = holder, .group = group, .on_done = on_acked}};

    queue_ack_by_id(node->q, &acking.ack);
    assert_false(acking.is_done);
    fixture_turn(node);
    assert_true(acking.is_done);
    return acking.ack.status;
}

static enum status ack(struct fixture *node, uint64_t holder, const char *id)
{
    return ack_of(node, holder, 0, id);
}

/* Job 1, to a consumer that will acknowledge by its id. */
static void give(struct fixture *node, struct consumer *to, uint64_t holder)
{
    consume_by_id(node, to, "t", holder);
    delivered(node, to);
}

static void the_holder_acknowledges_its_job(void **state)
{
    push(&f, "t", "1", 0, 5000);
    give(&f, &a, ALICE);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_OK);
    assert_int_equal(state_of(&f, "t", "1"), 0);
    assert_int_equal(count(OP_OWNER), 0); /* nobody had to be asked */
}

static void another_connection_of_this_node_may_acknowledge(void **state)
{
    push(&f, "t", "1", 0, 5000);
    give(&f, &a, ALICE);
    assert_int_equal(ack(&f, BOB, "1"), STATUS_OK);
}

static void another_node_may_acknowledge(void **state)
{
    push(&f, "t", "1", 0, 5000);
    give(&f, &a, ALICE);
    assert_int_equal(ack(&other, BOB, "1"), STATUS_OK);
    assert_int_equal(state_of(&f, "t", "1"), 0);
}

static void a_holder_whose_time_is_over_cannot_take_the_job_from_the_next(void **state)
{
    push(&f, "t", "1", 0, 2000);
    give(&f, &a, ALICE);
    fixture_advance(&f, 3000);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_NOT_OWNER); /* ready again */
    give(&f, &a, ALICE);
    fixture_advance(&f, 3000);
    give(&f, &b, BOB);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_NOT_OWNER); /* Bob has it */
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_NOT_OWNER); /* however often she asks */
    memory_store_fail(f.ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_STORE_ERROR);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_NOT_OWNER);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    assert_int_equal(ack(&f, BOB, "1"), STATUS_OK);
}

static void whoever_is_too_late_hears_it_over_any_connection_and_of_any_node(void **state)
{
    push(&f, "t", "1", 0, 2000);
    give(&f, &a, ALICE);
    fixture_advance(&f, 3000);
    fixture_advance(&other, 3000);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_NOT_OWNER);
    assert_int_equal(ack(&f, BOB, "1"), STATUS_NOT_OWNER);
    assert_int_equal(ack(&other, BOB, "1"), STATUS_NOT_OWNER);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

/* This node remembers a delivery that is over; the job is with another node's consumer. */
static void a_stale_memory_of_somebody_else_does_not_hide_the_current_lease(void **state)
{
    push(&f, "t", "1", 0, 2000);
    give(&f, &a, ALICE);
    fixture_advance(&f, 3000);
    fixture_advance(&other, 3000);
    give(&other, &b, BOB);
    assert_int_equal(ack(&f, BOB, "1"), STATUS_OK);
}

/* It may be late with the job that another node's consumer has acknowledged. */
static void a_holder_is_held_to_its_own_also_where_another_found_nothing(void **state)
{
    push(&f, "t", "1", 0, 5000);
    give(&f, &a, ALICE);
    assert_int_equal(ack(&other, BOB, "1"), STATUS_OK);
    push(&f, "t", "1", 0, 5000);
    assert_int_equal(ack(&f, BOB, "1"), STATUS_NOT_FOUND);
    give(&f, &b, BOB);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_NOT_OWNER);
    assert_int_equal(ack(&f, BOB, "1"), STATUS_OK);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_NOT_FOUND);
}

enum { CAROL = 3, HERS = 7, HIS = 8 };

/* Alice asks over another connection of her machine: it is her delivery that is meant. */
static void a_group_is_held_to_its_own_over_any_connection(void **state)
{
    push(&f, "t", "1", 0, 2000);
    a.pop.group = HERS;
    b.pop.group = HIS;
    give(&f, &a, ALICE);
    fixture_advance(&f, 3000);
    give(&f, &b, BOB);
    assert_int_equal(ack_of(&f, CAROL, HERS, "1"), STATUS_NOT_OWNER);
    assert_int_equal(ack_of(&f, CAROL, HERS, "1"), STATUS_NOT_OWNER);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    assert_int_equal(ack_of(&f, CAROL, HIS, "1"), STATUS_OK);
    assert_int_equal(count(OP_OWNER), 0);
}

static void a_connection_goes_before_its_group(void **state)
{
    push(&f, "t", "1", 0, 2000);
    a.pop.group = b.pop.group = HERS;
    give(&f, &a, ALICE);
    fixture_advance(&f, 3000);
    give(&f, &b, BOB);
    assert_int_equal(ack_of(&f, ALICE, HERS, "1"), STATUS_NOT_OWNER);
    assert_int_equal(ack_of(&f, CAROL, HERS, "1"), STATUS_OK); /* the newest of the group */
}

static void an_id_that_nobody_was_handed_is_not_found(void **state)
{
    push(&f, "t", "1", 0, 2000);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_NOT_FOUND);
    assert_int_equal(ack(&f, ALICE, "2"), STATUS_NOT_FOUND);
    assert_int_equal(ack(&f, ALICE, ""), STATUS_BAD_ID);
}

static void a_second_acknowledgement_is_not_found(void **state)
{
    push(&f, "t", "1", 0, 2000);
    give(&f, &a, ALICE);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_OK);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_NOT_FOUND);
}

static void an_acknowledgement_that_the_store_did_not_get_can_be_repeated(void **state)
{
    push(&f, "t", "1", 0, 2000);
    give(&f, &a, ALICE);
    memory_store_fail(f.ms, 1, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_UNAVAILABLE);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_OK);
}

static void a_search_that_could_not_ask_everywhere_says_so(void **state)
{
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    assert_int_equal(ack(&f, ALICE, "1"), STATUS_UNAVAILABLE);
}

/* ---- finding ---- */

struct finding {
    struct id_find find;
    bool is_done;
    enum status status;
    char topic[32];
};

static void on_found(struct id_find *find)
{
    struct finding *finding = CONTAINER_OF(find, struct finding, find);

    finding->is_done = true;
    finding->status = find->status;
    snprintf(finding->topic, sizeof(finding->topic), "%.*s", BYTES_ARG(find->topic));
}

static enum status find_by(struct finding *finding, const char *id)
{
    finding->find.id = bytes_of_text(id);
    finding->find.on_done = on_found;
    queue_find(f.q, &finding->find);
    assert_false(finding->is_done);
    fixture_turn(&f);
    assert_true(finding->is_done);
    return finding->status;
}

static void assert_found(const char *id, const char *topic)
{
    struct finding finding = {0};

    assert_int_equal(find_by(&finding, id), STATUS_OK);
    assert_string_equal(finding.topic, topic);
}

static enum status find_it(const char *id)
{
    struct finding finding = {0};

    return find_by(&finding, id);
}

static void index_all(void)
{
    struct queue_options options = fixture_options();

    options.index_ids = true;
    queue_reload(f.q, &options);
}

/* Into the topic, with an id of the store's. */
static struct call push_unnamed(const char *topic)
{
    struct call call = {.op.in.push = {.body = BYTES("b"), .ttr_ms = 5000}};

    assert_int_equal(submit(&f, &call, OP_PUSH, topic, "", 0), STATUS_OK);
    return call;
}

static void a_job_is_found_where_pushes_are_indexed(void **state)
{
    push(&f, "t", "before", 0, 5000);
    index_all();
    push(&f, "t", "mine", 60000, 5000);
    assert_found("mine", "t");
    assert_int_equal(find_it("before"), STATUS_NOT_FOUND);
    assert_int_equal(find_it(""), STATUS_BAD_ID);
}

static void one_bucket_is_asked_for_an_id_of_the_store(void **state)
{
    struct finding finding = {.find.is_of_store = true};
    struct call call;

    index_all();
    for (const char *topic = "abcdefgh"; *topic; topic++) {
        char name[] = {*topic, '\0'};
        unsigned long before = count(OP_OWNER);

        call = push_unnamed(name);
        assert_found(call.id, name);
        assert_int_equal(count(OP_OWNER), before + 1);
    }
    assert_int_equal(find_by(&finding, call.id), STATUS_OK);
    assert_string_equal(finding.topic, "h");
}

static void only_an_id_that_may_be_of_others_is_looked_for_in_all_buckets(void **state)
{
    struct finding finding = {.find.is_of_store = true};
    unsigned long before;

    index_all();
    push(&f, "t", "7", 0, 5000);
    push(&f, "u", "8", 0, 5000);
    assert_found("7", "t");
    assert_found("8", "u");
    before = count(OP_OWNER);
    assert_int_equal(find_it("9"), STATUS_NOT_FOUND);
    assert_int_equal(count(OP_OWNER), before + queue_buckets(f.q));
    assert_int_equal(find_by(&finding, "9"), STATUS_NOT_FOUND);
    assert_int_equal(count(OP_OWNER), before + queue_buckets(f.q) + 1);
    finding.is_done = false;
    assert_int_equal(find_by(&finding, "words"), STATUS_NOT_FOUND);
    finding.is_done = false;
    assert_int_equal(find_by(&finding, "07"), STATUS_NOT_FOUND);
    assert_int_equal(count(OP_OWNER), before + queue_buckets(f.q) + 1);
}

static bool is_not_t(const struct id_find *find, struct bytes topic)
{
    return !bytes_equal(topic, BYTES("t"));
}

static void a_topic_that_the_client_may_not_know_is_not_found(void **state)
{
    struct finding finding = {.find.is_for = is_not_t};

    index_all();
    push(&f, "t", "mine", 0, 5000);
    push(&f, "u", "yours", 0, 5000);
    assert_int_equal(find_by(&finding, "mine"), STATUS_NOT_FOUND);
    finding.is_done = false;
    assert_int_equal(find_by(&finding, "yours"), STATUS_OK);
}

static void a_bucket_out_of_reach_may_have_the_job(void **state)
{
    struct call call;

    index_all();
    call = push_unnamed("t");
    push(&f, "t", "mine", 0, 5000);
    for (unsigned i = 0; i < queue_buckets(f.q); i++)
        fixture_take_away(&f, i);
    assert_int_equal(find_it("mine"), STATUS_UNAVAILABLE);
    assert_int_equal(find_it(call.id), STATUS_UNAVAILABLE);
    for (unsigned i = 0; i < queue_buckets(f.q); i++)
        fixture_give_back(&f, i);
    assert_found("mine", "t");
}

static void a_stop_waits_for_a_search(void **state)
{
    struct finding finding = {.find = {.id = BYTES("mine"), .on_done = on_found}};

    memory_store_hold(f.ms);
    queue_find(f.q, &finding.find);
    fixture_turn(&f);
    fixture_stop(&f);
    fixture_turn(&f);
    assert_false(f.is_stopped);
    fixture_unhold(&f);
    assert_true(finding.is_done);
    finding.is_done = false;
    fixture_turn(&f);
    assert_true(f.is_stopped);
}

static void remembers_no_more_than_its_bound(void **state)
{
    static char id[8];
    const struct pop pop = {.holder = ALICE};
    struct core core = {0};
    struct ids ids;

    ids_init(&ids, &core);
    for (int i = 0; i < 70000; i++) {
        struct job job = {.id = bytes_of(id, (size_t)snprintf(id, sizeof(id), "%d", i))};

        ids_add(&ids, &pop, BYTES("t"), &job, 1);
    }
    assert_int_equal(ids.count, 65536);
    ids_fini(&ids);
    assert_int_equal(ids.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TWO(the_holder_acknowledges_its_job),
        WITH_TWO(another_connection_of_this_node_may_acknowledge),
        WITH_TWO(another_node_may_acknowledge),
        WITH_TWO(a_holder_whose_time_is_over_cannot_take_the_job_from_the_next),
        WITH_TWO(whoever_is_too_late_hears_it_over_any_connection_and_of_any_node),
        WITH_TWO(a_stale_memory_of_somebody_else_does_not_hide_the_current_lease),
        WITH_TWO(a_holder_is_held_to_its_own_also_where_another_found_nothing),
        WITH_TWO(a_group_is_held_to_its_own_over_any_connection),
        WITH_TWO(a_connection_goes_before_its_group),
        WITH_TWO(an_id_that_nobody_was_handed_is_not_found),
        WITH_TWO(a_second_acknowledgement_is_not_found),
        WITH_TWO(an_acknowledgement_that_the_store_did_not_get_can_be_repeated),
        WITH_TWO(a_search_that_could_not_ask_everywhere_says_so),
        WITH_ONE(a_job_is_found_where_pushes_are_indexed),
        WITH_ONE(one_bucket_is_asked_for_an_id_of_the_store),
        WITH_ONE(only_an_id_that_may_be_of_others_is_looked_for_in_all_buckets),
        WITH_ONE(a_topic_that_the_client_may_not_know_is_not_found),
        WITH_ONE(a_bucket_out_of_reach_may_have_the_job),
        WITH_ONE(a_stop_waits_for_a_search),
        WITH_TWO(remembers_no_more_than_its_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
