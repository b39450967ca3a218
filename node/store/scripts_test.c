#include "node/store/scripts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const struct script_keys keys = {"dq", 64};
static const char sha[] = "0123456789012345678901234567890123456789";

static struct script_call call;

static struct bytes arg(int i)
{
    assert_true(i < call.argc);
    return bytes_of(call.argv[i], call.lens[i]);
}

static void assert_arg(int i, const char *expected)
{
    if (!bytes_equal(arg(i), bytes_of_text(expected)))
        fail_msg("argument %d is '%.*s', not '%s'", i, BYTES_ARG(arg(i)), expected);
}

static void has_a_text_for_every_verb_but_the_plain_one(void **state)
{
    for (enum op_verb verb = 0; verb < OP_COUNT; verb++)
        assert_true((script_text(verb) == NULL) == (verb == OP_OWNER));
    assert_non_null(script_text_by_name("meta"));
    assert_null(script_text_by_name("common"));
}

/* "-- KEYS   j p d r t n" at its top; a topic's key has its name behind it. */
static void sends_the_keys_that_each_script_says_it_takes(void **state)
{
    for (enum op_verb verb = 0; verb < OP_COUNT; verb++) {
        const char *text = script_text(verb), *at;
        struct lease lease = {.id = BYTES("id"), .stamp = 5};
        struct op op = {.verb = verb, .bucket = 7, .topic = BYTES("t"), .id = BYTES("id")};
        int i = 3;

        if (!text)
            continue;
        if (verb == OP_POP)
            op.in.pop.count = 1;
        if (verb == OP_TOPICS)
            op.in.topics.limit = 1;
        if (op_is_of_leases(verb)) {
            op.in.leases.items = &lease;
            op.in.leases.count = 1;
        }
        script_encode(&call, &keys, &op, sha);
        at = strstr(text, "-- KEYS   ");
        assert_non_null(at);
        for (at += 10; at[0] != '\n' && at[0] != ','; at += at[1] == ' ' ? 2 : 1, i++) {
            char expected[32];

            snprintf(expected, sizeof(expected), "dq:{7}:%c%s", at[0],
                     strchr("tnoa", at[0]) ? "" : ":t");
            assert_arg(i, expected);
        }
        assert_int_equal(call.argv[2][0] - '0', i - 3);
    }
}

static void calls_a_script_by_its_sum_or_its_text(void **state)
{
    struct op op = {.verb = OP_STATS, .bucket = 3, .topic = BYTES("t")};

    script_encode(&call, &keys, &op, sha);
    assert_arg(0, "EVALSHA");
    assert_arg(1, sha);
    script_encode(&call, &keys, &op, NULL);
    assert_arg(0, "EVAL");
    assert_arg(1, script_text(OP_STATS));
    assert_int_equal(call.argc, 3 + 5);
}

static void packs_the_numbers_of_a_push(void **state)
{
    struct op op = {.verb = OP_PUSH, .bucket = 63, .topic = BYTES("t"), .id = BYTES("")};

    op.in.push.body = BYTES("a\0b");
    op.in.push.delay_ms = 0x0102030405;
    op.in.push.ttr_ms = 0x01020304;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 7 + 4);
    assert_true(bytes_equal(arg(12), BYTES("a\0b")));
    assert_true(bytes_equal(arg(13), BYTES("\1\2\3\4\5\0\0\0\0\0\0\1\2\3\4\x40\x3F")));
    op.in.push.at_ms = 1;
    script_encode(&call, &keys, &op, sha);
    assert_true(bytes_equal(arg(13), BYTES("\0\0\0\0\0\0\0\0\0\0\1\1\2\3\4\x40\x3F")));
}

/* Where none is overridden, the command is what it was without. */
static void puts_a_ttr_of_its_own_behind_the_stamp(void **state)
{
    struct lease leases[] = {{.id = BYTES("a"), .stamp = 5, .ttr_ms = 9},
                             {.id = BYTES("b"), .stamp = 6, .has_ttr = true, .ttr_ms = 258}};
    struct op op = {.verb = OP_DELIVERED, .topic = BYTES("t"), .in.leases = {leases, 2}};

    script_encode(&call, &keys, &op, sha);
    assert_true(bytes_equal(arg(10), BYTES("\0\0\0\0\0\5")));
    assert_true(bytes_equal(arg(12), BYTES("\0\0\0\0\0\6\0\0\1\2")));
    op.verb = OP_RETURN;
    script_encode(&call, &keys, &op, sha);
    assert_true(bytes_equal(arg(11), BYTES("\0\0\0\0\0\6")));
}

static void has_room_for_the_longest_names_and_the_most_leases(void **state)
{
    static char topic[SCRIPT_TOPIC_MAX], prefix[SCRIPT_PREFIX_MAX + 1];
    struct script_keys longest = {prefix, 128};
    struct lease leases[OP_ITEMS_MAX];

    memset(topic, 't', sizeof(topic));
    memset(prefix, 'p', SCRIPT_PREFIX_MAX);
    for (unsigned i = 0; i < OP_ITEMS_MAX; i++)
        leases[i] = (struct lease){.id = bytes_of(topic, sizeof(topic)),
                                   .stamp = JOB_STAMP_MAX,
                                   .has_ttr = true,
                                   .ttr_ms = UINT32_MAX};
    for (enum op_verb verb = 0; verb < OP_COUNT; verb++) {
        struct op op = {
            .verb = verb,
            .bucket = 127,
            .topic = bytes_of(topic, sizeof(topic)),
            .id = bytes_of(topic, sizeof(topic)),
        };

        if (verb == OP_POP)
            op.in.pop.count = OP_ITEMS_MAX;
        if (verb == OP_TOPICS)
            op.in.topics.limit = OP_TOPICS_MAX;
        if (op_is_of_leases(verb)) {
            op.in.leases.items = leases;
            op.in.leases.count = OP_ITEMS_MAX;
        }
        script_encode(&call, &longest, &op, sha);
        assert_true(call.argc <= SCRIPT_ARGS_MAX);
    }
}

static void asks_for_an_owner_without_a_script(void **state)
{
    struct op op = {.verb = OP_OWNER, .bucket = 5, .id = BYTES("id")};

    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3);
    assert_arg(0, "HGET");
    assert_arg(1, "dq:{5}:o");
    assert_arg(2, "id");
}

static void names_the_keys_of_the_handshake(void **state)
{
    script_encode_meta(&call, &keys);
    assert_arg(3, "dq:meta");
    assert_arg(5, "64");
    script_encode_raise(&call, &keys, 63, JOB_STAMP_MAX);
    assert_arg(3, "dq:{63}:n");
    assert_arg(4, "281474976710655");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_a_text_for_every_verb_but_the_plain_one),
        cmocka_unit_test(sends_the_keys_that_each_script_says_it_takes),
        cmocka_unit_test(calls_a_script_by_its_sum_or_its_text),
        cmocka_unit_test(packs_the_numbers_of_a_push),
        cmocka_unit_test(puts_a_ttr_of_its_own_behind_the_stamp),
        cmocka_unit_test(has_room_for_the_longest_names_and_the_most_leases),
        cmocka_unit_test(asks_for_an_owner_without_a_script),
        cmocka_unit_test(names_the_keys_of_the_handshake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
