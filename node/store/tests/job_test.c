#include "base/tests/unit.h"
#include "node/store/job.h"

#include <string.h>

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
        .state = JOB_READY,
        .tries = JOB_TRIES_MAX,
        .ttr_ms = (INT64_C(1) << 32) - 1,
        .due_ms = (INT64_C(1) << 48) - 1,
        .stamp = JOB_KEY_MIDDLE + JOB_STAMP_MAX,
        .delay_ms = JOB_COUNTED - 1,
    };
    char packed[JOB_HEADER_BYTES + BODY_BYTES];
    struct job back = through_the_codec(&largest, packed);

    assert_int_equal(back.state, JOB_READY);
    assert_int_equal(back.tries, JOB_TRIES_MAX);
    assert_int_equal(back.ttr_ms, largest.ttr_ms);
    assert_int_equal(back.due_ms, largest.due_ms);
    assert_int_equal(back.stamp, largest.stamp);
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

/* ---- what only some jobs have ---- */

#define RULES                                                          \
    "\x01\x02\x03\x04\x05\x06\x02\x0a\x00\x00\x07\xd0\x00\x01\x00\x00" \
    "\x01\x02\x03\x04\x05\x06"
#define HOLDER \
    "\x05"     \
    "alice"

/* The header of `job` with `flags`, then what is behind it. */
static struct bytes value_of(const struct job *job, int flags, struct bytes behind)
{
    static char value[JOB_HEADER_BYTES + 300];

    job_pack_header(job, value);
    value[0] = (char)(value[0] | flags);
    memcpy(value + JOB_HEADER_BYTES, behind.at, behind.len);
    return bytes_of(value, JOB_HEADER_BYTES + behind.len);
}

static struct job unpacked(struct bytes value)
{
    struct job job = {0};

    assert_int_equal(job_unpack(value, &job), STATUS_OK);
    return job;
}

static void assert_refused(struct bytes value)
{
    struct job job = {.tries = 77};

    assert_int_equal(job_unpack(value, &job), STATUS_STORE_ERROR);
    assert_int_equal(job.tries, 77);
}

static void a_job_without_flags_goes_by_the_default_rules(void **state)
{
    struct job job = unpacked(value_of(&example, 0, BYTES(RULES HOLDER)));

    assert_true(rules_are_default(&job.rules));
    assert_int_equal(job.rules.priority, RULES_PRIORITY_DEFAULT);
    assert_int_equal(job.holder.len, 0);
    assert_int_equal(job.death, DEATH_NONE);
    assert_true(bytes_equal(job.body, BYTES(RULES HOLDER)));
}

static void rules_stand_between_header_and_body(void **state)
{
    struct job job = unpacked(value_of(&example, JOB_FLAG_RULES, BYTES(RULES "body")));

    assert_int_equal(job.rules.priority, 0x01020304);
    assert_int_equal(job.rules.max_tries, 0x0506);
    assert_int_equal(job.rules.backoff.kind, BACKOFF_EXPONENTIAL);
    assert_int_equal(job.rules.backoff.jitter_percent, 10);
    assert_int_equal(job.rules.backoff.base_ms, 2000);
    assert_int_equal(job.rules.backoff.cap_ms, 65536);
    assert_int_equal(job.rules.expires_ms, 0x010203040506);
    assert_true(bytes_equal(job.body, BYTES("body")));
}

static void the_holder_stands_before_the_body(void **state)
{
    struct job job = unpacked(value_of(&example, JOB_FLAG_HOLDER, BYTES(HOLDER "body")));

    assert_true(bytes_equal(job.holder, BYTES("alice")));
    assert_true(bytes_equal(job.body, BYTES("body")));
    assert_true(rules_are_default(&job.rules));
}

static void the_holder_stands_behind_the_rules(void **state)
{
    int flags = JOB_FLAG_RULES | JOB_FLAG_HOLDER | JOB_FLAG_CONFIRMED | JOB_FLAG_INDEXED;
    struct job job = unpacked(value_of(&example, flags, BYTES(RULES HOLDER "body")));

    assert_int_equal(job.rules.max_tries, 0x0506);
    assert_true(bytes_equal(job.holder, BYTES("alice")));
    assert_true(bytes_equal(job.body, BYTES("body")));
}

static void refuses_a_value_that_ends_within_rules_or_holder(void **state)
{
    int flags = JOB_FLAG_RULES | JOB_FLAG_HOLDER;
    struct bytes behind = BYTES(RULES HOLDER);

    for (size_t len = 0; len < behind.len; len++)
        assert_refused(value_of(&example, flags, bytes_of(behind.at, len)));
    assert_int_equal(unpacked(value_of(&example, flags, behind)).body.len, 0);
}

static void refuses_rules_that_cannot_be(void **state)
{
    char rules[] = RULES;

    rules[6] = 3; /* a kind of backoff */
    assert_refused(value_of(&example, JOB_FLAG_RULES, bytes_of(rules, RULES_BYTES)));
}

static void refuses_a_holder_that_is_too_long(void **state)
{
    char behind[1 + JOB_HOLDER_MAX + 1] = {JOB_HOLDER_MAX};

    assert_int_equal(
        unpacked(value_of(&example, JOB_FLAG_HOLDER, bytes_of(behind, sizeof(behind))))
            .holder.len,
        JOB_HOLDER_MAX);
    behind[0]++;
    assert_refused(value_of(&example, JOB_FLAG_HOLDER, bytes_of(behind, sizeof(behind))));
}

/* ---- what some jobs have beside their rules ---- */

static const struct job_extra full = {
    .is_there = true,
    .by_id = true,
    .created_ms = 0x010203040506,
    .reserves = 0x0102,
    .timeouts = 0x0304,
    .releases = 0x0506,
    .buries = 0x0708,
    .kicks = EXTRA_COUNT_MAX,
    .attributes = {"\1a\0\1b", 5},
};

/* A job's value with default rules, the block, a holder and a body; cut off after `bytes`. */
static struct bytes with_block(const char *block, size_t block_len, size_t bytes)
{
    static char behind[RULES_BYTES + EXTRA_BYTES_MAX + 64];
    static const struct bytes rest = BYTES(HOLDER "body");
    size_t len = RULES_BYTES + block_len + rest.len;

    rules_pack(&rules_default, behind);
    behind[6] = (char)RULES_EXTRA;
    memcpy(behind + RULES_BYTES, block, block_len);
    memcpy(behind + RULES_BYTES + block_len, rest.at, rest.len);
    return value_of(&example, JOB_FLAG_RULES | JOB_FLAG_HOLDER,
                    bytes_of(behind, bytes < len ? bytes : len));
}

static void the_extra_block_stands_between_rules_and_holder(void **state)
{
    char block[EXTRA_BYTES_MAX];
    size_t len = extra_pack(&full, block);
    struct job job = unpacked(with_block(block, len, SIZE_MAX));

    assert_int_equal(len, EXTRA_BYTES + 5);
    assert_true(rules_are_default(&job.rules));
    assert_true(job.extra.is_there && job.extra.by_id);
    assert_int_equal(job.extra.created_ms, full.created_ms);
    assert_int_equal(job.extra.reserves, full.reserves);
    assert_int_equal(job.extra.timeouts, full.timeouts);
    assert_int_equal(job.extra.releases, full.releases);
    assert_int_equal(job.extra.buries, full.buries);
    assert_int_equal(job.extra.kicks, full.kicks);
    assert_true(bytes_equal(job.extra.attributes, full.attributes));
    assert_true(bytes_equal(job.holder, BYTES("alice")));
    assert_true(bytes_equal(job.body, BYTES("body")));
}

static void a_job_without_the_block_has_nothing_extra(void **state)
{
    struct job job = {.extra = full};

    assert_int_equal(job_unpack(value_of(&example, 0, BYTES("body")), &job), STATUS_OK);
    assert_false(job.extra.is_there || job.extra.by_id);
    assert_int_equal(job.extra.kicks, 0);
    assert_int_equal(job.extra.attributes.len, 0);
}

static void refuses_a_value_that_ends_within_the_extra_block(void **state)
{
    char block[EXTRA_BYTES_MAX];
    size_t len = extra_pack(&full, block);

    for (size_t bytes = RULES_BYTES; bytes < RULES_BYTES + len; bytes++)
        assert_refused(with_block(block, len, bytes));
}

static void refuses_an_extra_block_of_another_length(void **state)
{
    static char block[2 * EXTRA_BYTES_MAX];
    static char value[JOB_HEADER_BYTES + RULES_BYTES + 2 * EXTRA_BYTES_MAX];
    static const unsigned wrong[] = {0, 1, 2, EXTRA_BYTES - 1, EXTRA_BYTES_MAX + 1, 65535};
    struct job back = {.tries = 77};

    job_pack_header(&example, value);
    value[0] = (char)(value[0] | JOB_FLAG_RULES);
    rules_pack(&rules_default, value + JOB_HEADER_BYTES);
    value[JOB_HEADER_BYTES + 6] = (char)RULES_EXTRA;
    extra_pack(&(struct job_extra){.is_there = true}, block);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        block[0] = (char)(wrong[i] >> 8);
        block[1] = (char)wrong[i];
        memcpy(value + JOB_HEADER_BYTES + RULES_BYTES, block, sizeof(block));
        assert_int_equal(job_unpack(bytes_of(value, sizeof(value)), &back), STATUS_STORE_ERROR);
    }
    assert_int_equal(back.tries, 77);
}

static void the_dead_have_a_reason_instead_of_a_stamp(void **state)
{
    static const char stamp[] = {0, 0, 0, 0, 0, DEATH_BURIED};
    struct job dead = {.state = JOB_DEAD, .stamp = 77, .death = DEATH_BURIED}, back;
    struct bytes value = value_of(&dead, 0, BYTES(""));

    assert_memory_equal(value.at + 13, stamp, sizeof(stamp));
    back = unpacked(value);
    assert_int_equal(back.death, DEATH_BURIED);
    assert_int_equal(back.stamp, 0);
}

static void refuses_the_dead_without_a_reason_it_knows(void **state)
{
    struct job dead = {.state = JOB_DEAD, .death = DEATH_NONE};

    assert_refused(value_of(&dead, 0, BYTES("")));
    dead.death = DEATH_COUNT;
    assert_refused(value_of(&dead, 0, BYTES("")));
    dead.death = DEATH_COUNT - 1;
    assert_int_equal(unpacked(value_of(&dead, 0, BYTES(""))).death, DEATH_COUNT - 1);
}

static void deaths_have_words(void **state)
{
    assert_string_equal(death_word(DEATH_NONE), "");
    assert_string_equal(death_word(DEATH_TRIES), "tries");
    assert_string_equal(death_word(DEATH_EXPIRED), "expired");
    assert_string_equal(death_word(DEATH_BURIED), "buried");
    assert_string_equal(death_word(DEATH_DAMAGED), "damaged");
    assert_string_equal(death_word(DEATH_COUNT), "");
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
        cmocka_unit_test(a_job_without_flags_goes_by_the_default_rules),
        cmocka_unit_test(rules_stand_between_header_and_body),
        cmocka_unit_test(the_holder_stands_before_the_body),
        cmocka_unit_test(the_holder_stands_behind_the_rules),
        cmocka_unit_test(refuses_a_value_that_ends_within_rules_or_holder),
        cmocka_unit_test(refuses_rules_that_cannot_be),
        cmocka_unit_test(refuses_a_holder_that_is_too_long),
        cmocka_unit_test(the_extra_block_stands_between_rules_and_holder),
        cmocka_unit_test(a_job_without_the_block_has_nothing_extra),
        cmocka_unit_test(refuses_a_value_that_ends_within_the_extra_block),
        cmocka_unit_test(refuses_an_extra_block_of_another_length),
        cmocka_unit_test(the_dead_have_a_reason_instead_of_a_stamp),
        cmocka_unit_test(refuses_the_dead_without_a_reason_it_knows),
        cmocka_unit_test(deaths_have_words),
        cmocka_unit_test(refuses_a_value_shorter_than_a_header),
        cmocka_unit_test(refuses_a_state_it_does_not_know),
        cmocka_unit_test(states_have_words),
    };

    return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
