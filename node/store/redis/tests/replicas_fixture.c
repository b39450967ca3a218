#include "node/store/redis/tests/replicas_fixture.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#define FIRST_PORT   10000
#define BEHIND_PORTS 32768 /* from there on they are given to outgoing connections */
#define MASTER_ARGS  8

/* ---- a port that nobody has ---- */

static bool is_free(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;

    close(fd);
    return is_bound;
}

static int free_port(void)
{
    for (;;) {
        int port = FIRST_PORT + (int)arc4random_uniform(BEHIND_PORTS - FIRST_PORT);

        if (is_free(port))
            return port;
    }
}

/* ---- INFO ---- */

static redisReply *info_of(struct redis_fixture *f)
{
    redisReply *reply;

    redis_fixture_command(f, "PING"); /* connects */
    reply = redisCommand(f->control, "INFO everything");
    if (!reply || reply->type != REDIS_REPLY_STRING)
        abort();
    return reply;
}

bool redis_fixture_says(struct redis_fixture *f, const char *words)
{
    redisReply *reply = info_of(f);
    bool is_there = strstr(reply->str, words) != NULL;

    freeReplyObject(reply);
    return is_there;
}

struct redis_incarnation redis_fixture_incarnation(struct redis_fixture *f)
{
    redisReply *reply = info_of(f);
    struct redis_info info = redis_info_read(bytes_of(reply->str, reply->len));

    freeReplyObject(reply);
    return info.incarnation;
}

/* ---- servers ---- */

struct replicated *replicated_new(const char *const *args)
{
    struct replicated *r = calloc(1, sizeof(*r));
    const char *listens[] = {
        "--port", NULL, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"};
    unsigned count = sizeof(listens) / sizeof(*listens);

    if (!r)
        abort();
    listens[1] = r->port;
    snprintf(r->port, sizeof(r->port), "%d", free_port());
    memcpy(r->master_args, listens, sizeof(listens));
    for (unsigned i = 0; args && args[i]; i++) {
        assert(i < MASTER_ARGS);
        r->master_args[count + i] = args[i];
    }
    r->replica_args[0] = "--replicaof";
    r->replica_args[1] = "127.0.0.1";
    r->replica_args[2] = r->port;
    r->replica_args[3] = "--appendonly"; /* else a child of it would write after its end */
    r->replica_args[4] = "no";
    r->master = redis_fixture_new(r->master_args);
    return r;
}

void replicated_free(struct replicated *r)
{
    if (!r)
        return;
    for (unsigned i = 0; i < REPLICAS_MAX; i++)
        redis_fixture_free(r->replicas[i]);
    redis_fixture_free(r->master);
    free(r);
}

void replicated_add(struct replicated *r)
{
    unsigned i = r->replicas[0] ? 1 : 0;

    assert(!r->replicas[i]);
    r->replicas[i] = redis_fixture_new(r->replica_args);
}

void replicated_wait_in_sync(struct replicated *r, unsigned count)
{
    long long reached;

    redis_fixture_command(r->master, "PING");
    reached = redis_fixture_command(r->master, "WAIT %u %d", count, PATIENCE_S * 1000);
    if (reached < count) {
        fprintf(stderr, "redis fixture: %lld replicas instead of %u\n", reached, count);
        abort();
    }
}

void replicated_freeze(struct replicated *r, unsigned replica)
{
    kill(r->replicas[replica]->pid, SIGSTOP);
}

void replicated_thaw(struct replicated *r, unsigned replica)
{
    kill(r->replicas[replica]->pid, SIGCONT);
}
