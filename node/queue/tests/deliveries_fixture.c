#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/queue/tests/deliveries_fixture.h"

struct fixture f;
struct consumer a, b;

int set_up(void **state)
{
    a = b = (struct consumer){0};
    fixture_start_active(&f, 4);
    return 0;
}

int tear_down(void **state)
{
    fixture_end(&f);
    return 0;
}

enum status settle(enum op_verb verb, const struct consumer *c)
{
    struct call call = {0};

    submit(&f, &call, verb, "t", c->ids[0], c->stamps[0]);
    assert_true(call.is_done);
    return call.status;
}

unsigned long keeps(void)
{
    return memory_store_count(f.ms, OP_KEEP);
}

unsigned long confirmations(void)
{
    return memory_store_count(f.ms, OP_DELIVERED);
}
