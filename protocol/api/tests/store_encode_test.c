#include "protocol/api/encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static struct store_numbers numbers(void)
{
    return (struct store_numbers){
        .is_up = 1,
        .address = "10.0.0.1:6379",
        .connects = 2,
        .held = 3,
        .repeated = 4,
        .rollbacks = 1,
        .lost_pushes = 9,
        .broken = 5,
        .breaker = "half_open",
        .breaker_trips = 6,
        .weak = {{"a", "a is wrong", "mend \"a\"", true},
                 {"b", "b is wrong", "mend b", false},
                 {"c", "c is wrong", "mend c", true}},
        .weak_count = 3,
    };
}

static void names_the_weaknesses_that_are_so(void **state)
{
    struct store_numbers n = numbers();
    struct buf out = BUF_INIT;

    store_add_weak(&out, &n);
    assert_string_equal(buf_text(&out), "[\"a\",\"c\"]");
    buf_clear(&out);
    n.weak_count = 0;
    store_add_weak(&out, &n);
    assert_string_equal(buf_text(&out), "[]");
    buf_fini(&out);
}

static void tells_all_of_it_with_advice_at_the_end(void **state)
{
    struct store_numbers n = numbers();
    struct buf out = BUF_INIT;

    store_add_status(&out, &n, 1000);
    assert_string_equal(
        buf_text(&out),
        "{\"up\":true,\"address\":\"10.0.0.1:6379\",\"weak\":[\"a\",\"c\"],"
        "\"breaker\":{\"state\":\"half_open\",\"since_ms\":1000,\"trips\":6,\"refused\":5},"
        "\"in_flight\":0,\"held\":3,\"held_bytes\":0,"
        "\"connects\":2,\"round_trips\":0,\"errors\":0,"
        "\"lost\":0,\"repeated\":4,\"expired\":0,\"dropped\":0,\"overflowed\":0,\"rollbacks\":"
        "1,"
        "\"lost_pushes\":9,\"redirects\":{\"moved\":0,\"ask\":0,\"try_again\":0,"
        "\"down\":0,\"maps_read\":0},\"masters\":[],\"unreached\":[],"
        "\"check\":[{\"why\":\"a\",\"message\":\"a is wrong\",\"advice\":\"mend \\\"a\\\"\"},"
        "{\"why\":\"c\",\"message\":\"c is wrong\",\"advice\":\"mend c\"}]}");
    buf_fini(&out);
}

/* ---- masters and buckets ---- */

static const struct store_master masters[] = {
    {"10.0.0.1:7001", "up", "", "closed", .is_up = 1, .buckets = 40, .in_flight = 3},
    {"", "connecting", "not \"named\" yet", NULL, .is_up = 0},
};

static const struct store_unreached unreached[] = {
    {1, "b", "refused"}, {2, "b", "refused"}, {3, "", "nobody has it"}, {4, "b", "refused"},
    {5, "b", "refused"}, {6, "b", "refused"}, {9, "b", "refused"},      {10, "c", "refused"},
};

#define UNREACHED (sizeof(unreached) / sizeof(*unreached))

static void tells_masters_and_puts_together_what_has_one_reason(void **state)
{
    struct store_numbers n = numbers();
    struct buf out = BUF_INIT;

    n.masters = masters;
    n.master_count = 2;
    n.unreached = unreached;
    n.unreached_count = UNREACHED;
    n.moved = 1;
    n.asked = 2;
    n.try_again = 3;
    n.down = 4;
    n.maps_read = 5;
    store_add_status(&out, &n, 1000);
    assert_non_null(strstr(
        buf_text(&out),
        ",\"redirects\":{\"moved\":1,\"ask\":2,\"try_again\":3,\"down\":4,\"maps_read\":5},"
        "\"masters\":[{\"state\":\"up\",\"address\":\"10.0.0.1:7001\",\"why\":null,"
        "\"buckets\":40,\"in_flight\":3,\"breaker\":\"closed\"},"
        "{\"state\":\"connecting\",\"address\":null,\"why\":\"not \\\"named\\\" yet\","
        "\"buckets\":0,\"in_flight\":0,\"breaker\":\"closed\"}],"
        "\"unreached\":[{\"buckets\":[1,2,4,5,6,9],\"master\":\"b\",\"why\":\"refused\","
        "\"message\":\"b: refused; the topics of buckets 1 to 2, 4 to 6, 9 stand still\","
        "\"advice\":\"look at that Redis, and at the way to it\"},"
        "{\"buckets\":[3],\"master\":null,\"why\":\"nobody has it\","
        "\"message\":\"nobody has it; the topics of bucket 3 stand still\","
        "\"advice\":\"'redis-cli --cluster check HOST:PORT' shows which slots nobody has\"},"
        "{\"buckets\":[10],\"master\":\"c\",\"why\":\"refused\","
        "\"message\":\"c: refused; the topics of bucket 10 stand still\","
        "\"advice\":\"look at that Redis, and at the way to it\"}],\"check\":"));
    buf_fini(&out);
}

static void names_buckets_in_runs(void **state)
{
    const struct store_numbers n = {.unreached = unreached, .unreached_count = UNREACHED};
    struct buf out = BUF_INIT;

    unreached_print(&out, &n, 0);
    assert_string_equal(buf_text(&out), "buckets 1 to 2, 4 to 6, 9");
    buf_clear(&out);
    unreached_print(&out, &n, 2);
    assert_string_equal(buf_text(&out), "bucket 3");
    buf_clear(&out);
    unreached_print(&out, &n, UNREACHED - 1);
    assert_string_equal(buf_text(&out), "bucket 10");
    buf_fini(&out);
}

static void finds_a_bucket_that_is_not_reached(void **state)
{
    const struct store_numbers n = {.unreached = unreached, .unreached_count = UNREACHED};

    assert_ptr_equal(unreached_find(&n, 9), &unreached[6]);
    assert_null(unreached_find(&n, 0));
    assert_null(unreached_find(&n, 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_weaknesses_that_are_so),
        cmocka_unit_test(tells_all_of_it_with_advice_at_the_end),
        cmocka_unit_test(tells_masters_and_puts_together_what_has_one_reason),
        cmocka_unit_test(names_buckets_in_runs),
        cmocka_unit_test(finds_a_bucket_that_is_not_reached),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
