#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/api/tests/api_fixture.h"

#define ACKS "/v1/topics/t/ack"

/* Pops a job and copies its lease. */
static void pop_into(struct fixture *f, char lease[32])
{
    snprintf(lease, 32, "%s", pop_lease(f, "t"));
}

static void acknowledges_several_each_by_itself(void **state)
{
    struct fixture *f = *state;
    char one[32], two[32], text[512];
    const char *reply;

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\"}");
    push(f, "t", "{\"id\":\"2\",\"body\":\"b\"}");
    push(f, "t", "{\"id\":\"3\",\"body\":\"b\"}");
    pop_into(f, one);
    pop_into(f, two);
    snprintf(text, sizeof(text),
             "{\"leases\":[{\"id\":\"1\",\"lease\":\"%s\"},{\"id\":\"3\",\"lease\":\"9\"},"
             "{\"id\":\"nobody\",\"lease\":\"9\"},{\"id\":\"2\"},7,"
             "{\"id\":\"2\",\"lease\":\"%s\"},{\"id\":\"2\",\"lease\":\"%s\"}]}",
             one, two, two);
    reply = call(f, "POST", ACKS, text);
    assert_reply(
        reply, 200,
        "{\"results\":[{\"id\":\"1\"},"
        "{\"error\":{\"code\":\"not_reserved\",\"message\":\"the lease is over: its time to "
        "run (TTR) "
        "has run out, or the job was given back or moved; nobody holds it now\"}},"
        "{\"error\":{\"code\":\"not_found\",\"message\":\"no such job\"}},"
        "{\"error\":{\"code\":\"bad_request\",\"message\":\"lease: missing (pop gives it "
        "with each job)\"}},"
        "{\"error\":{\"code\":\"bad_request\",\"message\":\"not an object\"}},"
        "{\"id\":\"2\"},"
        "{\"error\":{\"code\":\"not_found\",\"message\":\"no such job\"}}]}");
    assert_string_equal(state_of(f, "t", "3"), "ready");
}

static void refuses_what_is_no_list_of_leases_as_a_whole(void **state)
{
    struct fixture *f = *state;

    assert_error(call(f, "POST", ACKS, NULL), 400, "bad_request");
    assert_error(call(f, "POST", ACKS, "[]"), 400, "bad_request");
    assert_error(call(f, "POST", ACKS, "{\"leases\":[]}"), 400, "out_of_range");
}

static void survives_a_client_that_leaves_in_the_midst_of_several(void **state)
{
    struct fixture *f = *state;
    char lease[32], text[128];

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\"}");
    pop_into(f, lease);
    AWAIT(f, memory_store_in_flight(f->ms) == 0);
    snprintf(text, sizeof(text), "{\"leases\":[{\"id\":\"1\",\"lease\":\"%s\"}]}", lease);
    call_and_break_off(f, "POST", ACKS, text, OP_ACK);
    assert_string_equal(state_of(f, "t", "1"), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(acknowledges_several_each_by_itself),
        TEST(refuses_what_is_no_list_of_leases_as_a_whole),
        TEST(survives_a_client_that_leaves_in_the_midst_of_several),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
