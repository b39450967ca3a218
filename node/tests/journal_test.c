/* The journal: lines that a judge of failovers can read, whoever writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/journal.h"

static char dir[32], path[64];
static struct ha_journal journal;

static int setup(void **state)
{
    strcpy(dir, "/tmp/dueq-journal-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/ha.journal", dir);
    ha_journal_open(&journal, dir, "na");
    return 0;
}

static int teardown(void **state)
{
    ha_journal_close(&journal);
    unlink(path);
    rmdir(dir);
    return 0;
}

static void expect(const char *lines)
{
    char text[1024] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) >= 0);
    close(fd);
    assert_string_equal(text, lines);
}

static void each_event_is_a_line(void **state)
{
    ha_journal_role(&journal, "leader", "standby", "elected", "e:1", 5);
    ha_journal_lease(&journal, "e:1", 6, 900);
    ha_journal_fenced(&journal, "e:1", "e:2", 7);
    ha_journal_vip(&journal, "held", 8);
    expect("{\"event\":\"role\",\"node\":\"na\",\"role\":\"leader\",\"before\":\"standby\","
           "\"reason\":\"elected\",\"token\":\"e:1\",\"boot_ms\":5}\n"
           "{\"event\":\"lease\",\"node\":\"na\",\"token\":\"e:1\",\"from_ms\":6,"
           "\"until_ms\":900}\n"
           "{\"event\":\"fenced\",\"node\":\"na\",\"token\":\"e:1\",\"seen\":\"e:2\","
           "\"boot_ms\":7}\n"
           "{\"event\":\"vip\",\"node\":\"na\",\"state\":\"held\",\"boot_ms\":8}\n");
}

#define LEASE(from, until)                                                    \
    "{\"event\":\"lease\",\"node\":\"na\",\"token\":\"t\",\"from_ms\":" #from \
    ",\"until_ms\":" #until "}\n"
#define ROLE(role, reason)                                                       \
    "{\"event\":\"role\",\"node\":\"na\",\"role\":\"" role "\",\"before\":\"\"," \
    "\"reason\":\"" reason "\",\"token\":\"\",\"boot_ms\":9}\n"

static void a_lease_is_a_line_only_where_it_is_longer_or_new(void **state)
{
    ha_journal_lease(&journal, "t", 1, 100);
    ha_journal_lease(&journal, "t", 2, 100);
    ha_journal_lease(&journal, "t", 3, 99);
    ha_journal_lease(&journal, "t", 4, 101);
    ha_journal_role(&journal, "leader", "", "resumed", "", 9);
    ha_journal_lease(&journal, "t", 5, 101);
    expect(LEASE(1, 100) LEASE(4, 101) ROLE("leader", "resumed") LEASE(5, 101));
}

static void a_death_is_added_by_whoever_lives(void **state)
{
    struct stat st;

    ha_journal_role(&journal, "standby", "", "joined", "", 9);
    ha_journal_death(dir, "na", 9);
    expect(ROLE("standby", "joined") ROLE("offline", "died"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void without_a_file_nothing_is_written(void **state)
{
    struct ha_journal none;

    ha_journal_open(&none, "/nonexistent", "na");
    ha_journal_role(&none, "leader", "", "elected", "", 1);
    ha_journal_lease(&none, "t", 1, 2);
    ha_journal_fenced(&none, "t", "u", 1);
    ha_journal_vip(&none, "held", 1);
    assert_int_equal(none.fd, -1);
    expect("");
}

static void expect_left_alone(int (*plant)(const char *, const char *))
{
    struct ha_journal other;
    char target[64];

    snprintf(target, sizeof(target), "%s/other", dir);
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(plant(target, path), 0);
    ha_journal_open(&other, dir, "na");
    assert_int_equal(other.fd, -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rename(target, path), 0);
}

static int plant_pipe(const char *target, const char *name)
{
    (void)target;
    return mkfifo(name, 0600);
}

static void is_written_to_no_link_and_no_pipe(void **state)
{
    expect_left_alone(symlink);
    expect_left_alone(link);
    expect_left_alone(plant_pipe);
    expect("");
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(each_event_is_a_line),
        IN_DIRECTORY(a_lease_is_a_line_only_where_it_is_longer_or_new),
        IN_DIRECTORY(a_death_is_added_by_whoever_lives),
        IN_DIRECTORY(without_a_file_nothing_is_written),
        IN_DIRECTORY(is_written_to_no_link_and_no_pipe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
