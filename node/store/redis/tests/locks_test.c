#include "node/store/redis/wire/decode.h"
#include "node/store/redis/wire/encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#define OWNER "00000000000000aa"
#define LOCK                                                            \
    "00000000000a0001" OWNER "\x01\xA3\x18\x5C\x50\x00" /* until */     \
    "\0\0\0\0\0\2\1"                                    /* token 513 */ \
    "node-a"
#define UNTIL_MS INT64_C(0x01A3185C5000)

static void packs_a_share_at_fixed_offsets(void **state)
{
    char marks[SHARES], packed[SHARE_BYTES];
    struct scan_share share = {.view = 0xa0001,
                               .owner = BYTES(OWNER),
                               .marks = bytes_of(marks, SHARES),
                               .lock_ms = 5000,
                               .late_ms = 1000};

    for (unsigned i = 0; i < SHARES; i++)
        marks[i] = "+~-"[i % 3];
    share_pack(&share, packed);
    assert_memory_equal(packed, "00000000000a0001" OWNER, 32);
    assert_memory_equal(packed + 32, "\0\0\0\0\x13\x88\0\0\0\0\x03\xE8", 12);
    assert_memory_equal(packed + 44, marks, SHARES);
    assert_int_equal(sizeof(packed), 300); /* scan.lua */
    share.view = UINT64_MAX;
    share_pack(&share, packed);
    assert_memory_equal(packed, "ffffffffffffffff", 16);
}

static void reads_a_lock(void **state)
{
    struct topic_lock lock = lock_unpack(BYTES(LOCK), UNTIL_MS - 1234);

    assert_int_equal(lock.view, 0xa0001);
    assert_int_equal(lock.token, 513);
    assert_int_equal(lock.left_ms, 1234);
    assert_true(bytes_equal(lock.node, BYTES("node-a")));
}

static void assert_nobody(struct topic_lock lock)
{
    assert_int_equal(lock.node.len, 0);
    assert_int_equal(lock.view, 0);
    assert_int_equal(lock.token, 0);
    assert_int_equal(lock.left_ms, 0);
}

static void a_lock_that_is_over_is_nobodys(void **state)
{
    assert_int_equal(lock_unpack(BYTES(LOCK), UNTIL_MS - 1).left_ms, 1);
    assert_nobody(lock_unpack(BYTES(LOCK), UNTIL_MS));
    assert_nobody(lock_unpack(BYTES(""), 0));
}

static void what_is_no_lock_is_nobodys(void **state)
{
    char text[sizeof(LOCK) + OP_NODE_MAX];

    memcpy(text, LOCK, sizeof(LOCK) - 1);
    memset(text + sizeof(LOCK) - 1, 'n', OP_NODE_MAX);
    assert_int_equal(lock_unpack(bytes_of(text, 45 + OP_NODE_MAX), 0).node.len, OP_NODE_MAX);
    assert_nobody(lock_unpack(bytes_of(text, 45 + OP_NODE_MAX + 1), 0));
    assert_nobody(lock_unpack(bytes_of(text, 44), 0));
    text[15] = 'g';
    assert_nobody(lock_unpack(bytes_of(text, sizeof(LOCK) - 1), 0));
    text[15] = 'A'; /* a script would order it elsewhere */
    assert_nobody(lock_unpack(bytes_of(text, sizeof(LOCK) - 1), 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_a_share_at_fixed_offsets),
        cmocka_unit_test(reads_a_lock),
        cmocka_unit_test(a_lock_that_is_over_is_nobodys),
        cmocka_unit_test(what_is_no_lock_is_nobodys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
