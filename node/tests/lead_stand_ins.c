/* For lead_fixture.c: what is replaced at link time. */
#include "node/tests/lead_fixture.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "ha/peer/link.h"
#include "ha/coord/zk_client.h"

/* ---- virtual time, also for who reads a clock ---- */

int64_t clock_mono_us(void)
{
    return now * 1000;
}

int64_t clock_mono_ms(void)
{
    return now;
}

int64_t clock_wall_ms(void)
{
    return 1700000000000 + now;
}

int64_t clock_boot_ms(void)
{
    return now;
}

/* ---- in the places of ZooKeeper and of the links to other nodes ---- */

static struct node *node_of(const struct loop *loop)
{
    for (unsigned i = 0; i < NODES; i++) {
        if (loop == &nodes[i].loop)
            return &nodes[i];
    }
    abort();
}

struct coordinator *zk_coordinator_new(const struct zk_options *options, struct loop *loop)
{
    struct node *n = node_of(loop);

    fake_coordinator_init(&n->zk, &ensemble, &loop->timers, options->session_ms);
    return &n->zk.base;
}

void zk_coordinator_free(struct coordinator *c)
{
    if (c)
        fake_coordinator_fini(CONTAINER_OF(c, struct fake_coordinator, base));
}

static void set_nobody(struct peers *p, const struct peer_name *names, unsigned count)
{
}

static void report_to_nobody(struct peers *p, const struct coord_credentials *mine)
{
}

static void ask_nobody(struct peers *p, const struct peer_question *question)
{
}

static void leave_nobody(struct peers *p)
{
}

struct peers *peer_link_new(const struct peer_options *options, struct loop *loop)
{
    static const struct peers_ops ops = {.set = set_nobody,
                                         .report = report_to_nobody,
                                         .ask = ask_nobody,
                                         .leave = leave_nobody};
    struct node *n = node_of(loop);

    n->peers = (struct peers){.ops = &ops};
    return &n->peers;
}

void peer_link_free(struct peers *p)
{
}

unsigned peer_link_up_count(const struct peers *p)
{
    return 0;
}

unsigned peer_link_plain_count(const struct peers *p)
{
    return 0;
}
