#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/buf.h"
#include "protocol/gmq/codec.h"

#define FRAME_MAX 39

/* Feeds `stream` in pieces of `step` bytes and writes down what the scanner makes of it:
 * frames between '<' and '>', "!" for one over the limit, "?" where it is no JSON. */
static void scan_all(struct bytes stream, size_t step, struct buf *story)
{
    struct gmq_scan scan = {0};
    size_t from = 0, to = 0;

    while (to < stream.len) {
        enum gmq_scan_result result;

        to = to + step < stream.len ? to + step : stream.len;
        do {
            struct bytes frame;
            size_t used;
            /* A copy of exactly these bytes, so that a sanitizer sees every step beyond. */
            char *copy = malloc(to - from + 1);

            memcpy(copy, stream.at + from, to - from);
            result = gmq_scan_next(&scan, bytes_of(copy, to - from), FRAME_MAX, &frame, &used);
            if (result == GMQ_SCAN_FRAME)
                buf_printf(story, "<%.*s>", BYTES_ARG(frame));
            if (result == GMQ_SCAN_OVERSIZE)
                buf_add_char(story, '!');
            free(copy);
            from += used;
        } while (result == GMQ_SCAN_FRAME || result == GMQ_SCAN_OVERSIZE);
        if (result == GMQ_SCAN_NOT_JSON) {
            buf_add_char(story, '?');
            return;
        }
    }
    buf_add_text(story, gmq_scan_is_inside(&scan) ? "..." : "");
}

static const struct {
    const char *stream;
    const char *story;
} cases[] = {
    {"", ""},
    {"  \r\n\t ", ""},
    {"{}", "<{}>"},
    {"{}{}", "<{}><{}>"},
    {" {} \n {\"a\":1}\n", "<{}><{\"a\":1}>"},
    {"{\"a\":{\"b\":[{},{}]}}{}", "<{\"a\":{\"b\":[{},{}]}}><{}>"},
    {"{\"}\":\"{{{\"}", "<{\"}\":\"{{{\"}>"},
    {"{\"a\":\"\\\"}\"}", "<{\"a\":\"\\\"}\"}>"},
    {"{\"a\":\"\\\\\"}{}", "<{\"a\":\"\\\\\"}><{}>"},
    {"{\"a\":", "..."},
    {"{\"a\":\"}", "..."},
    {"{]", "<{]>"}, /* the parser's to refuse */
    {"GET / HTTP/1.1\r\n", "?"},
    {"{}x", "<{}>?"},
    {"[1]", "?"},
    {"}", "?"},
    {"\"a\"", "?"},
    {"{}\xef\xbb\xbf{}", "<{}>?"},
    {"{\"a\":\"0123456789012345678901234567890\"}",
     "<{\"a\":\"0123456789012345678901234567890\"}>"},
    {"{\"a\":\"01234567890123456789012345678901\"}", "!"},
    {"{\"a\":\"0123456789012345678901234567890123456789}}}}\\\"}}}}\", \"b\":[[{}]]}{}",
     "!<{}>"},
    {"{\"a\":\"0123456789012345678901234567890123456789", "..."},
};

static void finds_the_same_frames_however_the_stream_is_cut(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bytes stream = bytes_of_text(cases[i].stream);

        for (size_t step = 1; step <= stream.len; step++) {
            struct buf story = BUF_INIT;

            scan_all(stream, step, &story);
            assert_string_equal(buf_text(&story), cases[i].story);
            buf_fini(&story);
        }
    }
}

static void keeps_nothing_of_a_frame_over_the_limit(void **state)
{
    struct gmq_scan scan = {0};
    struct bytes frame;
    size_t used;
    char many[2 * FRAME_MAX];

    memset(many, '[', sizeof(many));
    many[0] = '{';
    assert_int_equal(
        gmq_scan_next(&scan, bytes_of(many, sizeof(many)), FRAME_MAX, &frame, &used),
        GMQ_SCAN_MORE);
    assert_int_equal(used, sizeof(many));
    assert_int_equal(scan.seen, 0);
    assert_true(gmq_scan_is_inside(&scan));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_same_frames_however_the_stream_is_cut),
        cmocka_unit_test(keeps_nothing_of_a_frame_over_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
