#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/api/metrics_node.c" /* for both ways of counting descriptors */

static void counts_open_descriptors(void **state)
{
    struct metrics_process before, after;
    int fd;

    metrics_process_read(&before);
    fd = dup(0);
    metrics_process_read(&after);
    assert_int_equal(after.open_fds, before.open_fds + 1);
    close(fd);
    assert_true(after.max_fds >= after.open_fds);
}

static void old_and_new_systems_count_the_same(void **state)
{
    assert_int_equal(count_fds_one_by_one(), count_fds());
}

static void memory_in_ram_is_part_of_the_address_space(void **state)
{
    struct metrics_process p;

    metrics_process_read(&p);
    assert_in_range(p.resident_bytes, 1 << 16, p.virtual_bytes);
}

static void processor_time_grows_and_the_start_stays(void **state)
{
    struct metrics_process before, after;

    metrics_process_read(&before);
    do
        metrics_process_read(&after);
    while (after.cpu_ms == before.cpu_ms);
    assert_true(after.cpu_ms > before.cpu_ms);
    assert_int_equal(after.start_ms, before.start_ms);
    assert_in_range(before.start_ms / 1000, time(NULL) - 600, time(NULL) + 1);
}

static void a_file_that_is_missing_is_empty(void **state)
{
    char text[10] = "x";

    read_text("/proc/self/no-such-file", text, sizeof(text));
    assert_string_equal(text, "");
}

static void a_longer_file_is_cut(void **state)
{
    char text[5];

    read_text("/proc/self/status", text, sizeof(text));
    assert_string_equal(text, "Name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_open_descriptors),
        cmocka_unit_test(old_and_new_systems_count_the_same),
        cmocka_unit_test(memory_in_ram_is_part_of_the_address_space),
        cmocka_unit_test(processor_time_grows_and_the_start_stays),
        cmocka_unit_test(a_file_that_is_missing_is_empty),
        cmocka_unit_test(a_longer_file_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
