/* json_check and json_walk against jansson: they take the same texts for JSON, and see the
 * same values in them.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "protocol/json/read.h"

#define FLAGS (JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void compare(struct bytes value, const json_t *expected);

static void compare_text(struct bytes text, const json_t *expected)
{
    assert(json_is_string(expected));
    assert(
        bytes_equal(text, bytes_of(json_string_value(expected), json_string_length(expected))));
}

static void compare_list(struct bytes value, const json_t *expected)
{
    struct json_walk walk = json_walk_into(value);
    struct bytes item;
    size_t count = 0;

    while (json_walk_element(&walk, &item))
        compare(item, json_array_get(expected, count++));
    assert(json_is_array(expected) && count == json_array_size(expected));
}

/* Of two equal members jansson has kept the last, and has the place of the first. */
static void compare_object(struct bytes value, json_t *expected)
{
    struct json_walk walk = json_walk_into(value), again = walk;
    struct bytes name, item;
    size_t count = 0;

    assert(json_is_object(expected));
    while (json_walk_member(&walk, &name, &item))
        count++;
    assert(count >= json_object_size(expected));
    while (json_walk_member(&again, &name, &item)) {
        struct bytes text = json_unescape(name);
        const json_t *member = json_object_getn(expected, text.at, text.len);

        assert(member);
        if (count == json_object_size(expected))
            compare(item, member);
    }
}

static void compare(struct bytes value, const json_t *expected)
{
    switch (json_kind_of(value)) {
    case JSON_KIND_NULL:
        assert(json_is_null(expected));
        break;
    case JSON_KIND_BOOL:
        assert(json_is_boolean(expected));
        break;
    case JSON_KIND_NUMBER:
        assert(json_is_number(expected));
        break;
    case JSON_KIND_STRING:
        compare_text(json_unescape(value), expected);
        break;
    case JSON_KIND_LIST:
        compare_list(value, expected);
        break;
    case JSON_KIND_OBJECT:
        compare_object(value, (json_t *)expected);
        break;
    default:
        assert(!"a value of no kind");
    }
}

static struct bytes trim(struct bytes text)
{
    while (text.len && strchr(" \n\r\t", text.at[0]) && text.at[0])
        text = bytes_of(text.at + 1, text.len - 1);
    while (text.len && strchr(" \n\r\t", text.at[text.len - 1]) && text.at[text.len - 1])
        text.len--;
    return text;
}

/* What jansson cannot hold: numbers beyond a double, names with a zero byte. */
static bool is_beyond_jansson(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);

    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *copy;
    struct bytes text;
    json_error_t error;
    json_t *tree;
    enum json_fault fault;

    if (memchr(data, 0, size))
        return 0; /* jansson takes it for the end of the text */
    copy = malloc(size + 1);
    assert(copy);
    memcpy(copy, data, size);
    text = bytes_of(copy, size);
    tree = json_loadb(copy, size, FLAGS, &error);
    fault = json_check(text);
    if (tree)
        assert(fault == JSON_FAULT_NONE || fault == JSON_FAULT_DEPTH);
    else
        assert(fault != JSON_FAULT_NONE || is_beyond_jansson(&error));
    if (tree && fault == JSON_FAULT_NONE)
        compare(trim(text), tree);
    json_decref(tree);
    free(copy);
    return 0;
}
