/* A real redis-server, or Redis Sentinel, for tests: in a directory of its own, on a unix
 * socket, gone with the test process whatever happens to that.
 *
 * Each function ends the process with a message on standard error when it fails.
 */
#ifndef DUEQ_NODE_STORE_REDIS_TESTS_SERVER_FIXTURE_H
#define DUEQ_NODE_STORE_REDIS_TESTS_SERVER_FIXTURE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/loop.h"

struct redisContext;

struct redis_fixture {
    char dir[64];
    bool is_sentinel;
    int port;         /* of this machine; 0: only the socket */
    int bus_port;     /* so; 0: it is no node of a Redis Cluster */
    int claims[2];    /* sockets that keep others from the ports; 0: none */
    char address[96]; /* for redis_store_options */
    const char *const *args;
    pid_t pid;
    struct redisContext *control; /* a blocking connection of the test's own */
};

/* `args`: further arguments of redis-server, ended by NULL, borrowed for the fixture's life;
 * or NULL. Append-only file with fsync always, unless they say otherwise. Returns when it
 * accepts connections. */
struct redis_fixture *redis_fixture_new(const char *const *args);
void redis_fixture_free(struct redis_fixture *f); /* NULL is fine */

/* Lets it listen on a port of this machine, too, and on it again after each start. */
void redis_fixture_listen(struct redis_fixture *f);

/* A node of a Redis Cluster, on a port; it knows no other and has no slots. */
struct redis_fixture *redis_fixture_new_of_cluster(const char *const *args);

/* A Sentinel, with these lines of configuration. */
struct redis_fixture *redis_fixture_new_sentinel(const char *lines);

void redis_fixture_kill(struct redis_fixture *f);  /* SIGKILL */
void redis_fixture_start(struct redis_fixture *f); /* again, on the same data */

/* Runs a command on the control connection; its integer, or 0 when it has none. */
long long redis_fixture_command(struct redis_fixture *f, const char *format, ...);

/* Ends the control connection; the next command makes another. */
void redis_fixture_disconnect(struct redis_fixture *f);

#define PATIENCE_S 60 /* after which SIGALRM ends a process that waits in vain */

/* Runs the loop until `*is_true`, or PATIENCE_S. */
void run_until(struct loop *loop, const bool *is_true);

#endif
