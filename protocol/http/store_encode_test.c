#include "protocol/http/store_encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct http_store_numbers numbers(void)
{
    return (struct http_store_numbers){
        .is_up = 1,
        .address = "10.0.0.1:6379",
        .connects = 2,
        .held = 3,
        .repeated = 4,
        .older = 1,
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
    struct http_store_numbers n = numbers();
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
    struct http_store_numbers n = numbers();
    struct buf out = BUF_INIT;

    store_add_status(&out, &n, 1000);
    assert_string_equal(
        buf_text(&out),
        "{\"up\":true,\"address\":\"10.0.0.1:6379\",\"weak\":[\"a\",\"c\"],"
        "\"breaker\":{\"state\":\"half_open\",\"since_ms\":1000,\"trips\":6,\"refused\":5},"
        "\"in_flight\":0,\"held\":3,\"held_bytes\":0,"
        "\"connects\":2,\"round_trips\":0,\"errors\":0,"
        "\"lost\":0,\"repeated\":4,\"expired\":0,\"dropped\":0,\"overflowed\":0,\"older\":1,"
        "\"lost_pushes\":9,"
        "\"check\":[{\"why\":\"a\",\"message\":\"a is wrong\",\"advice\":\"mend \\\"a\\\"\"},"
        "{\"why\":\"c\",\"message\":\"c is wrong\",\"advice\":\"mend c\"}]}");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_weaknesses_that_are_so),
        cmocka_unit_test(tells_all_of_it_with_advice_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
