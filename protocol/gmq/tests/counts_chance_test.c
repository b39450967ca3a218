/* Clients that push, pop, acknowledge, stall, read or not, and leave, by chance: whatever
 * happens, each count is the sum of what it counts, and nothing is left of those that have
 * gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "protocol/gmq/server.h"
#include "protocol/gmq/tests/server_fixture.h"

#define SEEDS   20
#define STEPS   400
#define CLIENTS 10
#define HOSTS   3

/* ---- the books ---- */

struct sums {
    unsigned clients, open, unacked, in_work;
    size_t kept_bytes, unread_bytes;
};

static unsigned length_of(const struct list *list)
{
    unsigned length = 0;

    LIST_EACH (link, list)
        length++;
    return length;
}

static void add_client(struct sums *sums, const struct gmq_client *client)
{
    sums->clients++;
    sums->open += client->base.connection.state != CONNECTION_CLOSED;
    sums->unacked += length_of(&client->base.unacked);
    sums->in_work += client->base.connection.in_work;
    sums->kept_bytes += stream_len(&client->base.connection.input);
    sums->unread_bytes += stream_len(&client->base.connection.output);
}

static unsigned check_peers(const struct gmq *g)
{
    unsigned joined = 0;

    for (unsigned i = 0; i < PEER_SLOTS; i++) {
        LIST_EACH (link, &g->port.peers.slots[i]) {
            const struct peer *peer = CONTAINER_OF(link, struct peer, link);
            unsigned clients = 0;

            LIST_EACH (other, &g->port.clients)
                clients += CONTAINER_OF(other, struct gmq_client, base.link)->base.peer == peer;
            assert_true(clients > 0);
            assert_int_equal(peer->joined, clients);
            assert_int_equal(peer->connections, clients);
            joined += clients;
        }
    }
    return joined;
}

static void check_books(struct fixture *f)
{
    const struct gmq *g = CONTAINER_OF(f->gmq, struct gmq, port);
    struct sums sums = {0};

    LIST_EACH (link, &g->port.clients)
        add_client(&sums, CONTAINER_OF(link, struct gmq_client, base.link));
    assert_int_equal(g->port.stats.connections, sums.clients);
    assert_in_range(sums.clients, 0, g->options.limits.connections_max);
    assert_int_equal(g->port.kind.connections, sums.open);
    assert_int_equal(g->port.kind.kept_bytes, sums.kept_bytes);
    assert_int_equal(g->port.kind.unread_bytes, sums.unread_bytes);
    assert_int_equal(check_peers(g), sums.clients);
    /* The queue may have some that are on their way to a client, or back. */
    assert_in_range(sums.unacked, 0, queue_stats(f->queue)->unconfirmed);
    assert_in_range(queue_stats(f->queue)->waiting, 0, sums.in_work);
}

/* ---- what clients do ---- */

static struct client guests[CLIENTS];

/* As far as it is taken: what is cut off is a way to be wrong, too. */
static void try_to_say(struct client *c, const char *text, size_t len)
{
    (void)!send(c->fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void say_push(struct client *c)
{
    struct buf push = BUF_INIT;

    buf_printf(&push,
               "{\"method\":\"Service.Push\",\"id\":1,\"params\":[{\"id\":\"%d\","
               "\"topic\":\"t\",\"TTR\":%d,\"body\":\"%0*d\"}]}",
               rand() % 50, rand() % 3, 1 + rand() % 900, 1);
    try_to_say(c, push.at, rand() % 8 ? push.len : push.len / 2);
    buf_fini(&push);
}

static void say_ack(struct client *c)
{
    struct buf ack = BUF_INIT;

    buf_printf(&ack, "{\"method\":\"Service.Ack\",\"params\":[\"%d\"],\"id\":3}", rand() % 50);
    try_to_say(c, ack.at, ack.len);
    buf_fini(&ack);
}

static void act(struct client *c)
{
    static char room[20000];

    switch (rand() % 24) {
    case 0:
        leave(c);
        break;
    case 1:
        reset(c);
        break;
    case 2:
        (void)!shutdown(c->fd, SHUT_WR);
        break;
    case 3:
        try_to_say(c, "]", 1);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        (void)!recv(c->fd, room, (size_t)rand() % sizeof(room), MSG_DONTWAIT);
        break;
    case 8:
    case 9:
        say_ack(c);
        break;
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
        try_to_say(c, POP("\"t\""), strlen(POP("\"t\"")));
        break;
    default:
        say_push(c);
    }
}

static void change_limits(struct fixture *f)
{
    f->options.limits.connections_per_address = (unsigned)rand() % 4;
    f->options.limits.pipelined_max = 1 + (unsigned)rand() % 4;
    f->options.limits.request_ms = rand() % 2 ? 2000 : 0;
    f->options.limits.idle_ms = rand() % 2 ? 3000 : 0;
    f->options.limits.output_max_bytes = rand() % 2 ? 10000 : 65536;
    gmq_reload(f->gmq, &f->options);
}

/* The store answers late, or is away for a while. */
static void change_store(struct fixture *f)
{
    switch (rand() % 4) {
    case 0:
        memory_store_hold(f->ms);
        break;
    case 1:
        memory_store_take_down(f->ms);
        break;
    default:
        memory_store_unhold(f->ms);
        memory_store_bring_up(f->ms);
    }
}

static void random_step(struct fixture *f)
{
    static const int64_t pauses_ms[] = {1, 45, 400, 1000, 5000};
    struct client *c = &guests[rand() % CLIENTS];
    int what = rand() % 40;

    if (what == 0)
        change_limits(f);
    else if (what == 1)
        change_store(f);
    else if (what < 5)
        fixture_pass(f, pauses_ms[rand() % 5]);
    else if (c->fd >= 0)
        act(c);
    else if (!f->is_gmq_stopping)
        *c = dial_from(f, f->loop, f->port, 1 + (unsigned)rand() % HOSTS);
    fixture_turn(f);
    check_books(f);
}

/* ---- */

static void leave_all(struct fixture *f)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (guests[i].fd >= 0)
            leave(&guests[i]);
    }
    memory_store_unhold(f->ms);
    memory_store_bring_up(f->ms);
    AWAIT(f, (fixture_pass(f, 50), list_is_empty(&f->gmq->clients)));
    check_books(f); /* all are 0 */
    AWAIT(f, (fixture_pass(f, 50), queue_stats(f->queue)->unconfirmed == 0));
    assert_int_equal(queue_stats(f->queue)->waiting, 0);
    fixture_pass(f, 120000);
}

static uint64_t run_by_chance(unsigned seed)
{
    uint64_t delivered;
    void *state;
    struct fixture *f;

    srand(seed);
    fixture_up(&state);
    f = state;
    f->options.limits.connections_max = 7;
    change_limits(f);
    memory_store_let_wait(f->ms);
    for (unsigned i = 0; i < CLIENTS; i++)
        guests[i].fd = -1;
    for (unsigned step = 0; step < STEPS; step++) {
        random_step(f);
        if (step == STEPS - 50 && seed % 2)
            fixture_stop_gmq(f);
    }
    leave_all(f);
    delivered = queue_stats(f->queue)->popped_jobs;
    fixture_down(&state);
    return delivered;
}

static void each_count_is_the_sum_of_what_it_counts(void **state)
{
    uint64_t delivered = 0;

    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %u\r", seed); /* the last one printed is the one that failed */
        delivered += run_by_chance(seed);
    }
    assert_true(delivered > SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_count_is_the_sum_of_what_it_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
