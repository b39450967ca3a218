/* JSON, read where it lies and written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/encoding.h"
#include "protocol/json/read.h"
#include "protocol/json/write.h"

/* ---- read and walked ---- */

static const struct {
    struct bytes text;
    enum json_fault fault;
} checked[] = {
    {BYTES("{}"), JSON_FAULT_NONE},
    {BYTES(" [ ] "), JSON_FAULT_NONE},
    {BYTES("\t{\"a\" : [1, -0, 0.5, 10e+2, 1E-2, true, false, null, \"\"], \"b\":{}}\r\n"),
     JSON_FAULT_NONE},
    {BYTES("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\\u0000\""), JSON_FAULT_NONE},
    {BYTES("\"\xe4\xb8\xad\x7f\""), JSON_FAULT_NONE},
    {BYTES(""), JSON_FAULT_SYNTAX},
    {BYTES(" "), JSON_FAULT_SYNTAX},
    {BYTES("{"), JSON_FAULT_SYNTAX},
    {BYTES("{]"), JSON_FAULT_SYNTAX},
    {BYTES("[}"), JSON_FAULT_SYNTAX},
    {BYTES("[1,]"), JSON_FAULT_SYNTAX},
    {BYTES("[,1]"), JSON_FAULT_SYNTAX},
    {BYTES("[1 2]"), JSON_FAULT_SYNTAX},
    {BYTES("{\"a\"}"), JSON_FAULT_SYNTAX},
    {BYTES("{\"a\":}"), JSON_FAULT_SYNTAX},
    {BYTES("{\"a\":1,}"), JSON_FAULT_SYNTAX},
    {BYTES("{a:1}"), JSON_FAULT_SYNTAX},
    {BYTES("{1:1}"), JSON_FAULT_SYNTAX},
    {BYTES("{'a':1}"), JSON_FAULT_SYNTAX},
    {BYTES("{}{}"), JSON_FAULT_SYNTAX},
    {BYTES("01"), JSON_FAULT_SYNTAX},
    {BYTES("+1"), JSON_FAULT_SYNTAX},
    {BYTES(".5"), JSON_FAULT_SYNTAX},
    {BYTES("1."), JSON_FAULT_SYNTAX},
    {BYTES("1e"), JSON_FAULT_SYNTAX},
    {BYTES("1e+-1"), JSON_FAULT_SYNTAX},
    {BYTES("-"), JSON_FAULT_SYNTAX},
    {BYTES("0x1"), JSON_FAULT_SYNTAX},
    {BYTES("tru"), JSON_FAULT_SYNTAX},
    {BYTES("truex"), JSON_FAULT_SYNTAX},
    {BYTES("NaN"), JSON_FAULT_SYNTAX},
    {BYTES("\"a"), JSON_FAULT_SYNTAX},
    {BYTES("\"a\\"), JSON_FAULT_SYNTAX},
    {BYTES("\"\\x\""), JSON_FAULT_SYNTAX},
    {BYTES("\"\\\0\""), JSON_FAULT_SYNTAX},
    {BYTES("\"\\u12\""), JSON_FAULT_SYNTAX},
    {BYTES("\"\\u12g4\""), JSON_FAULT_SYNTAX},
    {BYTES("\"\n\""), JSON_FAULT_SYNTAX},
    {BYTES("\"\0\""), JSON_FAULT_SYNTAX},
    {BYTES("\0"), JSON_FAULT_SYNTAX},
    {BYTES("\"\xff\""), JSON_FAULT_UTF8},
    {BYTES("\"\xe4\xb8\""), JSON_FAULT_UTF8},
    {BYTES("\"\xed\xa0\x80\""), JSON_FAULT_UTF8},
    {BYTES("\"\\ud800\""), JSON_FAULT_SURROGATE},
    {BYTES("\"\\ud800\\n\""), JSON_FAULT_SURROGATE},
    {BYTES("\"\\ud800\\u0041\""), JSON_FAULT_SURROGATE},
    {BYTES("\"\\udc00\\ud800\""), JSON_FAULT_SURROGATE},
    {BYTES("\"\\ud800\\u00\""), JSON_FAULT_SYNTAX},
};

static void tells_json_from_what_is_not(void **state)
{
    for (size_t i = 0; i < sizeof(checked) / sizeof(checked[0]); i++) {
        struct bytes text = checked[i].text;
        char *copy = malloc(text.len ? text.len : 1); /* a sanitizer sees a step beyond */

        assert_non_null(copy);
        memcpy(copy, text.at, text.len);
        if (json_check(bytes_of(copy, text.len)) != checked[i].fault)
            fail_msg("%.*s", BYTES_ARG(text));
        free(copy);
    }
}

static void says_where_the_fault_is(void **state)
{
    static const struct {
        const char *text;
        size_t at_byte;
    } faults[] = {{"", 0}, {" x", 1}, {"{\"a\":1,}", 7}, {"[1 2]", 3}, {"{} {}", 3}};
    size_t at_byte = 99;

    assert_int_equal(json_check_at(BYTES("[]"), &at_byte), JSON_FAULT_NONE);
    assert_int_equal(at_byte, 99);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct bytes text = bytes_of_text(faults[i].text);

        assert_int_equal(json_check_at(text, &at_byte), JSON_FAULT_SYNTAX);
        assert_int_equal(at_byte, faults[i].at_byte);
    }
}

static void limits_nesting(void **state)
{
    char text[2 * (JSON_DEPTH_MAX + 1)];

    for (unsigned depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(json_check(bytes_of(text, 2 * depth)),
                         depth > JSON_DEPTH_MAX ? JSON_FAULT_DEPTH : JSON_FAULT_NONE);
    }
}

static void add_story(struct buf *story, struct bytes value)
{
    enum json_kind kind = json_kind_of(value);
    struct json_walk walk = json_walk_into(value);
    struct bytes name, item;

    if (kind == JSON_KIND_STRING) {
        buf_add_bytes(story, json_unescape(value));
    } else if (kind == JSON_KIND_LIST) {
        while (json_walk_element(&walk, &item)) {
            buf_add_char(story, '-');
            add_story(story, item);
        }
    } else if (kind == JSON_KIND_OBJECT) {
        while (json_walk_member(&walk, &name, &item)) {
            buf_add_bytes(story, json_unescape(name));
            buf_add_char(story, '=');
            add_story(story, item);
            buf_add_char(story, ';');
        }
    } else {
        buf_add_bytes(story, value);
    }
}

static void walks_over_objects_lists_and_strings(void **state)
{
    char text[] = "{ \"a\" : [ 1 , [ ] , \"x,]}\\\"\" , { \"b\" : null } , -1e5 ] ,"
                  "\"\\u0063\":\"\\u00e9\\ud83d\\ude00\\t\\/\" , \"d\":{}, \"e\":true }";
    struct buf story = BUF_INIT;

    assert_int_equal(json_check(bytes_of_text(text)), JSON_FAULT_NONE);
    add_story(&story, bytes_of_text(text));
    assert_string_equal(buf_text(&story), "a=-1--x,]}\"-b=null;--1e5;"
                                          "c=\xc3\xa9\xf0\x9f\x98\x80\t/;d=;e=true;");
    buf_fini(&story);
}

/* Each byte at each place of a string that is longer than what is looked at together, and the
 * string exactly as long as its memory. */
static void finds_every_special_character_wherever_it_stands(void **state)
{
    for (size_t len = 1; len <= 18; len++) {
        char *text = malloc(len);
        const char *end = text + len;

        assert_non_null(text);
        for (size_t place = 0; place < len; place++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                bool is_mark = byte == '"' || byte == '\\';

                memset(text, ' ', len);
                text[place] = (char)byte;
                assert_int_equal(json_count_plain(text, end),
                                 json_is_plain((char)byte) ? len : place);
                assert_ptr_equal(json_find_mark(text, end), is_mark ? text + place : end);
            }
        }
        free(text);
    }
}

/* Goes as deep as it can, and unescapes nothing. */
static unsigned count_items(struct bytes value)
{
    struct json_walk list = json_walk_into(value), object = list;
    struct bytes name, item;
    unsigned count = 0;

    while (json_walk_element(&list, &item))
        count += 1 + count_items(item);
    while (json_walk_member(&object, &name, &item))
        count += 1 + count_items(item);
    return count;
}

static void picks_members_by_name(void **state)
{
    static const char *const names[] = {"topic", "id", "none"};
    char text[] = "{\"TOPIC\":1,\"i\\u0064\":\"x\",\"topic\":[2],\"other\":{\"none\":3},"
                  "\"None\":4,\"none\":null}";
    struct bytes values[3];

    json_pick(bytes_of_text(text), names, values, 3);
    assert_true(bytes_equal(values[0], BYTES("[2]")));
    assert_true(bytes_equal(values[1], BYTES("\"x\"")));
    assert_int_equal(values[2].len, 0);
    json_pick(BYTES("[\"topic\"]"), names, values, 3);
    assert_int_equal(values[0].len, 0);
}

static void stays_inside_of_what_is_not_json(void **state)
{
    static const char marks[] = "{}[]\",:\\1 ";
    char text[12];

    srand(1);
    for (unsigned round = 0; round < 100000; round++) {
        size_t len = 1 + (size_t)rand() % sizeof(text);
        char *copy = malloc(len);

        assert_non_null(copy);
        for (size_t i = 0; i < len; i++)
            copy[i] = marks[(size_t)rand() % (sizeof(marks) - 1)];
        assert_true(count_items(bytes_of(copy, len)) < 200);
        free(copy);
    }
}

/* ---- base64 ---- */

static void assert_decodes(const char *text, const char *expected, size_t len)
{
    char copy[64];
    struct bytes out;

    strcpy(copy, text);
    assert_true(base64_decode(bytes_of_text(copy), &out));
    assert_int_equal(out.len, len);
    assert_memory_equal(out.at, expected, len);
}

static void decodes_the_vectors_of_the_standard(void **state)
{
    assert_decodes("", "", 0);
    assert_decodes("Zg==", "f", 1);
    assert_decodes("Zm8=", "fo", 2);
    assert_decodes("Zm9v", "foo", 3);
    assert_decodes("Zm9vYg==", "foob", 4);
    assert_decodes("Zm9vYmE=", "fooba", 5);
    assert_decodes("Zm9vYmFy", "foobar", 6);
    assert_decodes("AP/+gA==", "\0\xff\xfe\x80", 4);
}

static void refuses_what_is_not_base64(void **state)
{
    static const char *const wrong[] = {
        "Z",        "Zg",   "Zg=",      "Zm9vY",    "====",      "=m9v",
        "Zm=v",     "Z===", "Zg==Zg==", "Zm9v ",    " Zm9v",     "Zm9v\n",
        "Zm 9v",    "Zm9-", "Zm9_",     "Zm9\x80",  "Zm9\"",     "Zm9vZm9*",
        "*m9vZm9v", "Zh==", "Zm9=",     "Zm9vYm9=", "Zm9vYg==\n"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        size_t len = strlen(wrong[i]);
        char *copy = malloc(len); /* a sanitizer sees a step beyond */
        struct bytes out = BYTES("untouched");

        assert_non_null(copy);
        memcpy(copy, wrong[i], len);
        if (base64_decode(bytes_of(copy, len), &out))
            fail_msg("'%s' was taken for base64", wrong[i]);
        assert_true(bytes_equal(out, BYTES("untouched")));
        free(copy);
    }
}

static void reads_what_the_writer_wrote(void **state)
{
    unsigned char bytes[256];

    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        struct bytes in = bytes_of((const char *)bytes, len), out;
        struct buf text = BUF_INIT;

        json_add_base64(&text, in);
        assert_true(base64_decode(bytes_of(text.at + 1, text.len - 2), &out));
        assert_true(bytes_equal(in, out));
        buf_fini(&text);
    }
}

/* ---- written ---- */

static void escapes_what_json_must_escape_and_replaces_what_is_not_utf8(void **state)
{
    static const struct {
        struct bytes text;
        const char *json;
        bool is_utf8;
    } cases[] = {
        {BYTES(""), "\"\"", true},
        {{NULL, 0}, "\"\"", true},
        {BYTES("plain"), "\"plain\"", true},
        {BYTES("\"\\/"), "\"\\\"\\\\/\"", true},
        {BYTES("\n\r\t\b\f"), "\"\\n\\r\\t\\b\\f\"", true},
        {BYTES("a\0b\x1f\x7f"), "\"a\\u0000b\\u001f\x7f\"", true},
        {BYTES("\xe4\xb8\xad\xc3\xa9\xf0\x9f\x98\x80"),
         "\"\xe4\xb8\xad\xc3\xa9\xf0\x9f\x98\x80\"", true},
        {BYTES("a\xff"
               "b"),
         "\"a\xef\xbf\xbd"
         "b\"",
         false},
        {BYTES("\xe4\xb8"), "\"\xef\xbf\xbd\xef\xbf\xbd\"", false},         /* cut off */
        {BYTES("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"", false},         /* overlong */
        {BYTES("\xe0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\"", false},         /* overlong */
        {BYTES("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", /* surrogate */
         false},
        {BYTES("\xf4\x90\x80\x80"), /* above U+10FFFF */
         "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out = BUF_INIT;

        assert_int_equal(json_add_text(&out, cases[i].text), cases[i].is_utf8);
        assert_string_equal(buf_text(&out), cases[i].json);
        buf_fini(&out);
    }
}

static void writes_base64_with_padding(void **state)
{
    static const struct {
        struct bytes bytes;
        const char *json;
    } cases[] = {
        {BYTES(""), "\"\""},
        {BYTES("f"), "\"Zg==\""},
        {BYTES("fo"), "\"Zm8=\""},
        {BYTES("foo"), "\"Zm9v\""},
        {BYTES("\xff\x00\xfe\x80"), "\"/wD+gA==\""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out = BUF_INIT;

        json_add_base64(&out, cases[i].bytes);
        assert_string_equal(buf_text(&out), cases[i].json);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_json_from_what_is_not),
        cmocka_unit_test(says_where_the_fault_is),
        cmocka_unit_test(limits_nesting),
        cmocka_unit_test(finds_every_special_character_wherever_it_stands),
        cmocka_unit_test(walks_over_objects_lists_and_strings),
        cmocka_unit_test(picks_members_by_name),
        cmocka_unit_test(stays_inside_of_what_is_not_json),
        cmocka_unit_test(decodes_the_vectors_of_the_standard),
        cmocka_unit_test(refuses_what_is_not_base64),
        cmocka_unit_test(reads_what_the_writer_wrote),
        cmocka_unit_test(escapes_what_json_must_escape_and_replaces_what_is_not_utf8),
        cmocka_unit_test(writes_base64_with_padding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
