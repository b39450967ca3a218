/* A change of an identity: its new line, and what it does when it is made again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/encoding.h"
#include "node/ctl/token_edit.h"

#define A "aa112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define B "bb112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define C "cc112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

#define NEW(...)                                       \
    {                                                  \
        .kind = TOKEN_NEW, .name = "shop", __VA_ARGS__ \
    }
#define REVOKE_OLD                               \
    {                                            \
        .kind = TOKEN_REVOKE_OLD, .name = "shop" \
    }
#define REVOKE                               \
    {                                        \
        .kind = TOKEN_REVOKE, .name = "shop" \
    }
#define TOKENS(...) "shop produce token=" __VA_ARGS__
#define IN_ALL      "shop produce topics=a,b* until=2027-01-31T00:00:00Z token=" A

static unsigned char hash_c[TOKEN_HASH_BYTES];
static const int64_t year_2030_ms = INT64_C(1893456000000);

static struct identity *parse(const char *line)
{
    const char *why;

    return line ? must(identity_parse(bytes_of_text(line), &why)) : NULL;
}

static enum ctl_exit apply(struct token_edit *edit, const char *before, struct buf *line,
                           struct buf *why)
{
    struct identity *old = parse(before);
    enum ctl_exit end = token_edit_apply(
        edit, (struct token_before){.is_there = old, .identity = old}, line, why);

    identity_drop(old);
    return end;
}

static bool holds(struct token_edit *edit, const char *now)
{
    struct identity *identity = parse(now);
    bool does = token_edit_holds(
        edit, (struct token_before){.is_there = identity, .identity = identity});

    identity_drop(identity);
    return does;
}

/* What is given changes, all else stays; and the line of after holds, that of before does not.
 */
static void makes_the_line_of_after(void **state)
{
    static const struct {
        struct token_edit edit;
        const char *before, *after; /* "": gone */
    } rows[] = {
        {NEW(.roles = "produce", .hash = hash_c), NULL, TOKENS(C)},
        {NEW(.hash = hash_c), TOKENS(A), TOKENS(A "," C)},
        {NEW(.hash = hash_c), TOKENS(A "," B), TOKENS(B "," C)},
        {NEW(.san = "DNS:a"), TOKENS(A "," B), TOKENS(A "," B " cert=DNS:a")},
        {NEW(.hash = hash_c), IN_ALL " cert=DNS:a rate=1 connections=2 bytes=3",
         IN_ALL "," C " cert=DNS:a rate=1 connections=2 bytes=3"},
        {NEW(.topics = "c", .rate = "0", .connections = "7", .bytes = "1KiB",
             .until_ms = &year_2030_ms),
         IN_ALL " rate=1 connections=2 bytes=3",
         "shop produce topics=c until=2030-01-01T00:00:00Z token=" A
         " connections=7 bytes=1KiB"},
        {REVOKE_OLD, TOKENS(A "," B " rate=1"), TOKENS(B " rate=1")},
        {REVOKE, TOKENS(A), ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct token_edit edit = rows[i].edit;
        struct buf line = BUF_INIT, why = BUF_INIT;

        assert_int_equal(apply(&edit, rows[i].before, &line, &why), CTL_DONE);
        assert_string_equal(buf_text(&line), rows[i].after);
        assert_false(holds(&edit, rows[i].before));
        assert_true(holds(&edit, *rows[i].after ? rows[i].after : NULL));
        buf_fini(&line);
        buf_fini(&why);
    }
}

static void refuses_what_cannot_be_done(void **state)
{
    static const struct {
        struct token_edit edit;
        const char *before;
        enum ctl_exit end;
        const char *why;
    } rows[] = {
        {NEW(.hash = hash_c), NULL, CTL_USAGE, "--roles is missing: shop is new"},
        {NEW(.rate = "many"), TOKENS(A), CTL_USAGE, "rate: requests a second"},
        {REVOKE, NULL, CTL_NOTHING, "has no identity shop"},
        {REVOKE_OLD, NULL, CTL_NOTHING, "has no identity shop"},
        {REVOKE_OLD, TOKENS(A), CTL_NOTHING, "has no second token of shop"},
        {{.kind = TOKEN_NEW, .name = "a b", .roles = "all"}, NULL, CTL_USAGE, "roles are"},
        {{.kind = TOKEN_NEW, .name = "a all", .roles = "rate=1"}, NULL, CTL_USAGE, "a name is"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct token_edit edit = rows[i].edit;
        struct buf line = BUF_INIT, why = BUF_INIT;

        assert_int_equal(apply(&edit, rows[i].before, &line, &why), rows[i].end);
        assert_non_null(strstr(buf_text(&why), rows[i].why));
        assert_int_equal(line.len, 0);
        buf_fini(&line);
        buf_fini(&why);
    }
}

static void a_line_that_cannot_be_read_can_only_go(void **state)
{
    struct token_edit add = NEW(.roles = "all"), revoke = REVOKE, old = REVOKE_OLD;
    struct token_before before = {.is_there = true};
    struct buf line = BUF_INIT, why = BUF_INIT;

    (void)state;
    assert_int_equal(token_edit_apply(&add, before, &line, &why), CTL_REFUSED);
    assert_int_equal(token_edit_apply(&old, before, &line, &why), CTL_REFUSED);
    assert_int_equal(token_edit_apply(&revoke, before, &line, &why), CTL_DONE);
    assert_false(token_edit_holds(&revoke, before));
    buf_fini(&line);
    buf_fini(&why);
}

/* Between both tries somebody else has revoked A and added C: B is what clients use. */
static void revokes_no_other_token_when_it_is_made_again(void **state)
{
    struct token_edit edit = REVOKE_OLD;
    struct buf line = BUF_INIT, why = BUF_INIT;

    (void)state;
    assert_int_equal(apply(&edit, TOKENS(A "," B), &line, &why), CTL_DONE);
    assert_true(holds(&edit, TOKENS(B "," C)));
    assert_int_equal(apply(&edit, TOKENS(B "," C), &line, &why), CTL_NOTHING);
    assert_int_equal(apply(&edit, TOKENS(A "," C), &line, &why), CTL_DONE);
    buf_fini(&line);
    buf_fini(&why);
}

static void replaces_another_line_only_by_force(void **state)
{
    struct identity *wanted = parse(TOKENS(A));
    struct token_edit edit = {.kind = TOKEN_IMPORT, .name = "shop", .wanted = wanted};
    struct buf line = BUF_INIT, why = BUF_INIT;

    (void)state;
    assert_true(holds(&edit, TOKENS(A)));
    assert_false(holds(&edit, TOKENS(B)));
    assert_int_equal(apply(&edit, TOKENS(B), &line, &why), CTL_REFUSED);
    edit.is_forced = true;
    assert_false(holds(&edit, TOKENS(B)));
    assert_int_equal(apply(&edit, TOKENS(B), &line, &why), CTL_DONE);
    assert_string_equal(buf_text(&line), TOKENS(A));
    identity_drop(wanted);
    buf_fini(&line);
    buf_fini(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_the_line_of_after),
        cmocka_unit_test(refuses_what_cannot_be_done),
        cmocka_unit_test(a_line_that_cannot_be_read_can_only_go),
        cmocka_unit_test(revokes_no_other_token_when_it_is_made_again),
        cmocka_unit_test(replaces_another_line_only_by_force),
    };

    if (!hex_read(BYTES(C), hash_c, TOKEN_HASH_BYTES))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
