/* The map of real redis-servers: read, read again, and the message where there is none. */
#include "base/tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "node/store/redis/topology/cluster_map.h"
#include "node/store/redis/tests/server_fixture.h"

#define SERVERS_MAX 3
#define BUCKETS     64

struct reader {
    struct loop *loop;
    struct redis_fixture *servers[SERVERS_MAX];
    unsigned server_count;
    char address[256];
    struct redis_cluster_map_options options;
    struct redis_cluster_map *reading;

    struct redis_map map; /* the last */
    unsigned maps;
    char refused[512]; /* why, the last time */
    bool is_done;      /* what the test waits for */
    bool is_stopped;
    bool (*has_come)(const struct reader *r);
};

/* ---- around each test ---- */

static void look(struct reader *r)
{
    r->is_done = r->has_come && r->has_come(r);
}

static void on_map(void *arg, const struct redis_map *map)
{
    struct reader *r = arg;

    r->map = *map;
    r->maps++;
    look(r);
}

static void on_refused(void *arg, const char *why)
{
    struct reader *r = arg;

    snprintf(r->refused, sizeof(r->refused), "%s", why);
    look(r);
}

static void on_stopped(void *arg)
{
    struct reader *r = arg;

    r->is_stopped = true;
}

static int set_up(void **state)
{
    struct reader *r = calloc(1, sizeof(*r));

    r->loop = loop_new();
    strcpy(r->address, "cluster://");
    r->options = (struct redis_cluster_map_options){.address = r->address,
                                                    .prefix = "dq",
                                                    .buckets = BUCKETS,
                                                    .timeout_ms = 5000,
                                                    .on_map = on_map,
                                                    .on_refused = on_refused,
                                                    .on_stopped = on_stopped,
                                                    .arg = r};
    *state = r;
    return 0;
}

static void stop(struct reader *r)
{
    r->is_stopped = false;
    redis_cluster_map_stop(r->reading);
    assert_false(r->is_stopped);
    run_until(r->loop, &r->is_stopped);
    redis_cluster_map_free(r->reading);
    r->reading = NULL;
}

static int tear_down(void **state)
{
    struct reader *r = *state;

    if (r->reading)
        stop(r);
    for (unsigned i = 0; i < r->server_count; i++)
        redis_fixture_free(r->servers[i]);
    loop_free(r->loop);
    free(r);
    return 0;
}

#define WITH_A_READER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* ---- building blocks ---- */

static void name_seed(struct reader *r, const char *host, int port)
{
    size_t len = strlen(r->address);

    snprintf(r->address + len, sizeof(r->address) - len, "%s%s:%d",
             r->address[len - 1] == '/' ? "" : ",", host, port);
}

/* Its `slots`: "0 8191", or "" for none. */
static struct redis_fixture *add_server(struct reader *r, unsigned epoch, const char *slots,
                                        const char *const *args)
{
    struct redis_fixture *f = redis_fixture_new_of_cluster(args);
    unsigned from, to;

    redis_fixture_command(f, "CLUSTER SET-CONFIG-EPOCH %u", epoch);
    if (sscanf(slots, "%u %u", &from, &to) == 2)
        redis_fixture_command(f, "CLUSTER ADDSLOTSRANGE %u %u", from, to);
    name_seed(r, "127.0.0.1", f->port);
    return r->servers[r->server_count++] = f;
}

static void start(struct reader *r)
{
    r->reading = redis_cluster_map_new(r->loop, &r->options);
    assert_non_null(r->reading);
    redis_cluster_map_start(r->reading);
}

static void wait_for(struct reader *r, bool (*has_come)(const struct reader *r))
{
    r->has_come = has_come;
    look(r);
    run_until(r->loop, &r->is_done);
}

static bool has_map(const struct reader *r)
{
    return r->maps > 0;
}

static bool has_whole_map(const struct reader *r)
{
    return r->maps > 0 && r->map.covered == REDIS_SLOTS;
}

static bool has_two_masters(const struct reader *r)
{
    return has_whole_map(r) && r->map.master_count == 2;
}

static bool is_refused(const struct reader *r)
{
    return *r->refused != '\0';
}

static bool has_reason(const struct reader *r)
{
    return *redis_cluster_map_why(r->reading) != '\0';
}

/* For a reason nobody calls: the loop turns until there is one. */
static void wait_for_reason(struct reader *r)
{
    alarm(PATIENCE_S);
    while (!has_reason(r))
        event_base_loop(r->loop->base, EVLOOP_ONCE);
    alarm(0);
}

/* Until it has read again, so often. */
static void read_more(struct reader *r, unsigned times)
{
    unsigned target = r->maps + times;

    alarm(PATIENCE_S);
    while (r->maps < target) {
        redis_cluster_map_stale(r->reading);
        event_base_loop(r->loop->base, EVLOOP_ONCE);
    }
    alarm(0);
}

static void assert_why(const char *why, const char *words)
{
    if (!strstr(why, words))
        fail_msg("'%s' is not in '%s'", words, why);
}

static void assert_at(const struct reader *r, unsigned bucket, const struct redis_fixture *f)
{
    assert_in_range(r->map.of_bucket[bucket], 0, r->map.master_count - 1);
    assert_int_equal(r->map.masters[r->map.of_bucket[bucket]].port, f->port);
}

/* ---- reading ---- */

static void finds_the_masters_through_one_node(void **state)
{
    struct reader *r = *state;
    struct redis_fixture *a = add_server(r, 1, "0 8191", NULL), *b;
    char seeds[256];

    strcpy(seeds, r->address);
    b = add_server(r, 2, "8192 16383", NULL);
    strcpy(r->address, seeds);
    start(r);
    alarm(PATIENCE_S);
    while (!has_two_masters(r)) {
        /* Again and again: one that meets a server that stands still for a second is lost. */
        redis_fixture_command(b, "CLUSTER MEET 127.0.0.1 %d %d", a->port, a->bus_port);
        redis_cluster_map_stale(r->reading);
        event_base_loop(r->loop->base, EVLOOP_ONCE);
    }
    alarm(0);
    assert_at(r, 7, a); /* slot 1716 */
    assert_at(r, 0, b); /* slot 13907 */
    assert_string_equal(redis_cluster_map_why(r->reading), "");
}

static void reads_again_when_it_is_stale(void **state)
{
    struct reader *r = *state;
    struct redis_fixture *a = add_server(r, 1, "0 8191", NULL);

    start(r);
    wait_for(r, has_map);
    assert_int_equal(r->map.covered, 8192);
    assert_int_equal(r->map.of_bucket[0], REDIS_NO_MASTER);
    redis_fixture_command(a, "CLUSTER ADDSLOTSRANGE 8192 16383");
    redis_cluster_map_stale(r->reading);
    wait_for(r, has_whole_map);
    assert_at(r, 0, a);
}

static void a_node_that_is_away_is_passed_over(void **state)
{
    struct reader *r = *state;
    struct redis_fixture *a = add_server(r, 1, "0 16383", NULL);
    struct redis_fixture *b = add_server(r, 1, "0 16383", NULL);

    redis_fixture_kill(a);
    start(r);
    wait_for(r, has_whole_map);
    assert_at(r, 7, b);
    read_more(r, 3);
    assert_at(r, 7, b);
}

static void waits_for_the_first_that_answers(void **state)
{
    struct reader *r = *state;
    struct redis_fixture *a = add_server(r, 1, "0 16383", NULL);

    redis_fixture_kill(a);
    start(r);
    wait_for_reason(r);
    assert_why(redis_cluster_map_why(r->reading), "127.0.0.1:");
    assert_false(is_refused(r));
    redis_fixture_start(a);
    wait_for(r, has_map);
    assert_string_equal(redis_cluster_map_why(r->reading), "");
}

/* A slot is missing, so neither is ever "ok", and only the epoch counts (cluster_map.h). */
#define MOST "0 16382"

/* It was cut off before a failover that the other has seen. */
static void an_older_map_is_not_believed(void **state)
{
    struct reader *r = *state;
    struct redis_fixture *newer = add_server(r, 5, MOST, NULL);
    struct redis_fixture *older = add_server(r, 3, MOST, NULL);

    start(r);
    wait_for(r, has_map);
    assert_at(r, 7, newer);
    read_more(r, 4);
    assert_at(r, 7, newer);
    stop(r);
    snprintf(r->address, sizeof(r->address), "cluster://127.0.0.1:%d", older->port);
    start(r);
    read_more(r, 1);
    assert_at(r, 7, older);
}

static void a_newer_map_is_believed_at_once(void **state)
{
    struct reader *r = *state;
    struct redis_fixture *newer;

    add_server(r, 3, MOST, NULL);
    newer = add_server(r, 5, MOST, NULL);
    start(r);
    wait_for(r, has_map);
    read_more(r, 1);
    assert_at(r, 7, newer);
    read_more(r, 3);
    assert_at(r, 7, newer);
}

/* ---- names ---- */

static void a_name_is_looked_up(void **state)
{
    struct reader *r = *state;
    struct redis_fixture *a = add_server(r, 1, "0 16383", NULL);

    strcpy(r->address, "cluster://");
    name_seed(r, "localhost", a->port);
    start(r);
    wait_for(r, has_whole_map);
    assert_at(r, 7, a);
    /* It has met nobody, so it does not know its own address: that which was asked. */
    assert_string_equal(r->map.masters[0].host, "127.0.0.1");
}

static void a_name_that_is_none_is_said(void **state)
{
    struct reader *r = *state;

    name_seed(r, "nobody.invalid", 1);
    r->options.timeout_ms = 300;
    start(r);
    wait_for_reason(r);
    assert_why(redis_cluster_map_why(r->reading), "nobody.invalid:1: ");
    assert_false(is_refused(r));
}

static void can_be_stopped_while_a_name_is_looked_up(void **state)
{
    struct reader *r = *state;

    name_seed(r, "nobody.invalid", 1);
    start(r);
    event_base_loop(r->loop->base, EVLOOP_ONCE);
    stop(r);
}

static void can_be_stopped_while_it_asks(void **state)
{
    struct reader *r = *state;

    add_server(r, 1, "0 16383", NULL);
    start(r);
    event_base_loop(r->loop->base, EVLOOP_ONCE);
    stop(r);
    assert_int_equal(r->maps, 0);
}

/* ---- set up wrongly ---- */

static void a_redis_by_itself_is_refused(void **state)
{
    struct reader *r = *state;
    struct redis_fixture *f = redis_fixture_new(NULL);

    r->servers[r->server_count++] = f;
    redis_fixture_listen(f);
    name_seed(r, "127.0.0.1", f->port);
    start(r);
    wait_for(r, is_refused);
    assert_why(r->refused, "is a Redis by itself");
    assert_why(r->refused, "as redis://host:port");
}

/* The others are what was meant. */
static void one_redis_by_itself_in_the_list_is_passed_over(void **state)
{
    struct reader *r = *state;
    struct redis_fixture *plain = redis_fixture_new(NULL), *a;

    r->servers[r->server_count++] = plain;
    redis_fixture_listen(plain);
    name_seed(r, "127.0.0.1", plain->port);
    a = add_server(r, 1, "0 16383", NULL);
    start(r);
    wait_for(r, has_whole_map);
    assert_at(r, 7, a);
    assert_false(is_refused(r));
}

static void the_password_is_said(void **state)
{
    static const char *const args[] = {"--requirepass", "zx81-sesame", NULL};
    struct reader *r = *state;
    struct redis_fixture *f = redis_fixture_new_of_cluster(args);

    r->servers[r->server_count++] = f;
    name_seed(r, "127.0.0.1", f->port);
    start(r);
    wait_for(r, is_refused);
    assert_why(r->refused, "wants a password; set store.password_file");
    stop(r);
    *r->refused = '\0';
    r->options.login.password = "zx81-barley";
    start(r);
    wait_for(r, is_refused);
    assert_why(r->refused, "WRONGPASS");
    stop(r);
    *r->refused = '\0';
    r->options.login.password = "zx81-sesame";
    start(r);
    wait_for(r, has_map);
    assert_false(is_refused(r));
}

static void a_wrong_address_makes_no_reader(void **state)
{
    struct reader *r = *state;

    strcpy(r->address, "cluster://h:x");
    assert_null(redis_cluster_map_new(r->loop, &r->options));
    assert_true(redis_cluster_is_named(r->address));
    assert_true(redis_cluster_is_named("cluster://10.0.0.1"));
    assert_false(redis_cluster_is_named("10.0.0.1:6379"));
    assert_false(redis_cluster_is_named("sentinel://m@10.0.0.1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_A_READER(finds_the_masters_through_one_node),
        WITH_A_READER(reads_again_when_it_is_stale),
        WITH_A_READER(a_node_that_is_away_is_passed_over),
        WITH_A_READER(waits_for_the_first_that_answers),
        WITH_A_READER(an_older_map_is_not_believed),
        WITH_A_READER(a_newer_map_is_believed_at_once),
        WITH_A_READER(a_name_is_looked_up),
        WITH_A_READER(a_name_that_is_none_is_said),
        WITH_A_READER(can_be_stopped_while_a_name_is_looked_up),
        WITH_A_READER(can_be_stopped_while_it_asks),
        WITH_A_READER(a_redis_by_itself_is_refused),
        WITH_A_READER(one_redis_by_itself_in_the_list_is_passed_over),
        WITH_A_READER(the_password_is_said),
        WITH_A_READER(a_wrong_address_makes_no_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
