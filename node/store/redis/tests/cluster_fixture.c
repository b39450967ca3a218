#include "node/store/redis/tests/cluster_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <hiredis/hiredis.h>

#include "base/crc16.h"
#include "node/store/redis/topology/slots.h"

struct cluster cluster;

static const char *const quick[] = {"--repl-diskless-sync-delay", "0", NULL};

/* ---- asking a server ---- */

#define LOOKS_PER_MEETING 300 /* 3 s */

static redisReply *ask(struct redis_fixture *f, const char *command)
{
    redisReply *reply;

    redis_fixture_command(f, "PING"); /* there is a control connection then */
    reply = redisCommand(f->control, command);
    assert_non_null(reply);
    return reply;
}

static void copy_text(struct redis_fixture *f, const char *command, char *text, size_t size)
{
    redisReply *reply = ask(f, command);

    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    snprintf(text, size, "%s", reply->str);
    freeReplyObject(reply);
}

static bool is_settled(struct redis_fixture *f)
{
    char text[2048], known[32];

    snprintf(known, sizeof(known), "cluster_known_nodes:%d\r", CLUSTER_SERVERS);
    copy_text(f, "CLUSTER INFO", text, sizeof(text));
    return strstr(text, "cluster_state:ok") && strstr(text, known) &&
           strstr(text, "cluster_slots_ok:16384");
}

static void meet(unsigned server)
{
    redis_fixture_command(cluster.servers[server], "CLUSTER MEET 127.0.0.1 %d %d",
                          cluster.servers[0]->port, cluster.servers[0]->bus_port);
}

static void meet_all(void)
{
    for (unsigned i = 1; i < CLUSTER_SERVERS; i++)
        meet(i);
}

/* Between two servers of which one stands still for a second a meeting is lost: from time to
 * time all meet again. */
static void wait_until_settled(void)
{
    unsigned looks = 0;

    alarm(PATIENCE_S);
    for (unsigned i = 0; i < CLUSTER_SERVERS; i++) {
        while (!is_settled(cluster.servers[i])) {
            usleep(10000);
            if (++looks % LOOKS_PER_MEETING == 0)
                meet_all();
        }
    }
    alarm(0);
}

/* ---- the servers ---- */

static void give_slots(unsigned server)
{
    unsigned from = server * 16384 / CLUSTER_MASTERS;
    unsigned to = (server + 1) * 16384 / CLUSTER_MASTERS - 1;

    redis_fixture_command(cluster.servers[server], "CLUSTER ADDSLOTSRANGE %u %u", from, to);
    for (unsigned slot = from; slot <= to; slot++)
        cluster.owner[slot] = server;
}

static void add_server(unsigned i)
{
    struct redis_fixture *f = redis_fixture_new_of_cluster(quick);
    size_t len = strlen(cluster.address);

    cluster.servers[i] = f;
    redis_fixture_command(f, "CLUSTER SET-CONFIG-EPOCH %u", i + 1);
    copy_text(f, "CLUSTER MYID", cluster.ids[i], sizeof(cluster.ids[i]));
    snprintf(cluster.address + len, sizeof(cluster.address) - len, "%s127.0.0.1:%d",
             i ? "," : "cluster://", f->port);
    if (i < CLUSTER_MASTERS)
        give_slots(i);
    if (i > 0)
        meet(i);
}

int cluster_set_up(void **state)
{
    for (unsigned i = 0; i < CLUSTER_SERVERS; i++)
        add_server(i);
    wait_until_settled();
    return 0;
}

int cluster_tear_down(void **state)
{
    for (unsigned i = 0; i < CLUSTER_SERVERS; i++)
        redis_fixture_free(cluster.servers[i]);
    return 0;
}

int cluster_node_set_up(void **state)
{
    struct node *n = malloc(sizeof(*n));

    wait_until_settled();
    for (unsigned i = 0; i < CLUSTER_SERVERS; i++)
        redis_fixture_command(cluster.servers[i], "FLUSHALL");
    node_init(n, cluster.servers[0]);
    n->redis = NULL; /* it is not the node's to be freed */
    n->options.address = cluster.address;
    *state = n;
    return 0;
}

/* ---- buckets ---- */

struct redis_fixture *cluster_owner(unsigned bucket)
{
    return cluster.servers[cluster.owner[redis_slot_of_bucket(bucket)]];
}

const char *cluster_topic(unsigned bucket)
{
    static char names[64][16];
    char *name = names[bucket];

    for (unsigned i = 0; !*name || crc16(bytes_of_text(name)) % 64 != bucket; i++)
        snprintf(name, sizeof(names[0]), "t%u", i);
    return name;
}

static long epoch_of(struct redis_fixture *f)
{
    static const char name[] = "cluster_current_epoch:";
    char text[2048];
    const char *found;

    copy_text(f, "CLUSTER INFO", text, sizeof(text));
    found = strstr(text, name);
    assert_non_null(found);
    return strtol(found + strlen(name), NULL, 10);
}

/* Two that get slots without having heard of each other take the same epoch, and then neither
 * is believed for certain. */
static void wait_until_agreed(void)
{
    alarm(PATIENCE_S);
    for (unsigned i = 1; i < CLUSTER_SERVERS; i++) {
        while (epoch_of(cluster.servers[i]) != epoch_of(cluster.servers[0]))
            usleep(5000);
    }
    alarm(0);
}

void cluster_begin_move(unsigned bucket, unsigned to)
{
    unsigned slot = redis_slot_of_bucket(bucket), from = cluster.owner[slot];

    wait_until_agreed();

    redis_fixture_command(cluster.servers[to], "CLUSTER SETSLOT %u IMPORTING %s", slot,
                          cluster.ids[from]);
    redis_fixture_command(cluster.servers[from], "CLUSTER SETSLOT %u MIGRATING %s", slot,
                          cluster.ids[to]);
}

void cluster_move_keys(unsigned bucket, unsigned to, unsigned max)
{
    unsigned slot = redis_slot_of_bucket(bucket);
    struct redis_fixture *from = cluster.servers[cluster.owner[slot]];
    char command[64];
    redisReply *keys;

    snprintf(command, sizeof(command), "CLUSTER GETKEYSINSLOT %u %u", slot, max);
    keys = ask(from, command);
    for (size_t i = 0; i < keys->elements; i++)
        redis_fixture_command(from, "MIGRATE 127.0.0.1 %d %s 0 5000", cluster.servers[to]->port,
                              keys->element[i]->str);
    freeReplyObject(keys);
}

void cluster_end_move(unsigned bucket, unsigned to)
{
    unsigned slot = redis_slot_of_bucket(bucket), from = cluster.owner[slot];

    redis_fixture_command(cluster.servers[to], "CLUSTER SETSLOT %u NODE %s", slot,
                          cluster.ids[to]);
    redis_fixture_command(cluster.servers[from], "CLUSTER SETSLOT %u NODE %s", slot,
                          cluster.ids[to]);
    cluster.owner[slot] = to;
}

/* ---- replicas ---- */

static void wait_for_word(struct redis_fixture *f, const char *command, const char *word)
{
    char text[16384] = "";

    alarm(PATIENCE_S);
    while (!strstr(text, word)) {
        usleep(5000);
        copy_text(f, command, text, sizeof(text));
    }
    alarm(0);
}

void cluster_replicate(unsigned server)
{
    struct redis_fixture *spare = cluster.servers[CLUSTER_MASTERS];

    redis_fixture_command(spare, "FLUSHALL");
    redis_fixture_command(spare, "CLUSTER REPLICATE %s", cluster.ids[server]);
    wait_for_word(spare, "INFO replication", "master_link_status:up");
}

void cluster_wait_down(unsigned bucket)
{
    wait_for_word(cluster_owner(bucket), "CLUSTER INFO", "cluster_state:fail");
}

static bool is_master(struct redis_fixture *f)
{
    char text[16384];

    copy_text(f, "INFO replication", text, sizeof(text));
    return strstr(text, "role:master");
}

/* The others may not know yet whose replica it is, and do not vote then: it asks again. */
static void fail_over(struct redis_fixture *f, const char *how)
{
    alarm(PATIENCE_S);
    for (unsigned i = 0; !is_master(f); i++) {
        if (i % 100 == 0)
            redis_fixture_command(f, *how ? "CLUSTER FAILOVER %s" : "CLUSTER FAILOVER", how);
        usleep(5000);
    }
    alarm(0);
}

void cluster_promote(unsigned server, const char *how)
{
    struct redis_fixture *spare = cluster.servers[CLUSTER_MASTERS];
    char id[sizeof(cluster.ids[0])];

    fail_over(spare, how);
    cluster.servers[CLUSTER_MASTERS] = cluster.servers[server];
    cluster.servers[server] = spare;
    memcpy(id, cluster.ids[server], sizeof(id));
    memcpy(cluster.ids[server], cluster.ids[CLUSTER_MASTERS], sizeof(id));
    memcpy(cluster.ids[CLUSTER_MASTERS], id, sizeof(id));
}

/* ---- the node ---- */

static bool is_reached(struct node *n, unsigned bucket)
{
    const char *address;

    return n->is_up && !redis_store_bucket_why(n->store, bucket, &address);
}

void run_until_bucket(struct node *n, unsigned bucket, bool wanted)
{
    alarm(PATIENCE_S);
    while (is_reached(n, bucket) != wanted)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    alarm(0);
}

void run_until_reached(struct node *n)
{
    for (unsigned bucket = 0; bucket < n->options.buckets; bucket++)
        run_until_bucket(n, bucket, true);
}
