#include "base/tests/unit.h"
#include "node/store/attributes.h"

static void what_was_added_comes_back_in_order(void **state)
{
    struct attributes list = {0};
    struct attribute one;
    struct bytes left;

    assert_int_equal(attributes_packed(&list).len, 0);
    assert_true(attributes_add(&list, BYTES("kind"), BYTES("mail")));
    assert_true(attributes_add(&list, BYTES("empty"), BYTES("")));
    assert_true(attributes_add(&list, BYTES("kind"), BYTES("second")));
    left = attributes_packed(&list);
    assert_true(attributes_are_valid(left));
    assert_true(attributes_next(&left, &one));
    assert_true(bytes_equal(one.name, BYTES("kind")) && bytes_equal(one.value, BYTES("mail")));
    assert_true(attributes_next(&left, &one));
    assert_true(bytes_equal(one.name, BYTES("empty")) && one.value.len == 0);
    assert_true(attributes_next(&left, &one));
    assert_true(bytes_equal(one.value, BYTES("second")));
    assert_false(attributes_next(&left, &one));
    assert_int_equal(left.len, 0);
}

static void the_first_of_a_name_is_found(void **state)
{
    struct attributes list = {0};
    struct bytes value = {NULL, 0};

    assert_false(attributes_find(attributes_packed(&list), BYTES("a"), &value));
    attributes_add(&list, BYTES("ab"), BYTES("1"));
    attributes_add(&list, BYTES("a"), BYTES("2"));
    attributes_add(&list, BYTES("a"), BYTES("3"));
    assert_true(attributes_find(attributes_packed(&list), BYTES("a"), &value));
    assert_true(bytes_equal(value, BYTES("2")));
    assert_false(attributes_find(attributes_packed(&list), BYTES("b"), &value));
    assert_true(bytes_equal(value, BYTES("2")));
}

static void names_and_room_are_limited(void **state)
{
    static char text[ATTRIBUTES_MAX_BYTES + 1];
    struct attributes list = {0};

    assert_false(attributes_add(&list, BYTES(""), BYTES("v")));
    assert_false(attributes_add(&list, bytes_of(text, ATTRIBUTE_NAME_MAX + 1), BYTES("v")));
    assert_false(attributes_add(&list, BYTES("n"), bytes_of(text, sizeof(text))));
    assert_false(attributes_add(&list, BYTES("n"), bytes_of(text, ATTRIBUTES_MAX_BYTES - 3)));
    assert_int_equal(list.bytes, 0);
    assert_true(attributes_add(&list, BYTES("n"), bytes_of(text, ATTRIBUTES_MAX_BYTES - 4)));
    assert_int_equal(list.bytes, ATTRIBUTES_MAX_BYTES);
    assert_true(attributes_are_valid(attributes_packed(&list)));
    assert_false(attributes_add(&list, BYTES("n"), BYTES("")));
}

static void so_is_their_number(void **state)
{
    struct attributes list = {0};

    for (unsigned i = 0; i < ATTRIBUTES_MAX; i++)
        assert_true(attributes_add(&list, BYTES("n"), BYTES("v")));
    assert_true(attributes_are_valid(attributes_packed(&list)));
    assert_false(attributes_add(&list, BYTES("n"), BYTES("v")));
}

static void other_bytes_are_not_valid(void **state)
{
    static const struct bytes wrong[] = {
        BYTES("\0"),        BYTES("\0\0\0"),       BYTES("\1"),           BYTES("\1a"),
        BYTES("\1a\0"),     BYTES("\1a\0\1"),      BYTES("\1a\1\0v"),     BYTES("\2a\0\0"),
        BYTES("\1a\0\0\1"), BYTES("\1a\0\1v\xff"), BYTES("\xff\xff\xff"),
    };
    static char many[4 * (ATTRIBUTES_MAX + 1)];
    struct bytes value;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_false(attributes_are_valid(wrong[i]));
        assert_false(attributes_find(wrong[i], BYTES("b"), &value));
    }
    for (size_t i = 0; i < sizeof(many); i += 4)
        memcpy(many + i, "\1a\0\0", 4);
    assert_true(attributes_are_valid(bytes_of(many, sizeof(many) - 4)));
    assert_false(attributes_are_valid(bytes_of(many, sizeof(many))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_comes_back_in_order),
        cmocka_unit_test(the_first_of_a_name_is_found),
        cmocka_unit_test(names_and_room_are_limited),
        cmocka_unit_test(so_is_their_number),
        cmocka_unit_test(other_bytes_are_not_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
