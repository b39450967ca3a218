#include "node/store/redis/wire/conn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <hiredis/hiredis.h>

/* hiredis's way is the measure. */
static void assert_like_hiredis(int argc, const char **argv, const size_t *lens)
{
    struct buf out = BUF_INIT;
    char *expected;
    int len = redisFormatCommandArgv(&expected, argc, argv, lens);

    buf_add_text(&out, "before");
    redis_command_write(&out, argc, argv, lens);
    buf_drop(&out, strlen("before"));
    assert_int_equal(out.len, len);
    assert_memory_equal(out.at, expected, out.len);
    redisFreeCommand(expected);
    buf_fini(&out);
}

static void writes_what_hiredis_writes(void **state)
{
    static char large[123456];
    const char *argv[] = {"EVALSHA", "", "a\r\nb", "\0$3", large, "last argument"};
    size_t lens[] = {7, 0, 4, 3, sizeof(large), 13};

    memset(large, '*', sizeof(large));
    for (int argc = 1; argc <= 6; argc++)
        assert_like_hiredis(argc, argv, lens);
}

static void writes_as_many_arguments_as_there_are(void **state)
{
    const char *argv[120];
    size_t lens[120];

    for (size_t i = 0; i < 120; i++) {
        argv[i] = "0123456789";
        lens[i] = i % 11;
    }
    assert_like_hiredis(120, argv, lens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_what_hiredis_writes),
        cmocka_unit_test(writes_as_many_arguments_as_there_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
