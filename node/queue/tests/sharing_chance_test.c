/* Engines that share a store, with views that come late, in any order and not at all, nodes
 * that freeze, and links that break: every job is moved once, and in time when the nodes agree
 * again. */
#include "node/queue/tests/fixtures/sharing_fixture.h"

#define SEEDS  20
#define STEPS  25
#define TOPICS 30

static uint32_t seed;

static uint32_t chance(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static void see_something(unsigned node)
{
    static const char *const views[] = {"", "a", "b", "c", "ab", "ac", "bc", "abc"};

    see(node, chance(20), views[chance(8)]);
}

static unsigned count_frozen(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < NODES; i++)
        count += are_frozen[i];
    return count;
}

static void upset(void)
{
    unsigned node = chance(NODES);

    if (are_frozen[node])
        thaw(node);
    else if (chance(4) == 0 && count_frozen() < NODES - 1)
        are_frozen[node] = true;
    else if (chance(6) == 0)
        memory_store_take_away(nodes[node].ms, chance(BUCKETS));
    else
        see_something(node);
}

static void calm_down(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        if (are_frozen[i])
            thaw(i);
        for (unsigned b = 0; b < BUCKETS; b++)
            memory_store_give_back(nodes[i].ms, b);
    }
    all_see(1000, "abc");
}

static int64_t lateness(void)
{
    int64_t sum_ms = 0;

    for (unsigned i = 0; i < NODES; i++)
        sum_ms += queue_stats(nodes[i].q)->move_lateness.sum;
    return sum_ms;
}

static void push_what_is_reached(uint64_t *pushed)
{
    for (unsigned i = 0; i < TOPICS; i++) {
        char topic[] = {'t', (char)('A' + i), 0};
        unsigned node = chance(NODES);

        if (!are_frozen[node] &&
            push(&nodes[node], topic, "", 1 + chance(400), 5000) == STATUS_OK)
            (*pushed)++;
    }
}

static void run(void)
{
    uint64_t pushed = 0;
    int64_t late_ms;

    for (unsigned step = 0; step < STEPS; step++) {
        upset();
        push_what_is_reached(&pushed);
        pass(chance(400));
    }
    assert_true(pushed > STEPS * TOPICS / 4);
    calm_down();
    pass(LOCK_MS);
    assert_int_equal(moved(), pushed);
    late_ms = lateness();
    push_round(TOPICS, 500);
    pass(500);
    assert_int_equal(moved(), pushed + TOPICS);
    assert_int_equal(lateness(), late_ms);
}

static void every_job_is_moved_once(void **state)
{
    for (uint32_t first = 1; first <= SEEDS; first++) {
        print_message("seed %u\r", first); /* the last one printed is the one that failed */
        seed = first;
        set_up(state);
        run();
        tear_down(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_job_is_moved_once)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
