#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/crc16.h"
#include "node/queue/tests/reconciler_fixture.h"

struct fixture f;
struct memory_store *its_store;
static struct queue_options options;
struct core core;
struct reconciler r;

static void nothing_of_op(struct core *c, const struct op *op)
{
}

static void nothing(struct core *c)
{
}

int set_up(void **state)
{
    fixture_start(&f, BUCKETS);
    its_store = memory_store_join(f.ms, &f.timers);
    options = (struct queue_options){.audit_rate = 1000};
    core_init(&core, &options, memory_store_port(its_store), &f.timers);
    core.before = core.after = nothing_of_op;
    core.on_end = nothing;
    reconciler_init(&r, &core);
    reconciler_set_store(&r, true);
    reconciler_set_active(&r, true);
    return 0;
}

int tear_down(void **state)
{
    reconciler_close(&r);
    fixture_turn(&f);
    reconciler_fini(&r);
    core_fini(&core);
    memory_store_free(its_store);
    fixture_end(&f);
    return 0;
}

void push_one(const char *topic, const char *id)
{
    assert_int_equal(push(&f, topic, id, 3600000, 60000), STATUS_OK);
}

void lose(const char *topic, const char *id)
{
    struct bytes name = bytes_of_text(topic);

    push_one(topic, id);
    memory_store_lose(f.ms, crc16(name) % BUCKETS, name, bytes_of_text(id));
}

unsigned long count(enum op_verb verb)
{
    return memory_store_count(its_store, verb);
}

uint64_t repaired(void)
{
    return core.stats.repaired[DAMAGE_NO_JOB];
}

void wait_until_it_is(enum reconciler_state state)
{
    for (unsigned i = 0; r.state != state; i++) {
        assert_true(i < 1000);
        memory_store_unhold(its_store);
        fixture_turn(&f);
        memory_store_hold(its_store);
        fixture_advance(&f, 100);
    }
}
