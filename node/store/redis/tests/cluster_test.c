/* A store on a Redis Cluster of real servers: buckets that move, masters that go. */
#include "node/store/redis/tests/cluster_fixture.h"
#include "node/store/redis/tests/log_fixture.h"
#include "node/store/redis/parts.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <hiredis/hiredis.h>

#include "node/store/redis/topology/cluster_map.h"

#define BUCKETS 64
#define LAST    CLUSTER_MASTERS /* the server that has no slots at first */

static void start(struct node *n)
{
    node_start(n);
    run_until_reached(n);
}

static void push_to(struct node *n, unsigned bucket)
{
    push_well(n, cluster_topic(bucket));
}

static int64_t count_ready(struct node *n, unsigned bucket)
{
    return stats_of(n, cluster_topic(bucket)).ready;
}

static void move(unsigned bucket, unsigned to)
{
    cluster_begin_move(bucket, to);
    cluster_move_keys(bucket, to, 1000);
    cluster_end_move(bucket, to);
}

static unsigned server_of(unsigned bucket)
{
    struct redis_fixture *owner = cluster_owner(bucket);
    unsigned i = 0;

    while (cluster.servers[i] != owner)
        i++;
    return i;
}

/* One of another server than that bucket's. */
static unsigned bucket_elsewhere(unsigned bucket)
{
    unsigned other = 0;

    while (server_of(other) == server_of(bucket))
        other++;
    return other;
}

/* ---- where all is well ---- */

static void each_bucket_is_at_its_master(void **state)
{
    struct node *n = *state;

    start(n);
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        push_to(n, bucket);
        assert_int_equal(
            redis_fixture_command(cluster_owner(bucket), "EXISTS dq:{%u}:n", bucket), 1);
    }
    assert_int_equal(redis_store_lanes(n->store), CLUSTER_MASTERS);
    assert_int_equal(stats(n)->moved + stats(n)->refused, 0);
    assert_int_equal(stats(n)->rollbacks, 0);
    assert_int_equal(stats(n)->connects, CLUSTER_MASTERS);
}

/* Whichever master it subscribes at. */
static void what_becomes_ready_at_any_master_is_heard(void **state)
{
    struct node *n = *state;

    start(n);
    for (unsigned bucket = 0; bucket < BUCKETS; bucket += 8) {
        n->is_woken = false;
        push_to(n, bucket);
        run_until(n->loop, &n->is_woken);
    }
}

static unsigned count_published(struct redis_fixture *f)
{
    redisReply *reply = redisCommand(f->control, "INFO commandstats");
    const char *at = strstr(reply->str, "cmdstat_publish:calls=");
    unsigned count = at ? (unsigned)strtoul(strchr(at, '=') + 1, NULL, 10) : 0;

    freeReplyObject(reply);
    return count;
}

/* Any other one may be cut off. */
static void a_hint_goes_to_the_master_of_its_bucket(void **state)
{
    struct node *n = *state;
    unsigned buckets[CLUSTER_MASTERS] = {0};
    struct store *port;

    start(n);
    port = redis_store_port(n->store);
    for (unsigned i = 0; i < CLUSTER_MASTERS; i++)
        redis_fixture_command(cluster.servers[i], "CONFIG RESETSTAT");
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        port->ops->hint(port, bucket, 0, 0);
        buckets[server_of(bucket)]++;
    }
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        push_to(n, bucket);
    for (unsigned i = 0; i < CLUSTER_MASTERS; i++)
        assert_true(count_published(cluster.servers[i]) >= 2 * buckets[i]);
}

static void on_page(struct op *op)
{
    struct job_op *j = CONTAINER_OF(op, struct job_op, op);

    assert_int_equal(op->status, STATUS_OK);
    assert_true(op->out.places.next.len < sizeof(j->id));
    memcpy(j->id, op->out.places.next.at, op->out.places.next.len);
    j->id[op->out.places.next.len] = '\0';
    for (unsigned i = 0; i < op->out.places.count; i++)
        *j->turns += bytes_equal(op->out.places.rows[i].topic, BYTES("everywhere")) ||
                     op->out.places.rows[i].topic.at[0] == 't';
    j->is_done = true;
}

static void all_masters_are_looked_through(void **state)
{
    struct node *n = *state;
    char cursor[64] = "";
    int found = 0;

    start(n);
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        push_to(n, bucket);
    do {
        struct job_op page = {.turns = &found, .op.in.places.after = bytes_of_text(cursor)};

        page.op.verb = OP_PLACES;
        page.op.on_done = on_page;
        store_submit(redis_store_port(n->store), &page.op);
        run_until(n->loop, &page.is_done);
        strcpy(cursor, page.id);
    } while (*cursor);
    assert_in_range(found, BUCKETS, 8 * BUCKETS);
}

/* ---- a bucket moves ---- */

static void a_bucket_that_has_moved_is_followed(void **state)
{
    struct node *n = *state;
    unsigned bucket = 5, to = (server_of(bucket) + 1) % CLUSTER_MASTERS;
    int ups;

    start(n);
    push_to(n, bucket);
    ups = n->ups;
    move(bucket, to);
    push_to(n, bucket);
    assert_int_equal(count_ready(n, bucket), 2);
    assert_in_range(stats(n)->moved, 1, 100);
    assert_int_equal(stats(n)->rollbacks, 0);
    assert_int_equal(n->ups, ups);
    move(bucket, (to + 1) % CLUSTER_MASTERS);
    move(bucket, to);
    push_to(n, bucket);
    assert_int_equal(count_ready(n, bucket), 3);
    assert_int_equal(stats(n)->rollbacks, 0);
}

/* A master that no map has named yet. */
static void a_new_master_is_connected_to(void **state)
{
    struct node *n = *state;
    unsigned bucket = 9, from = server_of(bucket);

    start(n);
    push_to(n, bucket);
    move(bucket, LAST);
    push_to(n, bucket);
    assert_int_equal(count_ready(n, bucket), 2);
    move(bucket, from);
    push_to(n, bucket);
    assert_int_equal(count_ready(n, bucket), 3);
    alarm(PATIENCE_S);
    while (redis_store_lanes(n->store) > CLUSTER_MASTERS)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    alarm(0);
}

static void run_until_maps(struct node *n, unsigned more)
{
    uint64_t wanted = stats(n)->maps_read + more;

    alarm(PATIENCE_S);
    while (stats(n)->maps_read < wanted) {
        redis_cluster_map_stale(n->store->map);
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    }
    alarm(0);
}

/* The map may be older than the answer; but nobody is believed for ever. */
static void who_was_named_by_an_answer_is_kept_for_some_maps(void **state)
{
    struct node *n = *state;
    struct redis_address to = {.host = "127.0.0.1", .port = cluster.servers[LAST]->port};
    unsigned bucket = 9;

    start(n);
    kill(cluster.servers[LAST]->pid, SIGSTOP);
    redis_store_on_elsewhere(n->store, bucket, &to);
    run_until_maps(n, 3);
    assert_int_equal(redis_store_lanes(n->store), CLUSTER_MASTERS + 1);
    run_until_bucket(n, bucket, true);
    kill(cluster.servers[LAST]->pid, SIGCONT);
    push_to(n, bucket);
}

static void a_bucket_on_its_way_waits_and_no_other(void **state)
{
    struct node *n = *state;
    unsigned bucket = 11, other = bucket_elsewhere(bucket), from = server_of(bucket);
    unsigned to = (from + 1) % CLUSTER_MASTERS;
    struct job_op waits[20] = {0};

    start(n);
    push_to(n, bucket);
    cluster_begin_move(bucket, to);
    cluster_move_keys(bucket, to, 2);
    for (unsigned i = 0; i < 20; i++)
        submit_push(n, &waits[i], cluster_topic(bucket));
    for (int i = 0; i < 50; i++)
        push_to(n, other);
    assert_false(waits[0].is_done);
    assert_in_range(stats(n)->try_again + stats(n)->asked, 1, 10000);
    cluster_move_keys(bucket, to, 1000);
    cluster_end_move(bucket, to);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(await(n, &waits[i]), STATUS_OK);
    assert_int_equal(count_ready(n, bucket), 21);
    assert_int_equal(stats(n)->rollbacks, 0);
    assert_int_equal(n->downs, 0);
}

/* Unlike run_until_bucket() not by the loss of the subscription alone. */
static const char *run_until_told(struct node *n, unsigned bucket, const char **address)
{
    const char *why;

    alarm(PATIENCE_S);
    while (!(why = redis_store_bucket_why(n->store, bucket, address)))
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    alarm(0);
    return why;
}

/* As when redis-cli was stopped half way. */
static void a_bucket_that_stays_half_way_is_told_and_comes_back(void **state)
{
    struct node *n = *state;
    unsigned bucket = 15, other = bucket_elsewhere(bucket);
    unsigned to = (server_of(bucket) + 1) % CLUSTER_MASTERS;
    struct job_op waits = {0};
    const char *address, *why;

    n->options.hold_ms = PATIENCE_S * 1000;
    start(n);
    push_to(n, bucket);
    cluster_begin_move(bucket, to);
    cluster_move_keys(bucket, to, 2);
    submit_push(n, &waits, cluster_topic(bucket));
    why = run_until_told(n, bucket, &address);
    assert_non_null(strstr(why, "its slot is on its way to "));
    assert_in_range(strtol(strrchr(address, ':') + 1, NULL, 10), cluster_owner(bucket)->port,
                    cluster_owner(bucket)->port);
    push_to(n, other);
    assert_false(waits.is_done);
    assert_in_range(stats(n)->try_again + stats(n)->asked, 1, 1000);
    cluster_move_keys(bucket, to, 1000);
    cluster_end_move(bucket, to);
    assert_int_equal(await(n, &waits), STATUS_OK);
    run_until_bucket(n, bucket, true);
    assert_int_equal(count_ready(n, bucket), 2);
    assert_int_equal(n->downs, 0);
}

/* Its master answers all the time: what waits for the bucket is no silence of the master. */
static void a_bucket_that_stays_half_way_opens_no_breaker(void **state)
{
    struct node *n = *state;
    unsigned bucket = 15, neighbour = 0, to = (server_of(bucket) + 1) % CLUSTER_MASTERS;
    struct job_op waits = {0}, comes_later = {0};
    const char *address;
    int64_t until_mono_ms;

    while (neighbour == bucket || server_of(neighbour) != server_of(bucket))
        neighbour++;
    n->options.hold_ms = PATIENCE_S * 1000;
    n->options.breaker_after_ms = 1500; /* a busy machine's Redis may be silent for a while */
    n->options.breaker_failures = 0;
    start(n);
    push_to(n, bucket);
    cluster_begin_move(bucket, to);
    cluster_move_keys(bucket, to, 1000); /* nothing of it can be asked here any more */
    submit_push(n, &waits, cluster_topic(bucket));
    run_until_told(n, bucket, &address);
    submit_push(n, &comes_later, cluster_topic(bucket));
    until_mono_ms = timers_now(&n->loop->timers) + 2 * n->options.breaker_after_ms;
    while (timers_now(&n->loop->timers) < until_mono_ms)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    assert_false(waits.is_done);
    assert_int_equal(stats(n)->breaker, BREAKER_CLOSED);
    push_to(n, neighbour);
    assert_int_equal(stats(n)->breaker_trips, 0);
    cluster_end_move(bucket, to);
    assert_int_equal(await(n, &comes_later), STATUS_OK);
    assert_int_equal(waits.op.status, STATUS_OK);
}

/* It is not retried, but the next one finds its way. */
static void a_leader_s_operation_is_not_sent_after_its_bucket(void **state)
{
    struct node *n = *state;
    unsigned bucket = 13, to = (server_of(bucket) + 1) % CLUSTER_MASTERS;
    struct job_op fence = {.op.token = BYTES("")}, again = {.op.token = BYTES("")};

    start(n);
    push_to(n, bucket);
    move(bucket, to);
    submit_op(n, &fence, OP_FENCE, cluster_topic(bucket));
    assert_int_equal(await(n, &fence), STATUS_UNAVAILABLE);
    run_until_bucket(n, bucket, true);
    submit_op(n, &again, OP_FENCE, cluster_topic(bucket));
    assert_int_equal(await(n, &again), STATUS_OK);
}

/* ---- what the log says of it ---- */

/* And no word of a map whose numbers are the same. */
static void where_a_bucket_has_gone_is_said(void **state)
{
    struct node *n = *state;
    unsigned bucket = 5, from = server_of(bucket), to = (from + 1) % CLUSTER_MASTERS;
    char path[96], words[128];

    snprintf(path, sizeof(path), "%s/log", cluster.servers[0]->dir);
    log_to(path);
    start(n);
    move(bucket, to);
    push_to(n, bucket);
    run_until_maps(n, 3);
    log_to(NULL);
    snprintf(words, sizeof(words), "bucket %u: 127.0.0.1:%d -> 127.0.0.1:%d\n", bucket,
             cluster.servers[from]->port, cluster.servers[to]->port);
    assert_int_equal(lines_with(path, words), 1);
    assert_int_equal(lines_with(path, "Redis Cluster: epoch"), 1);
    unlink(path);
}

/* ---- one request at a time ---- */

static struct redis_bucket *make_wary(struct node *n, unsigned bucket)
{
    n->store->route.buckets[bucket].is_probing = true;
    return &n->store->route.buckets[bucket];
}

static void a_walk_through_a_master_is_no_probe_of_a_bucket(void **state)
{
    struct node *n = *state;
    int found = 0;
    struct job_op page = {.turns = &found, .op.verb = OP_PLACES, .op.on_done = on_page};
    struct job_op first = {0}, second = {0};
    const struct redis_bucket *b;

    start(n);
    b = make_wary(n, 0);
    store_submit(redis_store_port(n->store), &page.op);
    submit_push(n, &first, cluster_topic(0));
    assert_int_equal(stats(n)->held, 0);
    submit_push(n, &second, cluster_topic(0));
    assert_int_equal(stats(n)->held, 1);
    run_until(n->loop, &page.is_done);
    run_until(n->loop, &second.is_done);
    assert_false(b->is_probing);
}

static void a_refusal_opens_a_bucket_for_the_next_one_only(void **state)
{
    struct node *n = *state;
    unsigned bucket = 21;
    struct job_op ops[3] = {0};
    const struct redis_bucket *b;

    start(n);
    push_to(n, bucket);
    b = make_wary(n, bucket);
    redis_fixture_command(cluster_owner(bucket), "CONFIG SET maxmemory 1");
    for (unsigned i = 0; i < 3; i++)
        submit_push(n, &ops[i], cluster_topic(bucket));
    run_until(n->loop, &ops[0].is_done);
    assert_int_not_equal(ops[0].op.status, STATUS_OK);
    assert_true(b->is_probing);
    assert_int_equal(stats(n)->held, 1);
    run_until(n->loop, &ops[2].is_done);
    redis_fixture_command(cluster_owner(bucket), "CONFIG SET maxmemory 0");
    push_to(n, bucket);
    assert_false(b->is_probing);
}

/* ---- a master goes ---- */

static void without_a_master_its_buckets_wait_and_no_others(void **state)
{
    struct node *n = *state;
    unsigned bucket = 17, other = bucket_elsewhere(bucket);
    struct redis_fixture *owner = cluster_owner(bucket);
    struct job_op waits = {0};
    const char *address;

    for (unsigned i = 0; i < CLUSTER_SERVERS; i++)
        redis_fixture_command(cluster.servers[i],
                              "CONFIG SET cluster-require-full-coverage no");
    start(n);
    redis_fixture_kill(owner);
    run_until_bucket(n, bucket, false);
    submit_push(n, &waits, cluster_topic(bucket));
    for (int i = 0; i < 50; i++)
        push_to(n, other);
    assert_false(waits.is_done);
    assert_non_null(redis_store_bucket_why(n->store, bucket, &address));
    run_until(n->loop, &n->is_up); /* perhaps it had subscribed there */
    redis_fixture_start(owner);
    assert_int_equal(await(n, &waits), STATUS_OK);
    run_until_reached(n);
    assert_int_equal(stats(n)->rollbacks, 0);
    for (unsigned i = 0; i < CLUSTER_SERVERS; i++)
        redis_fixture_command(cluster.servers[i],
                              "CONFIG SET cluster-require-full-coverage yes");
}

/* All of them, where one of them does not have all slots (the default). */
static void while_the_masters_say_that_all_is_down_it_is(void **state)
{
    struct node *n = *state;
    unsigned bucket = 17, other = bucket_elsewhere(bucket);
    struct redis_fixture *owner = cluster_owner(bucket);
    struct job_op waits = {0};
    const char *address;

    n->options.hold_ms = PATIENCE_S * 1000;
    start(n);
    redis_fixture_kill(owner);
    cluster_wait_down(other);
    submit_push(n, &waits, cluster_topic(other));
    assert_non_null(strstr(run_until_told(n, other, &address), "CLUSTERDOWN"));
    assert_false(waits.is_done);
    redis_fixture_start(owner);
    assert_int_equal(await(n, &waits), STATUS_OK);
    run_until_reached(n);
    assert_int_equal(stats(n)->rollbacks, 0);
}

/* ---- a replica takes a master's place: these are the last, they leave one behind ---- */

/* Half of the pushes are on their way when it happens. */
static void a_promoted_replica_is_followed_and_nothing_is_lost(void **state)
{
    static struct job_op waits[200];
    struct node *n = *state;
    unsigned bucket = 19, other = bucket_elsewhere(bucket);

    start(n);
    cluster_replicate(server_of(bucket));
    for (unsigned i = 0; i < 100; i++)
        submit_push(n, &waits[i], cluster_topic(bucket));
    run_until(n->loop, &waits[0].is_done);
    cluster_promote(server_of(bucket), "");
    for (unsigned i = 100; i < 200; i++)
        submit_push(n, &waits[i], cluster_topic(bucket));
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(await(n, &waits[i]), STATUS_OK);
    push_to(n, other);
    assert_int_equal(count_ready(n, bucket), 200);
    assert_int_equal(stats(n)->rollbacks + stats(n)->lost_pushes, 0);
}

static void a_promoted_replica_that_lacks_pushes_has_rolled_back(void **state)
{
    struct node *n = *state;
    unsigned bucket = 19, server = server_of(bucket);
    struct redis_fixture *master = cluster_owner(bucket);
    struct redis_fixture *replica = cluster.servers[LAST];

    cluster_replicate(server);
    start(n);
    push_to(n, bucket);
    redis_fixture_command(master, "WAIT 1 5000");
    kill(replica->pid, SIGSTOP);
    redis_fixture_command(master, "CLIENT KILL TYPE replica");
    for (int i = 0; i < 3; i++)
        push_to(n, bucket);
    redis_fixture_kill(master);
    kill(replica->pid, SIGCONT);
    cluster_promote(server, "TAKEOVER");
    run_until_bucket(n, bucket, true);
    run_until_reached(n);
    assert_int_equal(count_ready(n, bucket), 1);
    assert_int_equal(stats(n)->rollbacks, 1);
    assert_int_equal(stats(n)->lost_pushes, 3);
    assert_int_equal(n->olders, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CLUSTER(each_bucket_is_at_its_master),
        WITH_CLUSTER(what_becomes_ready_at_any_master_is_heard),
        WITH_CLUSTER(a_hint_goes_to_the_master_of_its_bucket),
        WITH_CLUSTER(all_masters_are_looked_through),
        WITH_CLUSTER(a_bucket_that_has_moved_is_followed),
        WITH_CLUSTER(a_new_master_is_connected_to),
        WITH_CLUSTER(who_was_named_by_an_answer_is_kept_for_some_maps),
        WITH_CLUSTER(a_bucket_on_its_way_waits_and_no_other),
        WITH_CLUSTER(a_bucket_that_stays_half_way_is_told_and_comes_back),
        WITH_CLUSTER(a_bucket_that_stays_half_way_opens_no_breaker),
        WITH_CLUSTER(a_leader_s_operation_is_not_sent_after_its_bucket),
        WITH_CLUSTER(where_a_bucket_has_gone_is_said),
        WITH_CLUSTER(a_walk_through_a_master_is_no_probe_of_a_bucket),
        WITH_CLUSTER(a_refusal_opens_a_bucket_for_the_next_one_only),
        WITH_CLUSTER(without_a_master_its_buckets_wait_and_no_others),
        WITH_CLUSTER(while_the_masters_say_that_all_is_down_it_is),
        WITH_CLUSTER(a_promoted_replica_is_followed_and_nothing_is_lost),
        WITH_CLUSTER(a_promoted_replica_that_lacks_pushes_has_rolled_back),
    };

    return cmocka_run_group_tests(tests, cluster_set_up, cluster_tear_down);
}
