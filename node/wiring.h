/* From the configuration to what each part wants to know, and from what one part knows to
 * what another shows: nothing but renaming. */
#ifndef DUEQ_NODE_WIRING_H
#define DUEQ_NODE_WIRING_H

#include "conf/conf.h"
#include "node/queue/queue.h"
#include "node/store/redis/store.h"
#include "protocol/gmq/gmq.h"
#include "protocol/http/http.h"

/* The rows of `topics` as the queue takes them. What it has begun with them goes on after a
 * reload: so they, and their names, stay where they are. */
struct wiring_rules {
    struct settings_rule at[CONF_TOPICS_MAX]; /* those from `count` on match nothing */
    char names[CONF_TOPICS_MAX][CONF_TOPIC_NAME_MAX];
    unsigned count;
};

void wiring_rules_set(struct wiring_rules *rules, const struct conf *conf);

/* Texts are borrowed from `conf`, rules from `rules`. */
struct redis_store_options wiring_store_options(const struct conf *conf, const char *address);
struct queue_options wiring_queue_options(const struct conf *conf,
                                          const struct wiring_rules *rules);
/* Clients of each protocol, by what limits.connections says and what the process may open. */
unsigned wiring_connections_max(unsigned wanted, uint64_t descriptors);

struct gmq_options wiring_gmq_options(const struct conf *conf);
struct http_options wiring_http_options(const struct conf *conf);

/* Adds the address of the store; `socket` is the embedded Redis's, or NULL. */
void wiring_store_address(const struct conf *conf, const char *socket, struct buf *to);

/* As many descriptors as the system allows; says so when limits.connections has to be less for
 * it. Before the options of the protocols, which go by it. */
void wiring_raise_descriptors(const struct conf *conf);

#endif
