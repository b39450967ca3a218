#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "protocol/json/base64.h"
#include "protocol/json/text.h"

static void assert_decodes(const char *text, const char *expected, size_t len)
{
    char copy[64];
    struct bytes out;

    strcpy(copy, text);
    assert_true(json_base64_decode(bytes_of_text(copy), &out));
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
        if (json_base64_decode(bytes_of(copy, len), &out))
            fail_msg("'%s' was taken for base64", wrong[i]);
        assert_true(bytes_equal(out, BYTES("untouched")));
        free(copy);
    }
}

static void decodes_what_json_text_encodes(void **state)
{
    unsigned char bytes[256];

    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        struct bytes in = bytes_of((const char *)bytes, len), out;
        struct buf text = BUF_INIT;

        json_add_base64(&text, in);
        assert_true(json_base64_decode(bytes_of(text.at + 1, text.len - 2), &out));
        assert_true(bytes_equal(in, out));
        buf_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_the_vectors_of_the_standard),
        cmocka_unit_test(refuses_what_is_not_base64),
        cmocka_unit_test(decodes_what_json_text_encodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
