#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/queue/tests/waiters_fixture.h"

struct fixture f;
struct consumer a, b;

int set_up(void **state)
{
    a = b = (struct consumer){0};
    fixture_start(&f, 4);
    fixture_turn(&f); /* the store says that it is up */
    return 0;
}

int tear_down(void **state)
{
    fixture_end(&f);
    return 0;
}

void assert_got(const struct consumer *who, const char *id)
{
    assert_int_equal(who->done, 1);
    assert_int_equal(who->status, STATUS_OK);
    assert_string_equal(who->ids[0], id);
}
