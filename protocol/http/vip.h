/* What the HTTP port tells of the virtual address: GET /v1/cluster, `vip`, and metrics. */
#ifndef DUEQ_PROTOCOL_HTTP_VIP_H
#define DUEQ_PROTOCOL_HTTP_VIP_H

#include <stdbool.h>
#include <stdint.h>

struct http_vip_status {
    const char *addresses; /* as configured */
    const char *state;     /* "away", "held" or "leaving" */
    bool is_here;          /* all of them are on this host, as far as the node knows */
    bool is_possible;      /* this node could have it, as far as it knows */
    const char *interface; /* "": none, or the hook's matter */
    const char *why; /* why they are not here although the node leads, or could not be taken */
    const char *conflict; /* the hardware address of who else has it; "" */
    uint64_t taken, restored, announcements, conflicts, failures; /* since the worker's start */
};

#endif
