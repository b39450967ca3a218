/* A mark of how long files were: what it tells, and above all when it says nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/warden/aof_files.h"

#define BASE     "appendonlydir/appendonly.aof.1.base.rdb"
#define INCR     "appendonlydir/appendonly.aof.1.incr.aof"
#define NEXT     "appendonlydir/appendonly.aof.2.incr.aof"
#define OLD_BASE "appendonlydir/appendonly.aof"
#define NEW_BASE "appendonlydir/appendonly.aof.2.base.rdb"
#define COPY     "appendonlydir/copy-of-appendonly.aof.1.incr.aof"
#define MANIFEST "appendonlydir/appendonly.aof.manifest"

#define ASIDE "appendonlydir" AOF_ASIDE

#define BASE_LINE "file appendonly.aof.1.base.rdb seq 1 type b\n"
#define INCR_LINE "file appendonly.aof.1.incr.aof seq 1 type i\n"
#define NEXT_LINE "file appendonly.aof.2.incr.aof seq 2 type i\n"

static char path[] = "/tmp/dueq_aof_mark.XXXXXX";
static struct datadir dir;

static void set_size(const char *name, off_t size)
{
    int fd = openat(dir.dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, size), 0);
    close(fd);
}

static void put_file(const char *name, const char *text)
{
    int fd = openat(dir.dir_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
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
    put_file(MANIFEST, BASE_LINE INCR_LINE);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {BASE,
                                        INCR,
                                        NEXT,
                                        OLD_BASE,
                                        NEW_BASE,
                                        COPY,
                                        MANIFEST,
                                        AOF_MARK_FILE,
                                        ASIDE "/appendonly.aof.1.base.rdb",
                                        ASIDE "/appendonly.aof.1.incr.aof",
                                        "appendonlydir", /* a link */
                                        INCR AOF_ASIDE,
                                        NEXT AOF_ASIDE,
                                        NEW_BASE AOF_ASIDE,
                                        ASIDE};

    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
        remove_file(names[i]);
    unlinkat(dir.dir_fd, "appendonlydir", AT_REMOVEDIR);
    unlinkat(dir.dir_fd, ASIDE, AT_REMOVEDIR);
    close(dir.dir_fd);
    return rmdir(path);
}

static void what_was_shortened_is_told(void **state)
{
    aof_mark_write(&dir);
    assert_int_equal(aof_mark_missing(&dir), 0);
    set_size(INCR, 300);
    assert_int_equal(aof_mark_missing(&dir), 700);
    set_size(BASE, 40);
    assert_int_equal(aof_mark_missing(&dir), 760);
    aof_mark_write(&dir); /* from now on it is so */
    assert_int_equal(aof_mark_missing(&dir), 0);
}

static void without_a_mark_nothing_is_missing(void **state)
{
    assert_int_equal(aof_mark_missing(&dir), 0);
    aof_mark_write(&dir);
    aof_mark_remove(&dir);
    set_size(INCR, 300);
    assert_int_equal(aof_mark_missing(&dir), 0);
    aof_mark_remove(&dir);
}

static void a_directory_that_is_gone_is_told(void **state)
{
    set_size(BASE, 5000);
    aof_mark_write(&dir);
    remove_file(MANIFEST);
    remove_file(INCR);
    remove_file(BASE);
    set_size(NEXT, 0);
    assert_int_equal(aof_mark_missing(&dir), 0); /* files of other names have come */
    remove_file(NEXT);
    assert_int_equal(aof_mark_missing(&dir),
                     6000); /* it is empty: a disk is not mounted, say */
    unlinkat(dir.dir_fd, "appendonlydir", AT_REMOVEDIR);
    assert_int_equal(aof_mark_missing(&dir), 6000);
}

/* A Redis that failed has made files of other names by then: the mark remembers. */
static void a_loss_is_told_until_it_is_forgotten(void **state)
{
    aof_mark_write(&dir);
    set_size(INCR, 300);
    aof_mark_keep_loss(&dir, aof_mark_missing(&dir));
    remove_file(BASE);
    remove_file(INCR);
    set_size(NEXT, 0);
    assert_int_equal(aof_mark_missing(&dir), 700);
    aof_mark_keep_loss(&dir, aof_mark_missing(&dir));
    assert_int_equal(aof_mark_missing(&dir), 700);
    aof_mark_remove(&dir);
    assert_int_equal(aof_mark_missing(&dir), 0);
}

static void a_directory_without_data_may_go(void **state)
{
    set_size(INCR, 0);
    aof_mark_write(&dir);
    remove_file(MANIFEST);
    remove_file(INCR);
    remove_file(BASE);
    unlinkat(dir.dir_fd, "appendonlydir", AT_REMOVEDIR);
    assert_int_equal(aof_mark_missing(&dir), 0);
}

/* A Redis that was started by hand has written, or rewritten; the list of files is another. */
static void what_redis_does_by_itself_is_no_alarm(void **state)
{
    aof_mark_write(&dir);
    set_size(INCR, 2000);
    put_file(MANIFEST, NEXT_LINE);
    set_size(NEXT, 0);
    assert_int_equal(aof_mark_missing(&dir), 0);
    remove_file(INCR);
    remove_file(BASE);
    assert_int_equal(aof_mark_missing(&dir), 0);
}

static uint64_t unlisted(void)
{
    return aof_unlisted(&dir).bytes;
}

static enum status put_aside(void)
{
    struct aof_unlisted it = aof_unlisted(&dir);

    return aof_put_aside(&dir, &it);
}

static bool is_there(const char *name)
{
    return !faccessat(dir.dir_fd, name, F_OK, 0);
}

static void files_without_their_list_are_told(void **state)
{
    assert_int_equal(unlisted(), 0);
    remove_file(MANIFEST);
    assert_int_equal(unlisted(), 1000);
    set_size(BASE, 5000);
    assert_int_equal(unlisted(), 6000);
    assert_string_equal(aof_unlisted(&dir).name, "");
    aof_mark_write(&dir); /* the mark has nothing to do with it */
    assert_int_equal(unlisted(), 6000);
    aof_mark_remove(&dir);
}

/* Redis looks for a plain file where the link leads, and finds none. */
static void a_list_that_redis_does_not_find_is_missing(void **state)
{
    remove_file(MANIFEST);
    assert_int_equal(symlinkat("/nowhere", dir.dir_fd, MANIFEST), 0);
    assert_int_equal(unlisted(), 1000);
    assert_string_equal(aof_unlisted(&dir).name, "");
    remove_file(MANIFEST);
    assert_int_equal(mkdirat(dir.dir_fd, MANIFEST, 0700), 0);
    assert_int_equal(unlisted(), 1000);
    unlinkat(dir.dir_fd, MANIFEST, AT_REMOVEDIR);
    put_file(COPY, BASE_LINE INCR_LINE);
    assert_int_equal(symlinkat(strchr(COPY, '/') + 1, dir.dir_fd, MANIFEST), 0);
    assert_int_equal(unlisted(), 0);
}

static void files_that_their_list_lacks_are_told(void **state)
{
    static const struct {
        const char *list;
        uint64_t bytes; /* of a base of 5000, and two that grow, of 1000 and 300 */
        const char *name;
        bool is_tail;
    } cases[] = {
        {BASE_LINE INCR_LINE NEXT_LINE, 0, "", true},
        {BASE_LINE INCR_LINE, 300, "appendonly.aof.2.incr.aof", true},
        {BASE_LINE, 1300, "appendonly.aof.1.incr.aof", true},
        {BASE_LINE NEXT_LINE, 1000, "appendonly.aof.1.incr.aof", false},
        {INCR_LINE NEXT_LINE, 5000, "appendonly.aof.1.base.rdb", false},
        {NEXT_LINE, 6000, "appendonly.aof.1.base.rdb", false},
        {"# nothing\n", 6300, "appendonly.aof.1.base.rdb", false},
        {"# a copy\n type b FILE  appendonly.aof.1.base.rdb\tseq 1 more words\r\n" INCR_LINE
             NEXT_LINE,
         0, "", true},
    };

    set_size(BASE, 5000);
    set_size(NEXT, 300);
    set_size(COPY, 70); /* Redis writes to no such name */
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        put_file(MANIFEST, cases[i].list);
        assert_int_equal(unlisted(), cases[i].bytes);
        assert_string_equal(aof_unlisted(&dir).name, cases[i].name);
        assert_int_equal(aof_unlisted(&dir).is_tail, cases[i].is_tail);
    }
}

/* What kill -9 leaves, one line for each step of a rewrite that Redis 7 makes. */
static void a_rewrite_that_was_cut_off_has_lost_nothing(void **state)
{
    static const char *const lists[] = {
        BASE_LINE INCR_LINE,           /* the next file that grows is made, empty */
        BASE_LINE INCR_LINE NEXT_LINE, /* it has data; the new base comes into its place */
        "file appendonly.aof.2.base.rdb seq 2 type b\n"
        "file appendonly.aof.1.base.rdb seq 1 type h\n"
        "file appendonly.aof.1.incr.aof seq 1 type h\n" NEXT_LINE, /* those are removed */
    };

    set_size(BASE, 5000);
    set_size(NEXT, 0);
    for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        put_file(MANIFEST, lists[i]);
        assert_int_equal(unlisted(), 0);
        set_size(NEXT, 300);
        set_size(NEW_BASE, 4000);
        if (i)
            assert_int_equal(unlisted(), 0);
        else
            set_size(NEXT, 0);
    }
}

/* The one file of a Redis before 7 becomes the base. */
static void a_base_of_an_older_redis_is_one(void **state)
{
    remove_file(BASE);
    set_size(OLD_BASE, 5000);
    put_file(MANIFEST, "file appendonly.aof seq 1 type b\n" INCR_LINE);
    assert_int_equal(unlisted(), 0);
    put_file(MANIFEST, INCR_LINE);
    assert_int_equal(unlisted(), 5000);
    assert_string_equal(aof_unlisted(&dir).name, "appendonly.aof");
}

/* It does not start, and touches nothing. */
static void a_list_that_redis_refuses_is_left_to_it(void **state)
{
    static const char *const lists[] = {
        "",
        "\n",
        BASE_LINE "\n",
        "file appendonly.aof.1.base.rdb seq 1 type b",
        BASE_LINE "file appendonly.aof.1.incr.aof seq 1 ty",
        BASE_LINE "zzz",
        BASE_LINE BASE_LINE,
        BASE_LINE NEXT_LINE INCR_LINE,
        "file appendonly.aof.1.base.rdb seq 1\n",
        "file appendonly.aof.1.base.rdb seq 1 type x\n",
        "file appendonly.aof.1.base.rdb seq 0 type b\n",
        "file appendonly.aof.1.base.rdb seq 1 type b more\n",
        "file ../appendonly.aof.1.base.rdb seq 1 type b\n",
    };

    for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        put_file(MANIFEST, lists[i]);
        assert_int_equal(unlisted(), 0);
    }
}

/* The first start of a Redis writes its list behind the base, and before any command. */
static void a_first_start_that_was_cut_off_has_lost_nothing(void **state)
{
    remove_file(MANIFEST);
    set_size(INCR, 0);
    assert_int_equal(unlisted(), 0);
    remove_file(INCR);
    assert_int_equal(unlisted(), 0);
    remove_file(BASE);
    assert_int_equal(unlisted(), 0);
    unlinkat(dir.dir_fd, "appendonlydir", AT_REMOVEDIR);
    assert_int_equal(unlisted(), 0);
}

#define NEW_BASE_LINE "file appendonly.aof.2.base.rdb seq 2 type b\n"

/* Redis would take the base's name for its next one. */
static void a_list_of_an_older_backup_has_a_base_in_its_tail(void **state)
{
    set_size(BASE, 5000);
    set_size(NEW_BASE, 7000);
    set_size(NEXT, 300);
    assert_int_equal(unlisted(), 7300);
    assert_string_equal(aof_unlisted(&dir).name, "appendonly.aof.2.base.rdb");
    assert_int_equal(aof_unlisted(&dir).aside_bytes, 7300);
    assert_int_equal(put_aside(), STATUS_OK);
    assert_true(is_there(BASE) && is_there(INCR));
    assert_true(is_there(NEW_BASE AOF_ASIDE) && is_there(NEXT AOF_ASIDE));
    assert_int_equal(unlisted(), 0);
}

/* A second backup came back; the base of the first one is aside already. */
static void a_base_is_not_left_alone_where_it_cannot_be_put_aside(void **state)
{
    set_size(BASE, 5000);
    set_size(NEW_BASE, 7000);
    set_size(NEXT, 300);
    set_size(NEW_BASE AOF_ASIDE, 1);
    for (unsigned starts = 0; starts < 2; starts++) {
        assert_int_equal(put_aside(), STATUS_IO_ERROR);
        assert_int_equal(unlisted(), 7300);
    }
}

/* What grows beside it is empty: nothing was pushed. */
static void a_base_that_no_rewrite_has_left_is_lacking(void **state)
{
    set_size(BASE, 5000);
    set_size(NEW_BASE, 7000);
    set_size(NEXT, 0);
    assert_int_equal(unlisted(), 7000);
    put_file(MANIFEST, BASE_LINE INCR_LINE NEXT_LINE);
    assert_int_equal(unlisted(), 0); /* a rewrite was cut off */
}

static void what_the_base_has_is_not_lacking(void **state)
{
    set_size(NEW_BASE, 7000);
    set_size(NEXT, 300);
    put_file(MANIFEST, NEW_BASE_LINE NEXT_LINE);
    assert_int_equal(unlisted(), 0); /* incr.1 is from before it */
    put_file(MANIFEST, NEW_BASE_LINE);
    assert_int_equal(unlisted(), 1300); /* Redis would append to incr.1 */
    put_file(MANIFEST, "file appendonly.aof.2.base.rdb seq 7 type b\n" INCR_LINE);
    assert_int_equal(unlisted(), 300); /* Redis has begun again with 1 */
    put_file(MANIFEST, BASE_LINE NEXT_LINE);
    assert_int_equal(unlisted(), 8000); /* incr.1 is from behind it, and so is base.2 */
    assert_false(aof_unlisted(&dir).is_tail);
    assert_int_equal(aof_unlisted(&dir).aside_bytes, 8300); /* all but the empty base */
}

/* A rewrite that failed has left a file that grows more. */
static void what_the_list_has_removed_is_in_the_base(void **state)
{
    static const char last[] = "appendonlydir/appendonly.aof.3.incr.aof";

    set_size(NEW_BASE, 7000);
    set_size(NEXT, 300);
    set_size(last, 10);
    put_file(MANIFEST, NEW_BASE_LINE "file appendonly.aof.1.base.rdb seq 1 type h\n"
                                     "file appendonly.aof.1.incr.aof seq 1 type h\n"
                                     "file appendonly.aof.2.incr.aof seq 2 type h\n"
                                     "file appendonly.aof.3.incr.aof seq 3 type i\n");
    assert_int_equal(unlisted(), 0);
    put_file(MANIFEST, NEW_BASE_LINE "file appendonly.aof.2.incr.aof seq 2 type h\n");
    assert_int_equal(unlisted(), 1310); /* nobody goes on behind it: Redis begins with 1 */
    put_file(MANIFEST, "file appendonly.aof.2.base.rdb seq 2 type h\n" NEXT_LINE
                       "file appendonly.aof.3.incr.aof seq 3 type i\n");
    assert_int_equal(unlisted(), 8000); /* there is no base, though there is one */
    remove_file(last);
}

/* Redis reads them, though it writes none. */
static void names_in_quotes_are_names(void **state)
{
    set_size(BASE, 5000);
    put_file(MANIFEST, "file \"appendonly.aof.1.base.rdb\" seq 1 type b\n");
    assert_int_equal(unlisted(), 1000);
    put_file(MANIFEST, "file 'appendonly.aof.1.base.rdb' seq '1' type b\n" INCR_LINE);
    assert_int_equal(unlisted(), 0);
    put_file(MANIFEST, "file \"appendonly.aof.1.base.rdb seq 1 type b\n");
    assert_int_equal(unlisted(), 0); /* Redis refuses that */
}

static void files_without_their_list_are_put_aside(void **state)
{
    remove_file(MANIFEST);
    assert_int_equal(put_aside(), STATUS_OK);
    assert_int_equal(unlisted(), 0);
    assert_true(is_there(ASIDE "/appendonly.aof.1.incr.aof"));
    assert_int_equal(mkdirat(dir.dir_fd, "appendonlydir", 0700), 0);
    set_size(INCR, 10);
    assert_int_equal(put_aside(), STATUS_IO_ERROR); /* others are there */
    assert_int_equal(unlisted(), 10);
}

/* What is listed is a store as it was, which is more than none. */
static void a_tail_is_put_aside_alone(void **state)
{
    set_size(BASE, 5000);
    set_size(NEXT, 300);
    put_file(MANIFEST, BASE_LINE);
    assert_int_equal(put_aside(), STATUS_OK);
    assert_int_equal(unlisted(), 0);
    assert_true(is_there(BASE));
    assert_true(is_there(INCR AOF_ASIDE) && !is_there(INCR));
    assert_true(is_there(NEXT AOF_ASIDE) && !is_there(NEXT));
    set_size(NEXT, 40);
    assert_int_equal(put_aside(), STATUS_IO_ERROR); /* another is there */
    assert_int_equal(unlisted(), 40);
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
        put_file(AOF_MARK_FILE, texts[i]);
        assert_int_equal(aof_mark_missing(&dir), 0);
    }
    put_file(AOF_MARK_FILE, "5000 appendonly.aof.1.incr.aof\nend\n");
    assert_int_equal(aof_mark_missing(&dir), 4000);
}

static void what_redis_may_not_touch_is_named(void **state)
{
    char name[AOF_NAME_MAX + 1];

    assert_false(aof_is_denied(&dir, name));
    assert_int_equal(fchmodat(dir.dir_fd, INCR, 0400, 0), 0);
    assert_true(aof_is_denied(&dir, name));
    assert_string_equal(name, INCR);
    assert_int_equal(fchmodat(dir.dir_fd, "appendonlydir", 0500, 0), 0);
    assert_true(aof_is_denied(&dir, name));
    assert_string_equal(name, "appendonlydir");
    assert_int_equal(fchmodat(dir.dir_fd, "appendonlydir", 0700, 0), 0);
}

/* Of other users' files that is for the kernel to say. */
static void what_is_another_users_is_asked_of_the_kernel(void **state)
{
    char name[AOF_NAME_MAX + 1];
    bool is_denied[3];

    if (geteuid() != 0)
        skip();
    assert_int_equal(fchmodat(dir.dir_fd, ".", 0755, 0), 0);
    assert_int_equal(fchmodat(dir.dir_fd, BASE, 0666, 0), 0);
    assert_int_equal(fchmodat(dir.dir_fd, MANIFEST, 0666, 0), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(fchmodat(dir.dir_fd, "appendonlydir", i < 1 ? 0755 : 0777, 0), 0);
        assert_int_equal(fchmodat(dir.dir_fd, INCR, i < 2 ? 0644 : 0666, 0), 0);
        assert_int_equal(seteuid(65534), 0);
        is_denied[i] = aof_is_denied(&dir, name);
        assert_int_equal(seteuid(0), 0);
        if (is_denied[i])
            assert_string_equal(name, i < 1 ? "appendonlydir" : INCR);
    }
    assert_true(is_denied[0] && is_denied[1] && !is_denied[2]);
}

/* On another disk, say. */
static void make_link(void)
{
    assert_int_equal(renameat(dir.dir_fd, "appendonlydir", dir.dir_fd, "disk"), 0);
    assert_int_equal(symlinkat("disk", dir.dir_fd, "appendonlydir"), 0);
}

static void unmake_link(void)
{
    remove_file("appendonlydir");
    assert_int_equal(renameat(dir.dir_fd, "disk", dir.dir_fd, "appendonlydir"), 0);
}

static void a_directory_that_is_a_link_is_looked_into(void **state)
{
    make_link();
    aof_mark_write(&dir);
    set_size(INCR, 300);
    assert_int_equal(aof_mark_missing(&dir), 700);
    assert_int_equal(unlisted(), 0);
    remove_file(MANIFEST);
    assert_int_equal(unlisted(), 300);
    unmake_link();
}

static void a_disk_that_is_not_mounted_is_told(void **state)
{
    make_link();
    aof_mark_write(&dir);
    assert_int_equal(renameat(dir.dir_fd, "disk", dir.dir_fd, "unmounted"), 0);
    assert_int_equal(aof_mark_missing(&dir), 0); /* Redis does not start without it */
    assert_int_equal(mkdirat(dir.dir_fd, "disk", 0700), 0);
    assert_int_equal(aof_mark_missing(&dir), 1000);
    unlinkat(dir.dir_fd, "disk", AT_REMOVEDIR);
    assert_int_equal(renameat(dir.dir_fd, "unmounted", dir.dir_fd, "disk"), 0);
    unmake_link();
}

static void a_link_is_put_aside_and_what_it_leads_to_stays(void **state)
{
    make_link();
    remove_file(MANIFEST);
    assert_int_equal(put_aside(), STATUS_OK);
    assert_int_equal(unlisted(), 0);
    assert_true(is_there(ASIDE "/appendonly.aof.1.incr.aof"));
    assert_int_equal(symlinkat("disk", dir.dir_fd, "appendonlydir"), 0);
    assert_int_equal(put_aside(), STATUS_IO_ERROR); /* another is there */
    assert_int_equal(unlisted(), 1000);
    unmake_link();
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
        TEST(a_list_that_redis_does_not_find_is_missing),
        TEST(files_that_their_list_lacks_are_told),
        TEST(a_rewrite_that_was_cut_off_has_lost_nothing),
        TEST(a_base_of_an_older_redis_is_one),
        TEST(a_list_that_redis_refuses_is_left_to_it),
        TEST(a_first_start_that_was_cut_off_has_lost_nothing),
        TEST(a_list_of_an_older_backup_has_a_base_in_its_tail),
        TEST(a_base_is_not_left_alone_where_it_cannot_be_put_aside),
        TEST(a_base_that_no_rewrite_has_left_is_lacking),
        TEST(what_the_base_has_is_not_lacking),
        TEST(what_the_list_has_removed_is_in_the_base),
        TEST(names_in_quotes_are_names),
        TEST(files_without_their_list_are_put_aside),
        TEST(a_tail_is_put_aside_alone),
        TEST(what_redis_may_not_touch_is_named),
        TEST(what_is_another_users_is_asked_of_the_kernel),
        TEST(a_directory_that_is_a_link_is_looked_into),
        TEST(a_disk_that_is_not_mounted_is_told),
        TEST(a_link_is_put_aside_and_what_it_leads_to_stays),
        TEST(a_mark_that_was_not_finished_counts_as_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
