#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "node/embedded_redis_text.h"

static void the_configuration_keeps_what_was_acknowledged(void **state)
{
    static const char *const lines[] = {
        "\nport 0\n",
        "\nappendonly yes\n",
        "\nsave \"\"\n",
        "\nno-appendfsync-on-rewrite no\n",
        "\ndir ./\n",
        "\nmaxmemory-policy noeviction\n",
        "\nunixsocketperm 700\n",
        "\nappendfsync always\n",
    };
    struct buf text = BUF_INIT;

    redis_text_conf(&text, "always");
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        assert_non_null(strstr(buf_text(&text), lines[i]));
    buf_fini(&text);
}

static void the_operators_appendfsync_is_taken(void **state)
{
    struct buf text = BUF_INIT;

    redis_text_conf(&text, "everysec");
    assert_non_null(strstr(buf_text(&text), "\nappendfsync everysec\n"));
    assert_null(strstr(buf_text(&text), "appendfsync always"));
    buf_fini(&text);
}

static void expect(const char *line, enum log_level level, const char *message)
{
    struct bytes found;

    assert_int_equal(redis_text_log_line(bytes_of_text(line), &found), level);
    assert_int_equal(found.len, strlen(message));
    assert_memory_equal(found.at, message, found.len);
}

static void its_log_lines_keep_their_weight(void **state)
{
    expect("41:M 21 Nov 2026 05:10:00.123 * Ready to accept connections", LEVEL_INFO,
           "Ready to accept connections");
    expect("41:M 21 Nov 2026 05:10:00.123 # WARNING: one, two", LEVEL_WARN,
           "WARNING: one, two");
    expect("41:C 21 Nov 2026 05:10:00.123 - 1 client", LEVEL_DEBUG, "1 client");
    expect("41:signal-handler (1795238999) Received SIGTERM", LEVEL_INFO, "Received SIGTERM");
}

static void what_is_not_a_log_line_is_a_warning(void **state)
{
    static const char *const lines[] = {
        "",
        ":",
        "1",
        "1:",
        "1:M 21 Nov 2026",
        "1:signal-handler (1)",
        "1:M 21 Nov 2026 05:10:00.123 ",
        "1:M 21 Nov 2026 05:10:00.123 *",
        "1:M 21 Nov 2026 05:10:00.123 *x",
        "ERROR: ld.so: object 'slow.so' cannot be preloaded: ignored.",
        "*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        expect(lines[i], LEVEL_WARN, lines[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_configuration_keeps_what_was_acknowledged),
        cmocka_unit_test(the_operators_appendfsync_is_taken),
        cmocka_unit_test(its_log_lines_keep_their_weight),
        cmocka_unit_test(what_is_not_a_log_line_is_a_warning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
