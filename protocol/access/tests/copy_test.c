/* What the node knows of Redis's identities, joined with what Redis has now. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "protocol/access/copy.h"

#define ROW(n, v, l)                                                             \
    {                                                                            \
        .name = BYTES(n), .version = (v), .line = {.at = (l), .len = strlen(l) } \
    }

/* "a3=line! b4" : name, version, its line, and '!' where Redis lacks it. */
static void expect(const struct copy *c, const char *wanted)
{
    struct buf text = BUF_INIT;

    for (unsigned i = 0; i < c->count; i++) {
        const struct copy_row *row = &c->rows[i];

        buf_printf(&text, "%s%.*s%d", i ? " " : "", BYTES_ARG(row->name), (int)row->version);
        if (row->line.len)
            buf_printf(&text, "=%.*s", BYTES_ARG(row->line));
        buf_add_text(&text, row->is_ahead ? "!" : "");
    }
    assert_string_equal(text.len ? buf_text(&text) : "", wanted);
    buf_fini(&text);
}

static const struct identity_row first[] = {ROW("b", 2, "two"), ROW("a", 1, "one"),
                                            ROW("c", 3, "")};

static struct copy begin(void)
{
    struct copy c = {0};

    copy_join(&c, first, 3, 0);
    expect(&c, "a1=one b2=two c3");
    assert_null(copy_ahead(&c));
    return c;
}

static void takes_what_is_newer(void **state)
{
    static const struct identity_row later[] = {ROW("a", 4, ""), ROW("b", 2, "two"),
                                                ROW("c", 5, "new"), ROW("d", 6, "four")};
    struct copy c = begin();

    copy_join(&c, later, 4, 0);
    expect(&c, "a4 b2=two c5=new d6=four");
    assert_int_equal(copy_version(&c), 6);
    copy_fini(&c);
}

static void keeps_what_redis_has_lost(void **state)
{
    static const struct identity_row older[] = {ROW("a", 1, "one"), ROW("c", 2, "before")};
    struct copy c = begin();

    copy_join(&c, older, 2, 0);
    expect(&c, "a1=one b2=two! c3!");
    copy_put(&c, &(struct identity_row)ROW("b", 1, "older"));
    expect(&c, "a1=one b2=two! c3!");
    copy_put(&c, &(struct identity_row)ROW("b", 2, "two"));
    expect(&c, "a1=one b2=two c3!");
    assert_memory_equal(copy_ahead(&c)->name.at, "c", 1);
    copy_join(&c, NULL, 0, 0);
    expect(&c, "a1=one! b2=two! c3!");
    copy_fini(&c);
}

static void takes_a_change_that_was_made_here(void **state)
{
    struct copy c = begin();

    copy_put(&c, &(struct identity_row)ROW("aa", 4, "new"));
    copy_put(&c, &(struct identity_row)ROW("b", 5, ""));
    copy_put(&c, &(struct identity_row)ROW("c", 2, "older"));
    expect(&c, "a1=one aa4=new b5 c3");
    copy_fini(&c);
}

static void forgets_what_was_revoked_long_ago(void **state)
{
    struct copy c = begin();

    copy_join(&c, NULL, 0, 2);
    expect(&c, "c3!");
    copy_join(&c, NULL, 0, 3);
    expect(&c, "");
    assert_int_equal(copy_version(&c), 0);
    copy_fini(&c);
}

/* The horizon is of what Redis lacks alone. */
static void takes_what_is_there_whatever_the_horizon(void **state)
{
    struct copy c = begin();

    copy_join(&c, first, 3, 9);
    expect(&c, "a1=one b2=two c3");
    copy_fini(&c);
}

static void of_one_version_a_revocation_counts_and_else_what_redis_has(void **state)
{
    static const struct identity_row other[] = {ROW("a", 1, ""), ROW("b", 2, "other"),
                                                ROW("c", 3, "alive")};
    struct copy c = begin();

    copy_join(&c, other, 3, 0);
    expect(&c, "a1 b2=other c3!");
    copy_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_is_newer),
        cmocka_unit_test(keeps_what_redis_has_lost),
        cmocka_unit_test(takes_a_change_that_was_made_here),
        cmocka_unit_test(forgets_what_was_revoked_long_ago),
        cmocka_unit_test(takes_what_is_there_whatever_the_horizon),
        cmocka_unit_test(of_one_version_a_revocation_counts_and_else_what_redis_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
