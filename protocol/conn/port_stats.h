/* What is counted of a port, whatever its dialect. */
#ifndef DUEQ_PROTOCOL_CONN_PORT_STATS_H
#define DUEQ_PROTOCOL_CONN_PORT_STATS_H

#include <stdint.h>

/* Since the worker's start. */
struct port_stats {
    const char *name;     /* "gmq"; static */
    uint64_t connections; /* gauge */
    uint64_t accepted;
    uint64_t rejected; /* clients, over a limit of connections */
    uint64_t shed;     /* closed for the memory they took, see connection.h */
    uint64_t requests; /* well-formed or not */
    uint64_t refused;  /* of these: not understood, not known, too large, or while stopping */
};

#endif
