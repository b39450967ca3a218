/* A master with replicas: real redis-servers, each in a directory of its own. */
#ifndef DUEQ_NODE_STORE_REDIS_TESTS_REPLICAS_FIXTURE_H
#define DUEQ_NODE_STORE_REDIS_TESTS_REPLICAS_FIXTURE_H

#include <stdbool.h>

#include "node/store/redis/durability.h"
#include "node/store/redis/tests/server_fixture.h"

#define REPLICAS_MAX 2

struct replicated {
    struct redis_fixture *master; /* listens on a port, too: replicas know no unix sockets */
    struct redis_fixture *replicas[REPLICAS_MAX]; /* NULL: not started */
    char port[12];
    const char *master_args[16], *replica_args[8];
};

/* `args`: further ones of the master, at most 8, ended by NULL; or NULL. */
struct replicated *replicated_new(const char *const *args);
void replicated_free(struct replicated *r); /* NULL is fine */

/* One more, which synchronizes. */
void replicated_add(struct replicated *r);

/* Returns when so many replicas have all that the master has. */
void replicated_wait_in_sync(struct replicated *r, unsigned count);

void replicated_freeze(struct replicated *r, unsigned replica);
void replicated_thaw(struct replicated *r, unsigned replica);

/* Does INFO have these words? */
bool redis_fixture_says(struct redis_fixture *f, const char *words);

struct redis_incarnation redis_fixture_incarnation(struct redis_fixture *f);

#endif
