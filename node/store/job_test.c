#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "node/store/job.h"

#define BODY_BYTES 5

static const struct job example = {
    .state = JOB_RESERVED,
    .tries = 0x0102,
    .ttr_ms = 0x03040506,
    .due_ms = 0x0708090a0b0c,
    .stamp = 0x0d0e0f101112,
    .delay_ms = 0x1314151617,
};

/* Packs the header, puts a body behind it and reads both back. */
static struct job through_the_codec(const struct job *job, char packed[JOB_HEADER_BYTES + 5])
{
    struct job back = {.id = BYTES("untouched")};

    job_pack_header(job, packed);
    memcpy(packed + JOB_HEADER_BYTES, "\0body", BODY_BYTES);
    assert_int_equal(job_unpack(bytes_of(packed, JOB_HEADER_BYTES + BODY_BYTES), &back),
                     STATUS_OK);
    return back;
}

static void every_field_has_its_place_in_the_header(void **state)
{
    static const char expected[] = "\x03\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b"
                                   "\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17";
    char header[JOB_HEADER_BYTES];

    job_pack_header(&example, header);
    assert_memory_equal(header, expected, sizeof(header));
}

static void what_was_packed_is_read_back(void **state)
{
    char packed[JOB_HEADER_BYTES + BODY_BYTES];
    struct job back = through_the_codec(&example, packed);

    assert_int_equal(back.state, example.state);
    assert_int_equal(back.tries, example.tries);
    assert_int_equal(back.ttr_ms, example.ttr_ms);
    assert_int_equal(back.due_ms, example.due_ms);
    assert_int_equal(back.stamp, example.stamp);
    assert_int_equal(back.delay_ms, example.delay_ms);
}

static void the_body_is_borrowed_and_the_id_left_alone(void **state)
{
    char packed[JOB_HEADER_BYTES + BODY_BYTES];
    struct job back = through_the_codec(&example, packed);

    assert_ptr_equal(back.body.at, packed + JOB_HEADER_BYTES);
    assert_int_equal(back.body.len, BODY_BYTES);
    assert_true(bytes_equal(back.id, BYTES("untouched")));
}

static void the_smallest_values_survive(void **state)
{
    struct job smallest = {.state = JOB_DELAYED};
    char packed[JOB_HEADER_BYTES + BODY_BYTES];
    struct job back = through_the_codec(&smallest, packed);

    assert_int_equal(back.state, JOB_DELAYED);
    assert_int_equal(back.tries, 0);
    assert_int_equal(back.ttr_ms, 0);
    assert_int_equal(back.due_ms, 0);
    assert_int_equal(back.stamp, 0);
    assert_int_equal(back.delay_ms, 0);
}

static void the_largest_values_survive(void **state)
{
    struct job largest = {
        .state = JOB_DEAD,
        .tries = JOB_TRIES_MAX,
        .ttr_ms = (INT64_C(1) << 32) - 1,
        .due_ms = (INT64_C(1) << 48) - 1,
        .stamp = JOB_STAMP_MAX,
        .delay_ms = (INT64_C(1) << 40) - 1,
    };
    char packed[JOB_HEADER_BYTES + BODY_BYTES];
    struct job back = through_the_codec(&largest, packed);

    assert_int_equal(back.state, JOB_DEAD);
    assert_int_equal(back.tries, JOB_TRIES_MAX);
    assert_int_equal(back.ttr_ms, largest.ttr_ms);
    assert_int_equal(back.due_ms, largest.due_ms);
    assert_int_equal(back.stamp, JOB_STAMP_MAX);
    assert_int_equal(back.delay_ms, largest.delay_ms);
}

static void the_limits_of_the_queue_fit(void **state)
{
    struct job longest = {
        .state = JOB_DELAYED,
        .ttr_ms = INT64_C(7) * 86400000,
        .delay_ms = INT64_C(3650) * 86400000,
    };
    char packed[JOB_HEADER_BYTES + BODY_BYTES];
    struct job back = through_the_codec(&longest, packed);

    assert_int_equal(back.ttr_ms, longest.ttr_ms);
    assert_int_equal(back.delay_ms, longest.delay_ms);
}

static void tries_stop_at_their_largest_value(void **state)
{
    struct job tired = {.state = JOB_READY, .tries = JOB_TRIES_MAX + 1};
    char packed[JOB_HEADER_BYTES + BODY_BYTES];

    assert_int_equal(through_the_codec(&tired, packed).tries, JOB_TRIES_MAX);
}

static void a_job_without_a_body_is_a_header(void **state)
{
    char header[JOB_HEADER_BYTES];
    struct job back = {0};

    job_pack_header(&example, header);
    assert_int_equal(job_unpack(bytes_of(header, sizeof(header)), &back), STATUS_OK);
    assert_int_equal(back.body.len, 0);
}

static void flags_do_not_change_the_state(void **state)
{
    char header[JOB_HEADER_BYTES];
    struct job back = {0};

    job_pack_header(&example, header);
    header[0] |= JOB_FLAG_BIG;
    assert_int_equal(job_unpack(bytes_of(header, sizeof(header)), &back), STATUS_OK);
    assert_int_equal(back.state, JOB_RESERVED);
}

static void refuses_a_value_shorter_than_a_header(void **state)
{
    char header[JOB_HEADER_BYTES];
    struct job back = {.tries = 77};

    job_pack_header(&example, header);
    for (size_t len = 0; len < sizeof(header); len++)
        assert_int_equal(job_unpack(bytes_of(header, len), &back), STATUS_STORE_ERROR);
    assert_int_equal(job_unpack(bytes_of(NULL, 0), &back), STATUS_STORE_ERROR);
    assert_int_equal(back.tries, 77);
}

static void refuses_a_state_it_does_not_know(void **state)
{
    static const char unknown[] = {0, 5, 6, 7, JOB_FLAG_BIG, (char)0xf8, (char)0xff};
    char header[JOB_HEADER_BYTES];
    struct job back = {.tries = 77};

    job_pack_header(&example, header);
    for (size_t i = 0; i < sizeof(unknown); i++) {
        header[0] = unknown[i];
        assert_int_equal(job_unpack(bytes_of(header, sizeof(header)), &back),
                         STATUS_STORE_ERROR);
    }
    assert_int_equal(back.tries, 77);
}

static void states_have_words(void **state)
{
    assert_string_equal(job_state_word(JOB_DELAYED), "delayed");
    assert_string_equal(job_state_word(JOB_READY), "ready");
    assert_string_equal(job_state_word(JOB_RESERVED), "reserved");
    assert_string_equal(job_state_word(JOB_DEAD), "dead");
    assert_string_equal(job_state_word((enum job_state)0), "");
    assert_string_equal(job_state_word((enum job_state)5), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_has_its_place_in_the_header),
        cmocka_unit_test(what_was_packed_is_read_back),
        cmocka_unit_test(the_body_is_borrowed_and_the_id_left_alone),
        cmocka_unit_test(the_smallest_values_survive),
        cmocka_unit_test(the_largest_values_survive),
        cmocka_unit_test(the_limits_of_the_queue_fit),
        cmocka_unit_test(tries_stop_at_their_largest_value),
        cmocka_unit_test(a_job_without_a_body_is_a_header),
        cmocka_unit_test(flags_do_not_change_the_state),
        cmocka_unit_test(refuses_a_value_shorter_than_a_header),
        cmocka_unit_test(refuses_a_state_it_does_not_know),
        cmocka_unit_test(states_have_words),
    };

    return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
