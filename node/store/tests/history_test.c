#include "node/store/history.h"
#include "base/tests/unit.h"

#include <string.h>

static const struct history_item example = {
    .event = EVENT_DIED,
    .death = DEATH_BURIED,
    .time_ms = 0x010203040506,
    .at_ms = 0x0708090a0b0c,
    .tries = 0x0d0e,
    .topic = BYTES("t"),
    .id = BYTES("id"),
    .node = BYTES("one"),
    .client = BYTES(""),
};

static char packed[HISTORY_BYTES_MAX];

static struct bytes pack(const struct history_item *item)
{
    return bytes_of(packed, history_pack(item, packed));
}

static void every_field_has_its_place(void **state)
{
    static const char expected[] = "\x09\x03\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"
                                   "\x0d\x0e\x01t\x02id\x03one";

    /* The last byte, an empty client's length, is the literal's own end. */
    assert_true(bytes_equal(pack(&example), bytes_of(expected, sizeof(expected))));
}

static void what_was_packed_is_read_back(void **state)
{
    struct history_item back;

    assert_true(history_unpack(pack(&example), &back));
    assert_int_equal(back.event, example.event);
    assert_int_equal(back.death, example.death);
    assert_int_equal(back.time_ms, example.time_ms);
    assert_int_equal(back.at_ms, example.at_ms);
    assert_int_equal(back.tries, example.tries);
    assert_true(bytes_equal(back.topic, example.topic));
    assert_true(bytes_equal(back.id, example.id));
    assert_true(bytes_equal(back.node, example.node));
    assert_true(bytes_equal(back.client, example.client));
}

static void the_longest_texts_fit(void **state)
{
    static char text[HISTORY_NAME_MAX];
    struct history_item longest = {
        .event = EVENT_COUNT - 1,
        .tries = JOB_TRIES_MAX + 5,
        .topic = bytes_of(text, HISTORY_NAME_MAX),
        .id = bytes_of(text, HISTORY_NAME_MAX),
        .node = bytes_of(text, OP_NODE_MAX),
        .client = bytes_of(text, JOB_HOLDER_MAX),
    };
    struct history_item back;

    assert_int_equal(pack(&longest).len, HISTORY_BYTES_MAX);
    assert_true(history_unpack(bytes_of(packed, HISTORY_BYTES_MAX), &back));
    assert_int_equal(back.tries, JOB_TRIES_MAX);
    assert_int_equal(back.topic.len, HISTORY_NAME_MAX);
    assert_int_equal(back.client.len, JOB_HOLDER_MAX);
}

static void refuses_a_line_of_another_length(void **state)
{
    struct history_item back = {.tries = 77};
    struct bytes whole = pack(&example);

    for (size_t len = 0; len < whole.len; len++)
        assert_false(history_unpack(bytes_of(packed, len), &back));
    packed[whole.len] = 0;
    assert_false(history_unpack(bytes_of(packed, whole.len + 1), &back));
    assert_int_equal(back.tries, 77);
}

static void refuses_what_it_does_not_know(void **state)
{
    struct history_item back = {.tries = 77};
    struct bytes whole = pack(&example);

    packed[0] = EVENT_COUNT;
    assert_false(history_unpack(whole, &back));
    pack(&example);
    packed[1] = DEATH_COUNT;
    assert_false(history_unpack(whole, &back));
    pack(&example);
    assert_true(history_unpack(whole, &back));
}

static void refuses_texts_that_are_too_long(void **state)
{
    static char text[HISTORY_NAME_MAX];
    struct history_item longest = example, back;
    struct bytes whole;

    longest.node = bytes_of(text, OP_NODE_MAX);
    longest.client = bytes_of(text, 1);
    whole = pack(&longest);
    assert_true(history_unpack(whole, &back));
    packed[whole.len - 2 - OP_NODE_MAX - 1]++; /* the node takes the length of the client */
    packed[whole.len - 1] = 0;
    assert_false(history_unpack(whole, &back));
}

static void events_and_damages_have_words(void **state)
{
    assert_string_equal(event_word(EVENT_PUSHED), "pushed");
    assert_string_equal(event_word(EVENT_REPAIRED), "repaired");
    assert_string_equal(event_word(EVENT_COUNT), "");
    assert_string_equal(damage_word(DAMAGE_NONE), "none");
    assert_string_equal(damage_word(DAMAGE_NO_EVENT), "no_event");
    assert_string_equal(damage_word(DAMAGE_COUNT), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_has_its_place),
        cmocka_unit_test(what_was_packed_is_read_back),
        cmocka_unit_test(the_longest_texts_fit),
        cmocka_unit_test(refuses_a_line_of_another_length),
        cmocka_unit_test(refuses_what_it_does_not_know),
        cmocka_unit_test(refuses_texts_that_are_too_long),
        cmocka_unit_test(events_and_damages_have_words),
    };

    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
