/* How the dialects begin to serve, and what a reload changes: a row each (conf/ports.h).
 *
 * All that ports have in common is protocol/conn/port.h: limits, drain, the virtual address,
 * metrics, status.
 */
#ifndef DUEQ_NODE_PORTS_H
#define DUEQ_NODE_PORTS_H

#include "conf/conf.h"

struct api;
struct loop;
struct port;
struct queue;

/* The parts that ports serve from; all borrowed for the ports' life. */
struct ports_from {
    const struct conf *conf;
    struct loop *loop;
    struct queue *queue;
    struct api *api;
};

/* Takes `fd`, which listens, over. */
struct port *ports_open(const struct ports_from *from, enum conf_port which, int fd);

/* The configuration has changed. */
void ports_reload(const struct ports_from *from, enum conf_port which, struct port *port);

#endif
