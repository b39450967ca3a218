/* Headers of the PROXY protocol, whole and in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "protocol/conn/proxy.h"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define ENDS_4                                                                     \
    "\x0a\x00\x00\x07\xc0\xa8\x00\x01\x9f\x08\x1f\x40" /* 10.0.0.7:40712, and ours \
                                                        */
#define ENDS_6                                                                       \
    "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01" \
    "\x9f\x08\x1f\x40"

struct row {
    struct bytes header;
    enum proxy_result result;
    const char *client; /* of PROXY_CLIENT */
};

static const struct row whole[] = {
    {BYTES("PROXY TCP4 10.0.0.7 192.168.0.1 40712 8000\r\n"), PROXY_CLIENT, "10.0.0.7:40712"},
    {BYTES("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n"), PROXY_CLIENT,
     "255.255.255.255:65535"},
    {BYTES("PROXY TCP6 2001:db8::9 fd00::1 40712 0\r\n"), PROXY_CLIENT, "[2001:db8::9]:40712"},
    {BYTES("PROXY TCP6 ::ffff:10.0.0.7 ::ffff:10.0.0.1 1 2\r\n"), PROXY_CLIENT, "10.0.0.7:1"},
    {BYTES("PROXY UNKNOWN\r\n"), PROXY_ITSELF, NULL},
    {BYTES("PROXY UNKNOWN ffff:f...f:ffff 1 2 whatever\r\n"), PROXY_ITSELF, NULL},
    {BYTES(SIGNATURE "\x21\x11\0\x0c" ENDS_4), PROXY_CLIENT, "10.0.0.7:40712"},
    {BYTES(SIGNATURE "\x21\x21\0\x24" ENDS_6), PROXY_CLIENT, "[2001:db8::9]:40712"},
    {BYTES(SIGNATURE "\x21\x11\0\x12" ENDS_4 "\x04\0\x03\0\0\0"), PROXY_CLIENT,
     "10.0.0.7:40712"}, /* with an extension */
    {BYTES(SIGNATURE "\x20\0\0\0"), PROXY_ITSELF, NULL},
    {BYTES(SIGNATURE "\x20\x11\0\x0c" ENDS_4), PROXY_ITSELF, NULL},
    {BYTES(SIGNATURE "\x20\xff\0\x01x"), PROXY_ITSELF, NULL},
    {BYTES(SIGNATURE "\x21\0\0\x05wrong"), PROXY_ITSELF, NULL},
    {BYTES(SIGNATURE "\x21\x31\0\x03"
                     "abc"),
     PROXY_ITSELF, NULL},                                           /* of a unix socket */
    {BYTES(SIGNATURE "\x21\x12\0\x0c" ENDS_4), PROXY_ITSELF, NULL}, /* datagrams */
    {BYTES(SIGNATURE "\x21\x22\0\x24" ENDS_6), PROXY_ITSELF, NULL},
    {BYTES(SIGNATURE "\x21\x32\0\0"), PROXY_ITSELF, NULL},
};

#define WHOLE (sizeof(whole) / sizeof(*whole))

/* With something behind that is not the header's. */
static void read_whole(const struct row *row)
{
    struct peer_end client = {.port = 0};
    struct buf input = BUF_INIT, name = BUF_INIT;
    size_t used = 0;

    buf_add_bytes(&input, row->header);
    buf_add_text(&input, "GET / HTTP/1.1\r\n");
    assert_int_equal(proxy_read(buf_bytes(&input), &client, &used), row->result);
    assert_int_equal(used, row->header.len);
    peer_end_print(&client, &name);
    assert_string_equal(buf_text(&name), row->client ? row->client : "unknown");
    buf_fini(&name);
    buf_fini(&input);
}

static void says_whose_connection_it_is(void **state)
{
    for (size_t i = 0; i < WHOLE; i++)
        read_whole(&whole[i]);
}

static void waits_for_the_rest(void **state)
{
    struct peer_end client;
    size_t used = 99;

    for (size_t i = 0; i < WHOLE; i++)
        for (size_t len = 0; len < whole[i].header.len; len++)
            if (proxy_read(bytes_of(whole[i].header.at, len), &client, &used) != PROXY_MORE)
                fail_msg("row %zu is complete after %zu bytes", i, len);
    assert_int_equal(used, 99);
}

static void refuses_what_is_none(void **state)
{
    static const struct bytes bad[] = {
        BYTES("GET / HTTP/1.1\r\n"), BYTES("\r\n\r\nGET"), BYTES("{"), BYTES("\x16\x03\x01"),
        BYTES("proxy TCP4 "), BYTES("PROXY\r\n"), BYTES("PROXY \r\n"),
        BYTES("PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n"), BYTES("PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n"),
        BYTES("PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n"), BYTES("PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n"),
        BYTES("PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n"),
        BYTES("PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n"),
        BYTES("PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n"),
        BYTES("PROXY TCP4 1.2.3.4 1.2.3.4 1 -2\r\n"),
        BYTES("PROXY TCP4 1.2.3.256 1.2.3.4 1 2\r\n"),
        BYTES("PROXY TCP4 1.2.3.4 1.2.3 1 2\r\n"), BYTES("PROXY TCP4 ::1 ::1 1 2\r\n"),
        BYTES("PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n"),
        BYTES("PROXY UNKNOWN 1234567890123456789012345678901234567890123456789012345678901234"
              "567890123456789012345678901234\r\n"), /* 108 bytes */
        BYTES(SIGNATURE "\x11\x11\0\x0c" ENDS_4), BYTES(SIGNATURE "\x22\x11\0\x0c" ENDS_4),
        BYTES(SIGNATURE "\x21\x13\0\x0c" ENDS_4), BYTES(SIGNATURE "\x21\x41\0\x0c" ENDS_4),
        BYTES(SIGNATURE "\x21\x01\0\x0c" ENDS_4),
        /* from nowhere */
        BYTES("PROXY TCP4 0.0.0.0 1.2.3.4 1 2\r\n"), BYTES("PROXY TCP6 :: ::1 1 2\r\n"),
        BYTES("PROXY TCP6 ::ffff:0.0.0.0 ::1 1 2\r\n"),
        BYTES(SIGNATURE "\x21\x11\0\x0c\0\0\0\0\xc0\xa8\x00\x01\x9f\x08\x1f\x40"),
        BYTES(SIGNATURE "\x21\x21\0\x24\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xfd\0\0\0\0"
                        "\0\0\0\0\0\0\0\0\0\0\x01\x9f\x08\x1f\x40"),
        BYTES(SIGNATURE "\x21\x11\0\x0b" ENDS_4), BYTES(SIGNATURE "\x21\x21\0\x23" ENDS_6),
        BYTES(SIGNATURE "\x21\x11\x0f\xf1" ENDS_4), /* longer than any that is taken */
    };
    struct peer_end client;
    size_t used = 99;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (proxy_read(bad[i], &client, &used) != PROXY_BAD)
            fail_msg("row %zu is not refused", i);
    assert_int_equal(used, 99);
}

static void bounds_the_extensions_of_a_header(void **state)
{
    char header[PROXY_HEADER_MAX] = SIGNATURE "\x21\x11\x0f\xf0" ENDS_4;
    struct peer_end client;
    size_t used;

    assert_int_equal(proxy_read(bytes_of(header, sizeof(header) - 1), &client, &used),
                     PROXY_MORE);
    assert_int_equal(proxy_read(bytes_of(header, sizeof(header)), &client, &used),
                     PROXY_CLIENT);
    assert_int_equal(used, sizeof(header));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_whose_connection_it_is),
        cmocka_unit_test(waits_for_the_rest),
        cmocka_unit_test(refuses_what_is_none),
        cmocka_unit_test(bounds_the_extensions_of_a_header),
    };

    return cmocka_run_group_tests_name("proxy", tests, NULL, NULL);
}
