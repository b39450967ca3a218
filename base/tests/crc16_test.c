/* The checksum that decides a topic's bucket, for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/crc16.h"

static void has_the_check_value_of_its_kind(void **state)
{
    assert_int_equal(crc16(BYTES("123456789")), 0x31c3);
    assert_int_equal(crc16(BYTES("")), 0);
}

/* The CRC by its definition, bit by bit. */
static uint16_t slow_crc16(struct bytes bytes)
{
    uint16_t crc = 0;

    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= (uint16_t)((uint8_t)bytes.at[i] << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc;
}

static void equals_its_definition_for_every_pair_of_bytes(void **state)
{
    for (unsigned pair = 0; pair < 65536; pair++) {
        char at[2] = {(char)(pair >> 8), (char)pair};

        assert_int_equal(crc16(bytes_of(at, 2)), slow_crc16(bytes_of(at, 2)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_check_value_of_its_kind),
        cmocka_unit_test(equals_its_definition_for_every_pair_of_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
