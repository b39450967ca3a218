/* Random consumers of two nodes: whatever happens, none waits at a topic with ready jobs. */
#include "node/queue/tests/fixtures/queue_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define NODES     2
#define CONSUMERS 9
#define STEPS     400

static struct fixture nodes[NODES];
static struct consumer crowd[NODES][CONSUMERS];
static unsigned pushed, acked;

static const char *some_topics(void)
{
    static const char *const topics[] = {"t", "u", "t,u", "u,t", "t,u,w", "w"};

    return topics[rand() % 6];
}

/* Large ones fill an operation, so that others must stay behind. */
static unsigned some_count(void)
{
    static const unsigned counts[] = {1, 1, 1, 2, 32, OP_ITEMS_MAX};

    return counts[rand() % 6];
}

static void turn_all(void)
{
    for (unsigned again = 0; again < 8; again++) {
        for (unsigned n = 0; n < NODES; n++)
            fixture_turn(&nodes[n]);
    }
}

static void pass(int64_t ms)
{
    for (unsigned n = 0; n < NODES; n++)
        fixture_advance(&nodes[n], ms);
}

/* A consumer that has got a job acknowledges it, now and then loses it. */
static void settle(struct fixture *node, struct consumer *who)
{
    struct call call = {0};

    if (!who->delivery)
        return;
    if (rand() % 4 == 0) {
        returned(node, who);
        return;
    }
    delivered(node, who);
    memory_store_unhold(node->ms);
    for (unsigned i = 0; i < who->count; i++) {
        submit(node, &call, OP_ACK, who->topic, who->ids[i], who->stamps[i]);
        assert_int_equal(call.status, STATUS_OK);
        acked++;
    }
}

static void random_step(void)
{
    unsigned n = (unsigned)rand() % NODES;
    struct fixture *node = &nodes[n];
    struct consumer *who = &crowd[n][rand() % CONSUMERS];
    bool is_waiting = who->pop.on_done && who->done == 0;

    switch (rand() % 10) {
    case 0:
    case 1:
        memory_store_unhold(node->ms);
        assert_int_equal(push(node, rand() % 2 ? "t" : "u", "", 0, 100000), STATUS_OK);
        pushed++;
        break;
    case 2:
        memory_store_hold(node->ms);
        break;
    case 3:
        memory_store_release(node->ms, 1);
        break;
    case 4:
        if (is_waiting)
            queue_pop_cancel(&who->pop);
        break;
    case 5: /* the scan that moves it may bring a pop */
        memory_store_unhold(node->ms);
        assert_int_equal(push(node, rand() % 2 ? "t" : "u", "", 1 + rand() % 3, 100000),
                         STATUS_OK);
        pushed++;
        break;
    case 6:
        pass(1 + rand() % 3);
        break;
    default:
        settle(node, who);
        if (!is_waiting)
            consume(node, who, some_topics(), some_count(), rand() % 3 ? 1000000 : 0);
    }
    turn_all();
}

static void assert_nobody_waits_in_vain(void)
{
    for (unsigned n = 0; n < NODES; n++)
        memory_store_unhold(nodes[n].ms);
    turn_all();
    for (unsigned n = 0; n < NODES; n++) {
        for (unsigned i = 0; i < CONSUMERS; i++) {
            struct consumer *who = &crowd[n][i];

            if (!who->pop.on_done || who->done > 0)
                continue;
            assert_true(who->pop.wait_ms > 0);
            for (unsigned t = 0; t < who->pop.topic_count; t++) {
                char topic[8] = {0};

                memcpy(topic, who->topics[t].at, who->topics[t].len);
                assert_int_equal(stats_of(&nodes[n], topic).ready, 0);
            }
        }
    }
}

static void run_by_chance(unsigned seed)
{
    srand(seed);
    memset(crowd, 0, sizeof(crowd));
    pushed = acked = 0;
    fixture_start_active(&nodes[0], 2);
    fixture_join(&nodes[1], &nodes[0]);
    for (unsigned step = 0; step < STEPS; step++) {
        random_step();
        if (step % 20 == 0)
            assert_nobody_waits_in_vain();
    }
    assert_nobody_waits_in_vain();
    for (unsigned n = 0; n < NODES; n++) {
        for (unsigned i = 0; i < CONSUMERS; i++) {
            if (crowd[n][i].delivery)
                delivered(&nodes[n], &crowd[n][i]);
        }
    }
    assert_true(pushed > 0 && acked > 0);
    fixture_end(&nodes[0]);
    fixture_end(&nodes[1]);
}

static void nobody_waits_in_vain_whatever_happens(void **state)
{
    for (unsigned seed = 1; seed <= 150; seed++) {
        print_message("seed %u\r", seed); /* the last one printed is the one that failed */
        run_by_chance(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits_in_vain_whatever_happens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
