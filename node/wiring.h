/* Turns the configuration into the options of each part, nothing but renaming; and opens the
 * ports with theirs. */
#ifndef DUEQ_NODE_WIRING_H
#define DUEQ_NODE_WIRING_H

#include "conf/conf.h"
#include "node/queue/queue.h"
#include "node/store/redis/store.h"

struct access;
struct api;
struct port;
struct tls;

/* The rows of `topics` as the queue takes them. Work that the queue has begun with the rows
 * goes on after a reload, so rows and names stay where they are. */
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

/* Ports that listen. */
struct wiring_open {
    unsigned clients; /* for clients, at least 1; */
    unsigned http;    /* so many of these speak HTTP */
    unsigned operators;
};

/* Clients of each protocol for clients, by what limits.connections says, and what the process
 * may open. */
unsigned wiring_connections_max(unsigned wanted, uint64_t descriptors,
                                const struct wiring_open *open);

/* Adds the address of the store; `socket` is the embedded Redis's, or NULL. */
void wiring_store_address(const struct conf *conf, const char *socket, struct buf *to);

/* Raises the limit of descriptors as far as the system allows; logs when limits.connections
 * must be less for it. Call before the options of the protocols are made, which depend on it.
 */
void wiring_raise_descriptors(const struct conf *conf);

/* ---- ports ---- */

/* A port of enum conf_port, or this: admin.socket. */
#define WIRING_SOCKET CONF_PORTS
#define WIRING_PORTS  (CONF_PORTS + 1)

/* The parts that ports serve from; all borrowed for the ports' life. */
struct wiring_ports {
    const struct conf *conf;
    struct loop *loop;
    struct queue *queue;
    struct api *api;
    struct audit *audit;
    struct access *access;
    struct tls *tls;
};

/* Takes over what the configuration says of certificates: before ports are opened or reloaded.
 */
void wiring_tls_load(struct tls *tls, const struct conf *conf);

/* The same for Redis: where store.redis wants TLS, before the store is made or reloaded. */
void wiring_store_tls_load(struct redis_tls *tls, const struct conf *conf);

/* Takes `fd`, which listens, over. All that ports have in common is protocol/conn/port.h. */
struct port *wiring_port_open(const struct wiring_ports *from, unsigned which, int fd);

/* The configuration has changed. */
void wiring_port_reload(const struct wiring_ports *from, unsigned which, struct port *port);

#endif
