/* Clients that come, send, stall, read or not, and leave, by chance: whatever happens, each
 * count is the sum of what it counts, and nothing is left of those that have gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "protocol/api/handlers.h"
#include "protocol/http/server.h"
#include "protocol/http/tests/server_fixture.h"

#define SEEDS   20
#define STEPS   400
#define CLIENTS 12
#define HOSTS   3

#define LARGE_REPLY 300000

static char filler[LARGE_REPLY];

/* ---- a handler ---- */

static struct exchange *at_work[CLIENTS * 4];
static unsigned at_work_count, answered, displaced;

static void answer(unsigned i, size_t len)
{
    struct exchange *x = at_work[i];

    at_work[i] = at_work[--at_work_count];
    answered++;
    exchange_reply(x, 201, "text/plain", bytes_of(filler, len));
}

static void on_cancel_wait(struct exchange *x)
{
    for (unsigned i = 0; i < at_work_count; i++) {
        if (at_work[i] == x && rand() % 2) {
            answer(i, 1);
            return;
        }
    }
}

/* In the place of the API's: now, or some time. */
static void own_api_push(struct exchange *x)
{
    x->on_cancel_wait = on_cancel_wait;
    assert_in_range(at_work_count, 0, sizeof(at_work) / sizeof(*at_work) - 1);
    at_work[at_work_count++] = x;
    if (rand() % 3)
        answer(at_work_count - 1, rand() % 4 ? 1 : LARGE_REPLY);
}

static int up(void **state)
{
    static const struct stand_in stand_ins[] = {
        {api_push, own_api_push},
    };

    return fixture_up_with(state, stand_ins, sizeof(stand_ins) / sizeof(*stand_ins));
}

/* ---- the books ---- */

struct sums {
    unsigned clients, with_place, excess, arriving, open;
    size_t body_bytes[2], kept_bytes, unread_bytes;
};

static void add_client(struct sums *sums, const struct http_client *client)
{
    const struct http_request *r = client->request;
    bool is_open = client->base.connection.state != CONNECTION_CLOSED;

    sums->clients++;
    sums->open += is_open;
    sums->with_place += !client->excess;
    sums->excess += list_is_linked(&client->excess_link);
    sums->kept_bytes += stream_len(&client->base.connection.input);
    sums->unread_bytes += stream_len(&client->base.connection.output);
    if (!r)
        return;
    sums->arriving += list_is_linked(&r->arriving);
    sums->body_bytes[r->is_large] += r->content.room;
}

static unsigned length_of(const struct list *list)
{
    unsigned length = 0;

    LIST_EACH (link, list)
        length++;
    return length;
}

/* Of one address. */
static void check_peer(const struct http *h, const struct peer *peer)
{
    struct sums sums = {0};

    LIST_EACH (link, &h->port.clients) {
        const struct http_client *client = CONTAINER_OF(link, struct http_client, base.link);

        if (client->base.peer == peer)
            add_client(&sums, client);
    }
    assert_true(sums.clients > 0);
    assert_int_equal(peer->joined, sums.clients);
    assert_int_equal(peer->connections, sums.with_place);
    assert_int_equal(peer->body_bytes[false], sums.body_bytes[false]);
    assert_int_equal(peer->body_bytes[true], sums.body_bytes[true]);
}

static unsigned check_peers(const struct http *h)
{
    unsigned joined = 0;

    for (unsigned i = 0; i < PEER_SLOTS; i++) {
        LIST_EACH (link, &h->port.peers.slots[i]) {
            const struct peer *peer = CONTAINER_OF(link, struct peer, link);

            check_peer(h, peer);
            joined += peer->joined;
        }
    }
    return joined;
}

static void check_books(struct fixture *f)
{
    const struct http *h = f->http;
    struct sums sums = {0};

    LIST_EACH (link, &h->port.clients)
        add_client(&sums, CONTAINER_OF(link, struct http_client, base.link));
    assert_int_equal(h->port.stats.connections, sums.with_place);
    assert_in_range(sums.with_place, 0, h->options.connections_max);
    assert_int_equal(h->excess_count, sums.excess);
    assert_in_range(sums.excess, 0, h->options.excess_max);
    assert_int_equal(length_of(&h->excess), sums.excess);
    assert_int_equal(h->port.kind.connections, sums.open);
    assert_int_equal(h->port.kind.kept_bytes, sums.kept_bytes);
    assert_int_equal(h->port.kind.unread_bytes, sums.unread_bytes);
    assert_int_equal(length_of(&h->arriving), sums.arriving);
    for (unsigned is_large = 0; is_large < 2; is_large++)
        assert_int_equal(h->body_bytes[is_large], sums.body_bytes[is_large]);
    assert_in_range(sums.body_bytes[true], 0, h->options.bodies_max_bytes);
    assert_int_equal(check_peers(h), sums.clients);
    displaced = (unsigned)f->api.errors[HTTP_ERROR_DISPLACED];
}

/* ---- what clients do ---- */

struct guest {
    struct client c; /* fd -1: it has none */
    size_t left;     /* of a body; SIZE_MAX: in chunks */
};

static struct guest guests[CLIENTS];

/* As far as it is taken: what is cut off is a way to be wrong, too. */
static void try_to_say(struct guest *g, const char *bytes, size_t len)
{
    (void)!send(g->c.fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void say_head(struct guest *g)
{
    static const size_t lens[] = {0, 1, 100, 4096, 4097, 65536, 65537, 100000, 200000, 200001};
    struct buf head = BUF_INIT;

    g->left = lens[(unsigned)rand() % (sizeof(lens) / sizeof(*lens))];
    buf_add_text(&head, "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\n");
    if (rand() % 4 == 0) {
        g->left = SIZE_MAX;
        buf_add_text(&head, "Transfer-Encoding: chunked\r\n\r\n");
    } else {
        buf_printf(&head, "%sContent-Length: %zu\r\n\r\n",
                   rand() % 8 ? "" : "Expect: 100-continue\r\n", g->left);
    }
    try_to_say(g, head.at, rand() % 16 ? head.len : head.len / 2);
    buf_fini(&head);
}

static void say_chunk(struct guest *g)
{
    struct buf chunk = BUF_INIT;
    unsigned len = (unsigned)rand() % 20000;

    buf_printf(&chunk, "%x\r\n", len);
    buf_add(&chunk, filler, len);
    buf_add_text(&chunk, "\r\n");
    try_to_say(g, chunk.at, chunk.len);
    if (len == 0 || rand() % 16 == 0)
        g->left = 0;
    buf_fini(&chunk);
}

static void say_more(struct guest *g)
{
    size_t len = (size_t)rand() % 60000 + 1;

    if (g->left == SIZE_MAX) {
        say_chunk(g);
    } else if (g->left == 0) {
        say_head(g);
    } else {
        len = len < g->left ? len : g->left;
        try_to_say(g, filler, len);
        g->left -= len;
    }
}

static void read_some(struct guest *g)
{
    static char room[100000];

    (void)!recv(g->c.fd, room, (size_t)rand() % sizeof(room), MSG_DONTWAIT);
}

static void act(struct fixture *f, struct guest *g)
{
    switch (rand() % 16) {
    case 0:
        leave(&g->c);
        break;
    case 1:
        reset(&g->c);
        break;
    case 2:
        (void)!shutdown(g->c.fd, SHUT_WR);
        break;
    case 3:
        try_to_say(g, GET_LIVE, strlen(GET_LIVE));
        break;
    case 4:
        try_to_say(g, "\r\n\r\n?\r\n\r\n", 9);
        break;
    case 5:
    case 6:
    case 7:
        read_some(g);
        break;
    default:
        say_more(g);
    }
}

static void change_limits(struct fixture *f)
{
    f->options.connections_per_address = (unsigned)rand() % 4;
    f->options.rate_min = rand() % 2 ? 1000 : 0;
    f->options.request_ms = rand() % 2 ? 2000 : 30000;
    http_reload(http_port(f->http), &f->options);
}

static void random_step(struct fixture *f)
{
    static const int64_t pauses_ms[] = {1, 50, 400, 1000, 2500};
    struct guest *g = &guests[rand() % CLIENTS];
    int what = rand() % 40;

    if (what == 0)
        change_limits(f);
    else if (what < 4)
        fixture_pass(f, pauses_ms[rand() % 5]);
    else if (what < 7 && at_work_count > 0)
        answer((unsigned)rand() % at_work_count, rand() % 2 ? 1 : LARGE_REPLY);
    else if (g->c.fd >= 0)
        act(f, g);
    else if (!f->is_stopping)
        *g = (struct guest){.c = dial_from(f, f->loop, f->port, 1 + (unsigned)rand() % HOSTS)};
    fixture_turn(f);
    check_books(f);
}

/* ---- */

/* What came before they left is still served. */
static bool is_done(struct fixture *f)
{
    while (at_work_count > 0)
        answer(0, 1);
    fixture_pass(f, 50);
    return list_is_empty(&f->http->port.clients);
}

static void leave_all(struct fixture *f)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (guests[i].c.fd >= 0)
            leave(&guests[i].c);
    }
    AWAIT(f, is_done(f));
    check_books(f); /* all are 0 */
    fixture_pass(f, 120000);
}

static void run_by_chance(unsigned seed)
{
    void *state;
    struct fixture *f;

    srand(seed);
    up(&state);
    f = state;
    f->options.connections_max = 7;
    f->options.excess_max = 3;
    change_limits(f);
    for (unsigned i = 0; i < CLIENTS; i++)
        guests[i].c.fd = -1;
    for (unsigned step = 0; step < STEPS; step++) {
        random_step(f);
        if (step == STEPS - 50 && seed % 2)
            fixture_stop(f);
    }
    leave_all(f);
    fixture_down(&state);
}

static void each_count_is_the_sum_of_what_it_counts(void **state)
{
    unsigned ever_displaced = 0;

    answered = 0;
    /* On a busy machine clients may be too slow for one to displace another: more seeds then.
     */
    for (unsigned seed = 1; seed <= SEEDS || (!ever_displaced && seed <= 10 * SEEDS); seed++) {
        print_message("seed %u\r", seed); /* the last one printed is the one that failed */
        run_by_chance(seed);
        ever_displaced += displaced;
    }
    assert_true(answered > 0 && ever_displaced > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_count_is_the_sum_of_what_it_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
