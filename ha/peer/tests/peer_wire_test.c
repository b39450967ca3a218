#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ha/peer/conn.h"
#include "ha/peer/wire.h"

#define HEX16   "0123456789abcdef"
#define HEX32   HEX16 HEX16
#define HEX64   HEX32 HEX32
#define LONGEST "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" /* 64 */
#define TOKEN   HEX32 ":00000000000000ff"

static void prints_what_it_reads(void **state)
{
    static const char *const lines[] = {
        "hello dueq-peer/1 " LONGEST " " HEX16 " " HEX64,
        "hello dueq-peer/1 n.1_a:b-c " HEX16 " " HEX64,
        "proof " HEX64,
        "refused secret",
        "refused name",
        "refused too_many",
        "session ffffffffffffffff " HEX32,
        "session 0000000000000000 " HEX32,
        "ask " TOKEN " 18446744073709551615 60000",
        "ask " TOKEN " 0 1000",
        "promise 10",
        "beat",
        "bye",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct buf printed = BUF_INIT;
        struct peer_message m;

        assert_int_equal(peer_wire_parse(&m, bytes_of_text(lines[i])), STATUS_OK);
        peer_wire_print(&m, &printed);
        assert_true(printed.len <= PEER_LINE_MAX);
        assert_int_equal(printed.at[printed.len - 1], '\n');
        printed.len--;
        assert_string_equal(buf_text(&printed), lines[i]);
        buf_fini(&printed);
    }
}

static void fields_arrive(void **state)
{
    struct peer_message m;

    assert_int_equal(peer_wire_parse(&m, BYTES("session 8000000000000001 " HEX32)), STATUS_OK);
    assert_int_equal(m.kind, PEER_SESSION);
    assert_true(m.session.session == INT64_MIN + 1);
    assert_int_equal(m.session.password[15], 0xef);
    assert_int_equal(peer_wire_parse(&m, BYTES("ask " TOKEN " 12 2000")), STATUS_OK);
    assert_int_equal(m.token.epoch, 255);
    assert_int_equal(m.seq, 12);
    assert_int_equal(m.session_ms, 2000);
    assert_int_equal(m.session.session, 0);
}

static void refuses_all_else(void **state)
{
    static const char *const wrong[] = {
        "",
        " ",
        "bea",
        "beats",
        "Beat",
        "beat ",
        " beat",
        "beat x",
        "beat\r",
        "hello",
        "hello dueq-peer/2 n " HEX16 " " HEX64,
        "hello dueq-peer/1 n " HEX16,
        "hello dueq-peer/1 n " HEX16 " " HEX32,
        "hello dueq-peer/1 n  " HEX16 " " HEX64,
        "hello dueq-peer/1 n " HEX16 " " HEX64 " ",
        "hello dueq-peer/1 n " HEX16 " " HEX64 " x",
        "hello dueq-peer/1 n 0000000000000000 " HEX64,
        "hello dueq-peer/1  " HEX16 " " HEX64,
        "hello dueq-peer/1 " LONGEST "a " HEX16 " " HEX64,
        "hello dueq-peer/1 n/m " HEX16 " " HEX64,
        "proof 0123456789ABCDEF0123456789abcdef" HEX32,
        "proof " HEX64 "00",
        "refused",
        "refused because",
        "session " HEX16,
        "session 1 " HEX32,
        "ask  1 2000",
        "ask " HEX32 " 1 2000",
        "ask " TOKEN " -1 2000",
        "ask " TOKEN " 01 2000",
        "ask " TOKEN " 18446744073709551616 2000",
        "ask " TOKEN " ",
        "ask " TOKEN " 1",
        "ask " TOKEN " 1 999",
        "ask " TOKEN " 1 60001",
        "ask " TOKEN " 1 02000",
        "promise",
        "promise 1x",
    };
    struct peer_message m = {.seq = 5};
    char nul[] = "beat";

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(peer_wire_parse(&m, bytes_of_text(wrong[i])), STATUS_BAD_REQUEST);
    assert_int_equal(peer_wire_parse(&m, bytes_of(nul, sizeof(nul))), STATUS_BAD_REQUEST);
    assert_int_equal(m.seq, 5); /* untouched */
}

/* ---- proofs ---- */

static struct peer_hellos some_hellos(void)
{
    struct peer_hellos h = {.of = {{.kind = PEER_HELLO, .node = "na", .incarnation = 1},
                                   {.kind = PEER_HELLO, .node = "nb", .incarnation = 2}}};

    peer_auth_random(h.of[0].challenge, PEER_CHALLENGE_BYTES);
    peer_auth_random(h.of[1].challenge, PEER_CHALLENGE_BYTES);
    return h;
}

static void a_proof_is_known_again(void **state)
{
    struct peer_hellos h = some_hellos();
    unsigned char mac[PEER_MAC_BYTES];

    peer_auth_prove("secret", PEER_DIALER, &h, mac);
    assert_true(peer_auth_is_proven("secret", PEER_DIALER, &h, mac));
}

/* The HMAC-SHA256 of the text written out below, as Python's hmac module gives it. */
static void a_proof_is_the_hmac_of_what_both_said(void **state)
{
    static const unsigned char expected[] = {0xb7, 0xa8, 0x4e, 0x21, 0x17, 0xe6, 0x61, 0x13,
                                             0x78, 0x91, 0x38, 0xac, 0x4c, 0x99, 0x74, 0x4c,
                                             0xe9, 0x2c, 0xf6, 0x4a, 0x78, 0x72, 0x01, 0xf7,
                                             0x1e, 0xaf, 0x64, 0x9d, 0x1f, 0x69, 0x82, 0x35};
    struct peer_hellos h = {.of = {{.kind = PEER_HELLO, .node = "na", .incarnation = 1},
                                   {.kind = PEER_HELLO, .node = "nb", .incarnation = 2}}};
    unsigned char mac[PEER_MAC_BYTES];

    peer_auth_prove("sixteen letters!", PEER_DIALER, &h, mac);
    assert_memory_equal(mac, expected, sizeof(mac));
}

static void a_proof_fits_one_conversation_and_one_side_only(void **state)
{
    struct peer_hellos right = some_hellos(), h;
    unsigned char mac[PEER_MAC_BYTES], other[PEER_MAC_BYTES];

    peer_auth_prove("secret", PEER_DIALER, &right, mac);
    assert_false(peer_auth_is_proven("Secret", PEER_DIALER, &right, mac));
    assert_false(peer_auth_is_proven("secret", PEER_LISTENER, &right, mac));
    for (int side = 0; side < 2; side++) {
        h = right;
        h.of[side].challenge[31] ^= 1;
        assert_false(peer_auth_is_proven("secret", PEER_DIALER, &h, mac));
        h = right;
        h.of[side].incarnation++;
        assert_false(peer_auth_is_proven("secret", PEER_DIALER, &h, mac));
        h = right;
        h.of[side].node[1] = 'x';
        assert_false(peer_auth_is_proven("secret", PEER_DIALER, &h, mac));
    }
    for (unsigned bit = 0; bit < 8 * PEER_MAC_BYTES; bit++) {
        memcpy(other, mac, sizeof(other));
        other[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_false(peer_auth_is_proven("secret", PEER_DIALER, &right, other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_what_it_reads),
        cmocka_unit_test(fields_arrive),
        cmocka_unit_test(refuses_all_else),
        cmocka_unit_test(a_proof_is_known_again),
        cmocka_unit_test(a_proof_is_the_hmac_of_what_both_said),
        cmocka_unit_test(a_proof_fits_one_conversation_and_one_side_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
