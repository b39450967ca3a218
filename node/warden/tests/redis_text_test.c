#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "node/warden/redis_text.h"

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

    redis_text_conf(&text, &(struct redis_text_options){.appendfsync = "always"});
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        assert_non_null(strstr(buf_text(&text), lines[i]));
    buf_fini(&text);
}

static void what_the_operator_says_is_taken(void **state)
{
    struct redis_text_options options = {.appendfsync = "everysec", .memory_bytes = 123456789};
    struct buf text = BUF_INIT;

    redis_text_conf(&text, &options);
    assert_non_null(strstr(buf_text(&text), "\nappendfsync everysec\n"));
    assert_null(strstr(buf_text(&text), "appendfsync always"));
    assert_non_null(strstr(buf_text(&text), "\nmaxmemory 123456789\n"));
    assert_null(strstr(buf_text(&text), "maxmemory 0"));
    assert_non_null(strstr(buf_text(&text), "\naof-load-truncated yes\n"));
    buf_clear(&text);
    options.is_strict = true;
    redis_text_conf(&text, &options);
    assert_non_null(strstr(buf_text(&text), "\naof-load-truncated no\n"));
    buf_fini(&text);
}

static void it_is_heard_when_its_file_is_cut(void **state)
{
    struct bytes file;
    uint64_t offset;

    assert_true(redis_text_cuts(
        BYTES("!!! Truncating the AOF appendonly.aof.1.incr.aof at offset 1166 !!!"), &file,
        &offset));
    assert_true(bytes_equal(file, BYTES("appendonly.aof.1.incr.aof")));
    assert_int_equal(offset, 1166);
    assert_true(
        redis_text_cuts(BYTES("!!! Truncating the AOF at offset 0 !!!"), &file, &offset));
    assert_int_equal(file.len, 0);
    assert_int_equal(offset, 0);
    assert_false(redis_text_cuts(BYTES("!!! Warning: short read while loading the AOF file "
                                       "appendonly.aof.1.incr.aof!!!"),
                                 &file, &offset));
    assert_false(redis_text_cuts(BYTES("Truncating the AOF"), &file, &offset));
    assert_true(redis_text_must_not_cut(
        BYTES("Unexpected end of file reading the append only file appendonly.aof.1.incr.aof. "
              "You can: 1) Make a backup")));
    assert_false(
        redis_text_must_not_cut(BYTES("Bad file format reading the append only file")));
}

static void it_is_heard_when_its_disk_is_full(void **state)
{
    assert_true(redis_text_cannot_write(BYTES("Can't recover from AOF write error when the AOF "
                                              "fsync policy is 'always'. Exiting...")));
    assert_true(redis_text_cannot_write(
        BYTES("Error writing to the AOF file: No space left on device")));
    assert_false(redis_text_cannot_write(BYTES("AOF rewrite: child exited")));
}

static void it_is_heard_when_it_may_not_touch_its_files(void **state)
{
    assert_true(redis_text_is_denied(BYTES("Error moving temp append only file on the final "
                                           "destination: Permission denied")));
    assert_false(
        redis_text_is_denied(BYTES("Error writing to the AOF file: No space left on device")));
}

static void it_is_heard_when_there_is_room_again(void **state)
{
    const struct bytes solved =
        BYTES("AOF write error looks solved, Redis can write again."); /* 7.2: The server */

    assert_true(redis_text_writes_again(solved));
    assert_false(redis_text_cannot_write(solved));
    assert_false(redis_text_writes_again(
        BYTES("Error writing to the AOF file: No space left on device")));
}

static void expect_limit_path(const char *groups, const char *path)
{
    struct buf text = BUF_INIT;

    redis_text_limit_path(&text, bytes_of_text(groups));
    assert_string_equal(buf_text(&text), path);
    buf_fini(&text);
}

static void memory_is_the_machine_s_or_the_control_group_s(void **state)
{
    const struct bytes meminfo = BYTES("MemTotal:       16316412 kB\nMemFree:  1 kB\n");

    assert_int_equal(redis_text_memory(meminfo, BYTES("")), 16316412ULL * 1024);
    assert_int_equal(redis_text_memory(meminfo, BYTES("max\n")), 16316412ULL * 1024);
    assert_int_equal(redis_text_memory(meminfo, BYTES("1073741824\n")), 1073741824);
    assert_int_equal(redis_text_memory(meminfo, BYTES("9223372036854771712\n")),
                     16316412ULL * 1024);
    assert_int_equal(redis_text_memory(BYTES(""), BYTES("4096")), 4096);
    assert_int_equal(redis_text_memory(BYTES(""), BYTES("")), 0);
    expect_limit_path("0::/\n", "/sys/fs/cgroup/memory.max");
    expect_limit_path("0::/system.slice/dueq.service\n",
                      "/sys/fs/cgroup/system.slice/dueq.service/memory.max");
    expect_limit_path("9:cpu:/a\n7:memory:/docker/x\n0::/\n",
                      "/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes");
}

static void the_groups_above_count_up_to_the_root(void **state)
{
    static const char *const paths[] = {"/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes",
                                        "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
                                        "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    struct buf text = BUF_INIT;
    unsigned above = 0;

    buf_add_text(&text, paths[0]);
    for (unsigned i = 1; i < sizeof(paths) / sizeof(*paths); i++) {
        assert_true(redis_text_limit_above(&text));
        assert_string_equal(buf_text(&text), paths[i]);
    }
    while (redis_text_limit_above(&text))
        above++;
    assert_int_equal(above, 4);
    assert_string_equal(buf_text(&text), "/memory.limit_in_bytes");
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
        cmocka_unit_test(what_the_operator_says_is_taken),
        cmocka_unit_test(it_is_heard_when_its_file_is_cut),
        cmocka_unit_test(it_is_heard_when_its_disk_is_full),
        cmocka_unit_test(it_is_heard_when_it_may_not_touch_its_files),
        cmocka_unit_test(it_is_heard_when_there_is_room_again),
        cmocka_unit_test(memory_is_the_machine_s_or_the_control_group_s),
        cmocka_unit_test(the_groups_above_count_up_to_the_root),
        cmocka_unit_test(its_log_lines_keep_their_weight),
        cmocka_unit_test(what_is_not_a_log_line_is_a_warning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
