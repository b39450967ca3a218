/* A mark of how long files were: what it tells, and above all when it says nothing. */
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

#include "node/warden/aof_sizes.h"

#define BASE     "appendonlydir/appendonly.aof.1.base.rdb"
#define INCR     "appendonlydir/appendonly.aof.1.incr.aof"
#define NEXT     "appendonlydir/appendonly.aof.2.incr.aof"
#define MANIFEST "appendonlydir/appendonly.aof.manifest"

static char path[] = "/tmp/dueq_aof_mark.XXXXXX";
static struct datadir dir;

static void set_size(const char *name, off_t size)
{
    int fd = openat(dir.dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, size), 0);
    close(fd);
}

static void remove_file(const char *name)
{
    unlinkat(dir.dir_fd, name, 0);
}

static int set_up(void **state)
{
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    assert_non_null(mkdtemp(path));
    dir = (struct datadir){.path = path, .dir_fd = open(path, O_RDONLY | O_DIRECTORY)};
    assert_true(dir.dir_fd >= 0);
    assert_int_equal(mkdirat(dir.dir_fd, "appendonlydir", 0700), 0);
    set_size(BASE, 100);
    set_size(INCR, 1000);
    set_size(MANIFEST, 88);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {BASE,
                                        INCR,
                                        NEXT,
                                        MANIFEST,
                                        AOF_MARK_FILE,
                                        AOF_ASIDE "/appendonly.aof.1.base.rdb",
                                        AOF_ASIDE "/appendonly.aof.1.incr.aof"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
        remove_file(names[i]);
    unlinkat(dir.dir_fd, "appendonlydir", AT_REMOVEDIR);
    unlinkat(dir.dir_fd, AOF_ASIDE, AT_REMOVEDIR);
    close(dir.dir_fd);
    return rmdir(path);
}

static void what_was_shortened_is_told(void **state)
{
    aof_sizes_write(&dir);
    assert_int_equal(aof_sizes_missing(&dir), 0);
    set_size(INCR, 300);
    assert_int_equal(aof_sizes_missing(&dir), 700);
    set_size(BASE, 40);
    assert_int_equal(aof_sizes_missing(&dir), 760);
    aof_sizes_write(&dir); /* from now on it is so */
    assert_int_equal(aof_sizes_missing(&dir), 0);
}

static void without_a_mark_nothing_is_missing(void **state)
{
    assert_int_equal(aof_sizes_missing(&dir), 0);
    aof_sizes_write(&dir);
    aof_sizes_remove(&dir);
    set_size(INCR, 300);
    assert_int_equal(aof_sizes_missing(&dir), 0);
    aof_sizes_remove(&dir);
}

static void a_directory_that_is_gone_is_told(void **state)
{
    set_size(BASE, 5000);
    aof_sizes_write(&dir);
    remove_file(MANIFEST);
    remove_file(INCR);
    remove_file(BASE);
    assert_int_equal(aof_sizes_missing(&dir), 0); /* files of other names may have come */
    unlinkat(dir.dir_fd, "appendonlydir", AT_REMOVEDIR);
    assert_int_equal(aof_sizes_missing(&dir), 6000);
}

/* A Redis that failed has made files of other names by then: the mark remembers. */
static void a_loss_is_told_until_it_is_forgotten(void **state)
{
    aof_sizes_write(&dir);
    set_size(INCR, 300);
    aof_sizes_keep_loss(&dir, aof_sizes_missing(&dir));
    remove_file(BASE);
    remove_file(INCR);
    set_size(NEXT, 0);
    assert_int_equal(aof_sizes_missing(&dir), 700);
    aof_sizes_keep_loss(&dir, aof_sizes_missing(&dir));
    assert_int_equal(aof_sizes_missing(&dir), 700);
    aof_sizes_remove(&dir);
    assert_int_equal(aof_sizes_missing(&dir), 0);
}

static void a_directory_without_data_may_go(void **state)
{
    set_size(INCR, 0);
    aof_sizes_write(&dir);
    remove_file(MANIFEST);
    remove_file(INCR);
    remove_file(BASE);
    unlinkat(dir.dir_fd, "appendonlydir", AT_REMOVEDIR);
    assert_int_equal(aof_sizes_missing(&dir), 0);
}

/* A Redis that was started by hand has written, or rewritten; the list of files is another. */
static void what_redis_does_by_itself_is_no_alarm(void **state)
{
    aof_sizes_write(&dir);
    set_size(INCR, 2000);
    set_size(MANIFEST, 60);
    set_size(NEXT, 0);
    assert_int_equal(aof_sizes_missing(&dir), 0);
    remove_file(INCR);
    remove_file(BASE);
    assert_int_equal(aof_sizes_missing(&dir), 0);
}

static void files_without_their_list_are_told(void **state)
{
    assert_int_equal(aof_unlisted(&dir), 0);
    remove_file(MANIFEST);
    assert_int_equal(aof_unlisted(&dir), 1000);
    set_size(BASE, 5000);
    assert_int_equal(aof_unlisted(&dir), 6000);
    aof_sizes_write(&dir); /* the mark has nothing to do with it */
    assert_int_equal(aof_unlisted(&dir), 6000);
    aof_sizes_remove(&dir);
}

/* The first start of a Redis writes its list behind the base, and before any command. */
static void a_first_start_that_was_cut_off_has_lost_nothing(void **state)
{
    remove_file(MANIFEST);
    set_size(INCR, 0);
    assert_int_equal(aof_unlisted(&dir), 0);
    remove_file(INCR);
    assert_int_equal(aof_unlisted(&dir), 0);
    remove_file(BASE);
    assert_int_equal(aof_unlisted(&dir), 0);
    unlinkat(dir.dir_fd, "appendonlydir", AT_REMOVEDIR);
    assert_int_equal(aof_unlisted(&dir), 0);
}

static void files_without_their_list_are_put_aside(void **state)
{
    remove_file(MANIFEST);
    assert_int_equal(aof_put_aside(&dir), STATUS_OK);
    assert_int_equal(aof_unlisted(&dir), 0);
    assert_int_equal(faccessat(dir.dir_fd, AOF_ASIDE "/appendonly.aof.1.incr.aof", F_OK, 0), 0);
    assert_int_equal(mkdirat(dir.dir_fd, "appendonlydir", 0700), 0);
    set_size(INCR, 10);
    assert_int_equal(aof_put_aside(&dir), STATUS_IO_ERROR); /* others are there */
    assert_int_equal(aof_unlisted(&dir), 10);
}

static void put_mark(const char *text)
{
    int fd = openat(dir.dir_fd, AOF_MARK_FILE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void a_mark_that_was_not_finished_counts_as_none(void **state)
{
    static const char *const texts[] = {
        "",
        "end\n",
        "5000 appendonly.aof.1.incr.aof\n",
        "5000 appendonly.aof.1.incr.aof\nen",
        "5000\nend\n",
        "x appendonly.aof.1.incr.aof\nend\n",
        "5000 ../appendonlydir/appendonly.aof.1.incr.aof\nend\n"};

    for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        put_mark(texts[i]);
        assert_int_equal(aof_sizes_missing(&dir), 0);
    }
    put_mark("5000 appendonly.aof.1.incr.aof\nend\n");
    assert_int_equal(aof_sizes_missing(&dir), 4000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_shortened_is_told),
        TEST(a_directory_that_is_gone_is_told),
        TEST(a_loss_is_told_until_it_is_forgotten),
        TEST(a_directory_without_data_may_go),
        TEST(without_a_mark_nothing_is_missing),
        TEST(what_redis_does_by_itself_is_no_alarm),
        TEST(files_without_their_list_are_told),
        TEST(a_first_start_that_was_cut_off_has_lost_nothing),
        TEST(files_without_their_list_are_put_aside),
        TEST(a_mark_that_was_not_finished_counts_as_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
