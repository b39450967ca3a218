/* What text_escape() makes of any bytes is safe for a terminal, and base64 of any bytes comes
 * back as it was. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/encoding.h"
#include "node/ctl/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_escaped(const struct buf *text)
{
    struct buf again = BUF_INIT;

    assert(text_is_plain(buf_bytes(text)));
    for (size_t i = 0; i < text->len; i++)
        assert((unsigned char)text->at[i] >= ' ' && text->at[i] != 0x7f);
    /* Backslashes aside, there is nothing left to escape. */
    for (size_t i = 0; i < text->len; i++) {
        if (text->at[i] == '\\')
            text->at[i] = '/';
    }
    text_escape(&again, buf_bytes(text));
    assert(bytes_equal(buf_bytes(&again), buf_bytes(text)));
    buf_fini(&again);
}

static void check_base64(struct bytes input)
{
    struct buf coded = BUF_INIT;
    struct buf plain = BUF_INIT;

    base64_add(&coded, input);
    assert(text_from_base64(&plain, buf_bytes(&coded)));
    assert(bytes_equal(buf_bytes(&plain), input));
    buf_clear(&plain);
    if (!text_from_base64(&plain, input))
        assert(plain.len == 0);
    buf_fini(&coded);
    buf_fini(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = bytes_of((const char *)data, size);
    struct buf text = BUF_INIT;

    text_escape(&text, input);
    check_escaped(&text);
    buf_fini(&text);
    check_base64(input);
    return 0;
}
