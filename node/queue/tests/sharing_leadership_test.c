/* Where all nodes scan, the lead is about the reconciler alone. */
#include "node/queue/reconciler.h"
#include "node/queue/tests/fixtures/sharing_fixture.h"

#define ONE    "11111111111111111111111111111111:"
#define FIRST  ONE "0000000000000001"
#define SECOND ONE "0000000000000002"

static bool may;
static unsigned fenced, drained;

static bool may_act(void *arg)
{
    return may;
}

static void on_fenced(void *arg, struct bytes seen)
{
    fenced++;
}

static void on_drained(void *arg)
{
    drained++;
}

static void lead(unsigned node, const char *token)
{
    const struct queue_leader leader = {.token = bytes_of_text(token),
                                        .may_act = may_act,
                                        .on_fenced = on_fenced,
                                        .on_drained = on_drained};

    queue_lead(nodes[node].q, &leader);
    turn();
}

static int set_up_shared(void **state)
{
    may = true;
    fenced = drained = 0;
    (void)set_up(state);
    all_see(1, "abc");
    return 0;
}

static void check_round(unsigned number)
{
    push_round(30, 300);
    pass(300);
    assert_int_equal(moved(), number * 30);
    assert_int_equal(latest(), 0);
}

static void all_scan_whoever_leads(void **state)
{
    check_round(1);
    lead(A, FIRST);
    check_round(2);
    queue_deactivate(nodes[A].q);
    check_round(3);
    lead(B, SECOND);
    check_round(4);
    assert_int_equal(fenced, 0);
}

static void who_may_not_act_scans_on(void **state)
{
    may = false;
    lead(A, FIRST);
    check_round(1);
    assert_true(moved_by(A) > 0);
}

static void who_is_fenced_scans_on(void **state)
{
    lead(A, FIRST);
    lead(B, SECOND);
    memory_store_take_down(nodes[A].ms);
    turn();
    memory_store_bring_up(nodes[A].ms);
    turn();
    assert_int_equal(fenced, 1);
    check_round(1);
    assert_true(moved_by(A) > 0);
}

static void draining_does_not_wait_for_scans(void **state)
{
    lead(A, FIRST);
    memory_store_hold(nodes[A].ms);
    pass(SAFE_MS); /* all buckets are being scanned */
    assert_int_equal(memory_store_in_flight(nodes[A].ms) >= BUCKETS, 1);
    queue_deactivate(nodes[A].q);
    turn();
    assert_int_equal(drained, 1);
    memory_store_unhold(nodes[A].ms);
}

static void draining_waits_for_what_the_leader_alone_may_do(void **state)
{
    memory_store_hold(nodes[A].ms);
    lead(A, FIRST);
    queue_deactivate(nodes[A].q);
    turn();
    assert_int_equal(drained, 0);
    memory_store_unhold(nodes[A].ms);
    turn();
    assert_int_equal(drained, 1);
}

static void the_leader_alone_mends(void **state)
{
    struct queue_options options = fixture_options();
    uint64_t audited[NODES];

    options.audit_rate = 1000;
    for (unsigned i = 0; i < NODES; i++) {
        options.node = BYTES("any");
        queue_reload(nodes[i].q, &options);
    }
    lead(B, FIRST);
    push_round(20, 100);
    pass(RECONCILER_START_MS + 2000);
    for (unsigned i = 0; i < NODES; i++)
        audited[i] = queue_stats(nodes[i].q)->audited;
    assert_int_equal(audited[A] + audited[C], 0);
    assert_true(audited[B] > 0);
}

/* It had led before it heard of any view. */
static void who_leads_already_shares_from_then_on(void **state)
{
    struct fixture late;

    fixture_join(&late, &base);
    queue_activate(late.q);
    fixture_turn(&late);
    queue_share(late.q, &(struct shares_view){.number = 0});
    fixture_turn(&late);
    push(&nodes[A], "t", "1", 100, 5000);
    fixture_advance(&late, 200);
    assert_int_equal(state_of(&late, "t", "1"), JOB_DELAYED);
    fixture_end(&late);
}

int main(void)
{
#define SHARED(name) cmocka_unit_test_setup_teardown(name, set_up_shared, tear_down)
    const struct CMUnitTest tests[] = {
        SHARED(all_scan_whoever_leads),
        SHARED(who_may_not_act_scans_on),
        SHARED(who_is_fenced_scans_on),
        SHARED(draining_does_not_wait_for_scans),
        SHARED(draining_waits_for_what_the_leader_alone_may_do),
        SHARED(the_leader_alone_mends),
        SHARED(who_leads_already_shares_from_then_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
