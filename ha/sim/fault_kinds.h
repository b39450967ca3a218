/* A fault, and the kinds of faults. For faults.c and fault_*.c only.
 *
 * To add a kind: its functions, and a row in the table of its file.
 */
#ifndef DUEQ_HA_SIM_FAULT_KINDS_H
#define DUEQ_HA_SIM_FAULT_KINDS_H

#include "ha/sim/faults.h"

struct sim_fault {
    struct list link;
    const struct sim_fault_kind *kind;
    struct timer end;
    struct timer pulse; /* the kind's own */
    unsigned a, b;      /* two different nodes or servers */
    unsigned mode;      /* 0 to 3, by the dice */
    int server;         /* the server a node is connected to; -1: none */
    enum sim_scope scope;
    struct coord_credentials dead;
};

struct sim_fault_kind {
    const char *name; /* NULL: the end of the table */
    enum sim_scope scope;
    int64_t least_ms, most_ms;
    void (*begin)(struct sim_fault *f);
    void (*end)(struct sim_fault *f);
    void (*on_pulse)(struct timer *timer); /* or NULL */
    bool is_of_servers;                    /* a and b are servers, not nodes */
};

extern const struct sim_fault_kind sim_process_kinds[], sim_link_kinds[], sim_server_kinds[];

/* Arms a fault's `pulse`, which is disarmed when the fault ends. */
void sim_fault_arm(struct timer *pulse, int64_t delay_ms);

/* Kills a node and starts it at once: a fault within a fault, counted. */
void sim_fault_restart(unsigned node);

void sim_fault_nothing(struct sim_fault *f);

static inline struct sim_node *sim_fault_node(const struct sim_fault *f)
{
    return &sim_nodes[f->a];
}

#endif
