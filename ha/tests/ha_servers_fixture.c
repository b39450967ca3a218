/* ZooKeeper in the hands of a test: its znodes, its quorum, and calls that are made to fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ha/tests/ha_fixture.h"

/* ---- znodes ---- */

static void write_by_hand(enum coord_change_kind kind, const char *path, const char *text)
{
    const struct coord_change change = {
        .kind = kind, .path = path, .data = bytes_of_text(text), .version = -1};
    unsigned failed;

    assert_int_equal(fake_tree_write(&ensemble.tree, &change, 1, 0, &failed), COORD_OK);
}

bool znode_exists(const char *path)
{
    return fake_tree_find(&ensemble.tree, path);
}

void znode_put(const char *path, const char *text)
{
    write_by_hand(znode_exists(path) ? COORD_SET : COORD_CREATE, path, text);
}

void znode_delete(const char *path)
{
    write_by_hand(COORD_DELETE, path, "");
}

/* ---- the ensemble ---- */

void lose_the_quorum(void)
{
    fake_ensemble_set_quorum(&ensemble, false);
    for (unsigned i = 0; i < NODES; i++) {
        if (nodes[i].is_alive)
            fake_coordinator_cut(&nodes[i].zk, false);
    }
}

void find_the_quorum(void)
{
    fake_ensemble_set_quorum(&ensemble, true);
}

void expire_all(void)
{
    struct list *first;

    while ((first = list_first(&ensemble.sessions)))
        fake_ensemble_expire(&ensemble,
                             CONTAINER_OF(first, struct fake_session, link)->who.session);
}

/* ---- calls ---- */

static struct {
    const char *part;
    bool is_of_reads;  /* only */
    bool is_of_writes; /* only, and nothing is written */
    unsigned count;
    enum coord_status status;
    const struct coordinator_ops *real;
    void (*on_done)(struct coord_call *call);
} failing;

static void on_done_failing(struct coord_call *call)
{
    call->status = failing.status;
    failing.on_done(call);
}

static void spoil(struct coord_call *call, const char *path)
{
    if (!failing.part || !strstr(path, failing.part))
        return;
    failing.count++;
    failing.on_done = call->on_done; /* the same for all requests */
    call->on_done = on_done_failing;
}

static void read_failing(struct coordinator *c, struct coord_call *call)
{
    if (!failing.is_of_writes)
        spoil(call, call->path);
    failing.real->read(c, call);
}

static void list_failing(struct coordinator *c, struct coord_call *call)
{
    if (!failing.is_of_writes)
        spoil(call, call->path);
    failing.real->list(c, call);
}

static void write_failing(struct coordinator *c, struct coord_call *call)
{
    if (!failing.is_of_reads)
        spoil(call, call->changes[0].path);
    if (failing.is_of_writes && call->on_done == on_done_failing) {
        call->path = "/"; /* an answer, but no write */
        failing.real->read(c, call);
    } else {
        failing.real->write(c, call);
    }
}

void calls_fail(unsigned i, const char *part, enum coord_status status)
{
    static struct coordinator_ops ops;

    if (nodes[i].zk.base.ops != &ops) {
        failing.real = nodes[i].zk.base.ops;
        ops = *failing.real;
        ops.read = read_failing;
        ops.list = list_failing;
        ops.write = write_failing;
        nodes[i].zk.base.ops = &ops;
    }
    failing.part = part;
    failing.is_of_reads = failing.is_of_writes = false;
    failing.count = 0;
    failing.status = status;
}

void reads_fail(unsigned i, const char *part, enum coord_status status)
{
    calls_fail(i, part, status);
    failing.is_of_reads = true;
}

void writes_fail(unsigned i, const char *part, enum coord_status status)
{
    calls_fail(i, part, status);
    failing.is_of_writes = true;
}

unsigned calls_failed(void)
{
    return failing.count;
}

void calls_succeed(void)
{
    failing.part = NULL;
}
