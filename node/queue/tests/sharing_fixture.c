#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/crc16.h"
#include "node/queue/tests/sharing_fixture.h"

struct fixture base;
struct fixture nodes[NODES];
bool are_frozen[NODES];

static const char letters[] = "abc";

int set_up(void **state)
{
    struct queue_options options = fixture_options();

    memset(are_frozen, 0, sizeof(are_frozen));
    options.lock_ms = LOCK_MS;
    fixture_start(&base, BUCKETS);
    for (unsigned i = 0; i < NODES; i++) {
        options.node = bytes_of(&letters[i], 1);
        fixture_join_as(&nodes[i], &base, &options);
    }
    turn();
    return 0;
}

int tear_down(void **state)
{
    for (unsigned i = 0; i < NODES; i++)
        fixture_end(&nodes[i]);
    fixture_end(&base);
    return 0;
}

void see(unsigned node, uint64_t number, const char *names)
{
    struct bytes each[NODES];
    struct shares_view view = {
        .number = number, .nodes = each, .count = (unsigned)strlen(names)};

    for (unsigned i = 0; i < view.count; i++)
        each[i] = bytes_of(&names[i], 1);
    queue_share(nodes[node].q, &view);
}

void all_see(uint64_t number, const char *names)
{
    for (unsigned i = 0; i < NODES; i++)
        see(i, number, names);
    turn();
}

/* ---- time ---- */

static void advance_all(int64_t ms)
{
    fixture_advance(&base, ms);
    for (unsigned i = 0; i < NODES; i++) {
        if (!are_frozen[i])
            fixture_advance(&nodes[i], ms);
    }
}

/* Twice: a node hears of what another has done. */
void turn(void)
{
    advance_all(0);
    advance_all(0);
}

void pass(int64_t ms)
{
    for (; ms > 0; ms--) {
        advance_all(1);
        turn();
    }
}

void thaw(unsigned node)
{
    are_frozen[node] = false;
    timers_run(&nodes[node].timers, timers_now(&base.timers));
    turn();
}

/* ---- jobs ---- */

/* Through one node after the other. */
static struct fixture *pusher(unsigned number)
{
    for (;; number++) {
        struct fixture *node = &nodes[number % NODES];

        if (!are_frozen[number % NODES] && !node->is_stopping)
            return node;
    }
}

static struct bytes name_of(char *text, unsigned number)
{
    return bytes_of(text, (size_t)sprintf(text, "topic:%u", number));
}

void push_round(unsigned count, int64_t ms)
{
    char topic[32];

    for (unsigned i = 0; i < count; i++) {
        (void)name_of(topic, i);
        assert_int_equal(push(pusher(i), topic, "", 1 + i * ms / count, 5000), STATUS_OK);
    }
    turn();
}

unsigned owned(unsigned node, unsigned count)
{
    struct shares *shares = queue_shares(nodes[node].q);
    int64_t now_mono_ms = timers_now(&nodes[node].timers);
    unsigned own = 0;
    char text[32];

    for (unsigned i = 0; i < count; i++) {
        struct bytes topic = name_of(text, i);

        own += shares_mark(shares, crc16(topic) % BUCKETS, share_of(topic), now_mono_ms) ==
               SHARE_OWN;
    }
    return own;
}

/* ---- what came of it ---- */

uint64_t moved_by(unsigned node)
{
    return queue_stats(nodes[node].q)->move_lateness.total;
}

uint64_t moved(void)
{
    uint64_t total = 0;

    for (unsigned i = 0; i < NODES; i++)
        total += moved_by(i);
    return total;
}

int64_t latest(void)
{
    int64_t most_ms = 0;

    for (unsigned i = 0; i < NODES; i++) {
        int64_t late_ms = (int64_t)queue_stats(nodes[i].q)->move_lateness.max;

        most_ms = late_ms > most_ms ? late_ms : most_ms;
    }
    return most_ms;
}

unsigned long scans_of(unsigned node)
{
    return memory_store_count(nodes[node].ms, OP_SCAN);
}
