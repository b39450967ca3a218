/* The lines of the audit log, and its file. */
#include "base/tests/unit.h"
#include "protocol/access/audit.h"
#include "protocol/access/role.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], file[96], old[96], text[4096];
static struct audit *audit;

static int begin(void **state)
{
    strcpy(folder, "/tmp/dueq-audit-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/log", folder);
    snprintf(old, sizeof(old), "%s/log.1", folder);
    audit = audit_new();
    return 0;
}

static int end(void **state)
{
    audit_free(audit);
    unlink(file);
    unlink(old);
    return rmdir(folder);
}

static void use_file(void)
{
    assert_int_equal(audit_use(audit, file), STATUS_OK);
}

static const char *read_all(const char *path)
{
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, text, sizeof(text) - 1);

    assert_in_range(n, 0, sizeof(text) - 1);
    text[n] = '\0';
    close(fd);
    return text;
}

static unsigned lines_in(const char *path)
{
    unsigned count = 0;

    for (const char *at = strchr(read_all(path), '\n'); at; at = strchr(at + 1, '\n'))
        count++;
    return count;
}

static void assert_has(const char *part)
{
    if (!strstr(text, part))
        fail_msg("no %s in %s", part, text);
}

static const struct audit_entry purge = {.from = BYTES("http 10.0.0.7:40712"),
                                         .operation = BYTES("purge"),
                                         .role = BYTES("operate"),
                                         .topic = BYTES("orders"),
                                         .request = BYTES("a1-7"),
                                         .status = 200,
                                         .count = 3};

static void a_line_says_who_did_what_with_which_result(void **state)
{
    struct audit_entry refused = purge;

    refused.who = BYTES("deploy");
    refused.id = BYTES("j1");
    refused.body = BYTES("{}");
    refused.status = 403;
    refused.error = BYTES("forbidden");
    refused.count = -1;
    use_file();
    assert_true(audit_write(audit, &purge));
    assert_true(audit_write(audit, &refused));
    assert_int_equal(lines_in(file), 2);
    assert_memory_equal(text, "{\"time\":\"20", 11);
    assert_has("Z\",\"who\":null,\"from\":\"http 10.0.0.7:40712\",\"operation\":\"purge\","
               "\"role\":\"operate\",\"topic\":\"orders\",\"id\":null,\"body\":null,"
               "\"request\":\"a1-7\",\"status\":200,\"error\":null,\"count\":3}\n{\"time\":\"");
    assert_has("\"who\":\"deploy\"");
    assert_has("\"id\":\"j1\",\"body\":\"{}\",\"request\":\"a1-7\",\"status\":403,"
               "\"error\":\"forbidden\",\"count\":null}\n");
}

static void what_clients_write_stays_within_its_line(void **state)
{
    struct audit_entry odd = purge;

    odd.topic = BYTES("a\"}\n\xFF");
    use_file();
    assert_true(audit_write(audit, &odd));
    assert_int_equal(lines_in(file), 1);
    assert_has("\"topic\":\"a\\\"}\\n\xEF\xBF\xBD\",");
}

static void a_rotated_file_is_opened_anew(void **state)
{
    use_file();
    assert_true(audit_write(audit, &purge));
    assert_int_equal(rename(file, old), 0);
    use_file();
    assert_true(audit_write(audit, &purge));
    assert_true(audit_write(audit, &purge));
    assert_int_equal(lines_in(old), 1);
    assert_int_equal(lines_in(file), 2);
}

static void others_do_not_read_it(void **state)
{
    struct stat about;

    use_file();
    assert_int_equal(stat(file, &about), 0);
    assert_int_equal(about.st_mode & 07, 0);
}

static void a_file_that_cannot_be_opened_leaves_the_old_one(void **state)
{
    use_file();
    assert_int_equal(audit_use(audit, folder), STATUS_IO_ERROR);
    assert_true(audit_write(audit, &purge));
    assert_int_equal(lines_in(file), 1);
}

static void where_no_file_could_be_opened_lines_are_lost(void **state)
{
    assert_int_equal(audit_use(audit, folder), STATUS_IO_ERROR);
    assert_false(audit_write(audit, &purge));
    use_file();
    assert_true(audit_write(audit, &purge));
    assert_int_equal(lines_in(file), 1);
}

static void without_a_file_nothing_is_written_and_nothing_lost(void **state)
{
    assert_true(audit_write(audit, &purge));
    use_file();
    assert_int_equal(audit_use(audit, ""), STATUS_OK);
    assert_true(audit_write(audit, &purge));
    assert_int_equal(lines_in(file), 0);
}

static void a_line_that_finds_no_room_is_lost(void **state)
{
    assert_int_equal(audit_use(audit, "/dev/full"), STATUS_OK);
    assert_false(audit_write(audit, &purge));
}

/* The rest of a line that found no room, or of a writer that was killed. */
static void a_line_behind_one_that_was_cut_short_stands_by_itself(void **state)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, "{\"ti", 4), 4);
    use_file();
    assert_true(audit_write(audit, &purge));
    assert_int_equal(lines_in(file), 2);
    assert_memory_equal(text, "{\"ti\n{\"time\"", 12);
    assert_true(audit_write(audit, &purge));
    assert_int_equal(lines_in(file), 3);
    assert_int_equal(pwrite(fd, "{", 1, (off_t)strlen(text)), 1); /* while it is open */
    assert_true(audit_write(audit, &purge));
    assert_int_equal(lines_in(file), 5);
    close(fd);
}

static void no_line_is_longer_than_a_pipe_takes_as_a_whole(void **state)
{
    char large[1500];
    struct audit_entry entry = purge;

    memset(large, '\1', sizeof(large));
    entry.body = bytes_of(large, sizeof(large));
    use_file();
    assert_true(audit_write(audit, &entry));
    assert_int_equal(lines_in(file), 1);
    assert_in_range(strlen(text), PIPE_BUF / 2, PIPE_BUF);
    assert_has("\"status\":200,\"error\":null,\"count\":3}\n");
}

static int make_pipe_with_reader(void)
{
    int reader;

    assert_int_equal(mkfifo(file, 0600), 0);
    reader = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    return reader;
}

static void a_pipe_is_not_opened_anew_so_its_reader_may_come_and_go(void **state)
{
    int reader = make_pipe_with_reader();

    use_file();
    close(reader);
    use_file();
    assert_false(audit_write(audit, &purge));
    reader = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    use_file();
    assert_int_equal(read(reader, text, sizeof(text)), -1); /* 0: an end */
    assert_true(audit_write(audit, &purge));
    assert_in_range(read(reader, text, sizeof(text)), 100, sizeof(text));
    close(reader);
}

static void a_pipe_that_is_full_loses_the_line(void **state)
{
    int reader = make_pipe_with_reader();

    use_file();
    for (unsigned i = 0; audit_write(audit, &purge); i++)
        assert_in_range(i, 0, 100000);
    close(reader);
}

/* It is looked for once a second. */
static void await_a_line(void)
{
    while (!audit_write(audit, &purge))
        usleep(10000); /* of the second */
    assert_true(audit_is_open(audit));
}

static void one_that_could_not_be_opened_is_tried_again(void **state)
{
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(audit_use(audit, file), STATUS_IO_ERROR);
    assert_false(audit_write(audit, &purge));
    assert_false(audit_is_open(audit));
    assert_int_equal(mkdir(folder, 0700), 0);
    await_a_line();
    assert_int_equal(lines_in(file), 1);
}

static void a_pipe_without_a_reader_is_tried_again(void **state)
{
    int reader = make_pipe_with_reader();

    close(reader);
    assert_int_equal(audit_use(audit, file), STATUS_IO_ERROR);
    assert_false(audit_write(audit, &purge));
    reader = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    await_a_line();
    close(reader);
}

static void a_role_has_a_word(void **state)
{
    assert_string_equal(access_role_word(ACCESS_OPERATE), "operate");
    assert_string_equal(access_role_word(ACCESS_CONSUME | ACCESS_ADMIN), "consume");
    assert_string_equal(access_role_word(0), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_says_who_did_what_with_which_result),
        TEST(what_clients_write_stays_within_its_line),
        TEST(a_rotated_file_is_opened_anew),
        TEST(others_do_not_read_it),
        TEST(a_file_that_cannot_be_opened_leaves_the_old_one),
        TEST(where_no_file_could_be_opened_lines_are_lost),
        TEST(without_a_file_nothing_is_written_and_nothing_lost),
        TEST(a_line_that_finds_no_room_is_lost),
        TEST(a_line_behind_one_that_was_cut_short_stands_by_itself),
        TEST(no_line_is_longer_than_a_pipe_takes_as_a_whole),
        TEST(a_pipe_is_not_opened_anew_so_its_reader_may_come_and_go),
        TEST(a_pipe_that_is_full_loses_the_line),
        TEST(one_that_could_not_be_opened_is_tried_again),
        TEST(a_pipe_without_a_reader_is_tried_again),
        cmocka_unit_test(a_role_has_a_word),
    };

    signal(SIGPIPE, SIG_IGN); /* as in a node */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
