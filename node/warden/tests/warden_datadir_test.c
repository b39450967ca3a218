#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "node/tests/root_fixture.h"
#include "node/warden/datadir.h"

/* A directory for the test, and in it: `data`, what is tested, and `log`, what was said. */
struct place {
    char root[64];
    char data[96];
    char log[96];
};

static int make_place(void **state)
{
    struct place *p = calloc(1, sizeof(*p));
    struct log_options options = {.level = LEVEL_INFO, .file = p->log};

    strcpy(p->root, "/tmp/dueq-datadir-XXXXXX");
    assert_non_null(mkdtemp(p->root));
    snprintf(p->data, sizeof(p->data), "%s/data", p->root);
    snprintf(p->log, sizeof(p->log), "%s/log", p->root);
    *state = p;
    return log_configure(&options) == STATUS_OK ? 0 : -1;
}

static int remove_place(void **state)
{
    struct place *p = *state;
    struct log_options options = {.level = LEVEL_INFO};
    char lock[128];
    int failed = log_configure(&options) != STATUS_OK;

    snprintf(lock, sizeof(lock), "%s/lock", p->data);
    unlink(lock);
    if (rmdir(p->data))
        unlink(p->data);
    unlink(p->log);
    failed |= rmdir(p->root);
    free(p);
    return failed;
}

static void assert_said(const struct place *p, const char *text)
{
    char said[4096];
    FILE *log = fopen(p->log, "r");
    size_t len;

    assert_non_null(log);
    len = fread(said, 1, sizeof(said) - 1, log);
    said[len] = '\0';
    fclose(log);
    assert_non_null(strstr(said, text));
}

static void makes_a_directory_for_its_owner_only(void **state)
{
    struct place *p = *state;
    struct datadir d;
    struct stat st;

    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_OK);
    assert_int_equal(stat(p->data, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    datadir_close(&d);
}

static void takes_a_directory_that_is_there(void **state)
{
    struct place *p = *state;
    struct datadir d;

    assert_int_equal(mkdir(p->data, 0750), 0);
    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_OK);
    datadir_close(&d);
    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_OK);
    datadir_close(&d);
}

static void refuses_a_second_owner_and_names_the_first(void **state)
{
    struct place *p = *state;
    struct datadir first, second;
    char named[32];

    assert_int_equal(datadir_open(&first, p->data, 0), STATUS_OK);
    assert_int_equal(datadir_open(&second, p->data, 0), STATUS_IO_ERROR);
    snprintf(named, sizeof(named), "pid %d", (int)getpid());
    assert_said(p, named);
    assert_said(p, "node.data_dir");
    datadir_close(&first);
}

static void is_free_only_when_the_last_heir_of_the_lock_is_gone(void **state)
{
    struct place *p = *state;
    struct datadir d, next;
    pid_t heir;

    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_OK);
    heir = fork();
    if (heir == 0) {
        for (;;)
            pause();
    }
    datadir_close(&d);
    assert_int_equal(datadir_open(&next, p->data, 0), STATUS_IO_ERROR);
    kill(heir, SIGKILL);
    waitpid(heir, NULL, 0);
    assert_int_equal(datadir_open(&next, p->data, 0), STATUS_OK);
    datadir_close(&next);
}

static void waits_for_what_a_dead_warden_left_running(void **state)
{
    struct place *p = *state;
    struct datadir d, next;
    int go[2];
    char byte = 0;
    pid_t heir;

    assert_int_equal(pipe(go), 0);
    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_OK);
    heir = fork();
    if (heir == 0) {
        close(go[1]);
        while (read(go[0], &byte, 1) > 0)
            ;
        _exit(0);
    }
    datadir_close(&d);
    close(go[0]);
    close(go[1]); /* from here on the heir is about to go */
    assert_int_equal(datadir_open(&next, p->data, 60000), STATUS_OK);
    datadir_close(&next);
    waitpid(heir, NULL, 0);
}

static void refuses_a_file(void **state)
{
    struct place *p = *state;
    struct datadir d;

    close(open(p->data, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_IO_ERROR);
    assert_said(p, "must be a directory");
}

static void refuses_a_directory_in_a_missing_one(void **state)
{
    struct place *p = *state;
    struct datadir d;

    strcat(p->data, "/deeper");
    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_IO_ERROR);
    assert_said(p, "the directory above it must exist");
}

/* ---- what others could have planted ---- */

#define ANOTHER 65534

static void at(const struct place *p, const char *name, char path[160])
{
    snprintf(path, 160, "%s/%s", p->data, name);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void assert_precious(const char *path)
{
    char text[32] = "";
    FILE *file = fopen(path, "re");

    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file));
    fclose(file);
    assert_string_equal(text, "precious");
}

/* A file of the test's, and its name in the directory that another one has given it. */
static void expect_left_alone(const struct place *p, int (*plant)(const char *, const char *))
{
    char precious[128], lock[160], conf[160];
    struct datadir d;
    int fd;

    assert_int_equal(mkdir(p->data, 0700), 0);
    snprintf(precious, sizeof(precious), "%s/precious", p->root);
    at(p, "lock", lock);
    at(p, "redis.conf", conf);
    write_file(precious, "precious");

    assert_int_equal(plant(precious, lock), 0);
    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_IO_ERROR);
    assert_said(p, "/lock is a link, or no plain file");
    unlink(lock);

    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_OK);
    assert_int_equal(plant(precious, conf), 0);
    fd = datadir_open_file(&d, "redis.conf");
    assert_int_equal(fd, -1);
    assert_said(p, "/redis.conf is a link, or no plain file");
    datadir_close(&d);
    assert_precious(precious);
    unlink(conf);
    unlink(precious);
}

static void follows_no_link(void **state)
{
    expect_left_alone(*state, symlink);
}

static void does_not_write_to_a_file_that_has_another_name(void **state)
{
    expect_left_alone(*state, link);
}

static int plant_pipe(const char *target, const char *name)
{
    (void)target;
    return mkfifo(name, 0600);
}

static void does_not_wait_at_a_pipe(void **state)
{
    expect_left_alone(*state, plant_pipe);
}

static void expect_unsafe(const struct place *p, const char *what)
{
    struct datadir d;

    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_IO_ERROR);
    assert_said(p, what);
}

static void root_takes_no_directory_that_others_may_write_to(void **state)
{
    struct place *p = *state;
    static const mode_t modes[] = {0770, 0702, 01777};

    need_root();
    assert_int_equal(mkdir(p->data, 0700), 0);
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        assert_int_equal(chmod(p->data, modes[i]), 0);
        expect_unsafe(p, "can be written to by others");
    }
}

static void root_takes_no_directory_of_another_user(void **state)
{
    struct place *p = *state;

    need_root();
    assert_int_equal(mkdir(p->data, 0700), 0);
    assert_int_equal(chown(p->data, ANOTHER, ANOTHER), 0);
    expect_unsafe(p, "data is another user's (its owner is user 65534, its mode 0700)");
}

static void root_takes_nothing_that_another_user_left_in_it(void **state)
{
    struct place *p = *state;
    char planted[160];

    need_root();
    assert_int_equal(mkdir(p->data, 0700), 0);
    at(p, "dump.rdb", planted);
    assert_int_equal(symlink("/nowhere", planted), 0);
    assert_int_equal(lchown(planted, ANOTHER, ANOTHER), 0);
    expect_unsafe(p, "dump.rdb is another user's");
    unlink(planted);

    at(p, "appendonlydir", planted);
    assert_int_equal(mkdir(planted, 0700), 0);
    strcat(planted, "/appendonly.aof.manifest");
    write_file(planted, "");
    assert_int_equal(chown(planted, ANOTHER, ANOTHER), 0);
    expect_unsafe(p, "data/appendonlydir/appendonly.aof.manifest is another user's");
    unlink(planted);
    at(p, "appendonlydir", planted);
    rmdir(planted);
}

/* Redis's files may be on another disk. */
static void root_looks_where_its_own_link_to_redis_files_leads(void **state)
{
    struct place *p = *state;
    char disk[96], between[96], link[160];
    struct datadir d;

    need_root();
    snprintf(disk, sizeof(disk), "%s/disk", p->root);
    assert_int_equal(mkdir(disk, 0700), 0);
    assert_int_equal(mkdir(p->data, 0700), 0);
    at(p, "appendonlydir", link);
    assert_int_equal(symlink(disk, link), 0);
    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_OK);
    datadir_close(&d);
    assert_int_equal(chown(disk, ANOTHER, ANOTHER), 0);
    expect_unsafe(p, "data/appendonlydir is reached through ");
    assert_int_equal(chown(disk, 0, 0), 0);
    assert_int_equal(chmod(disk, 01777), 0);
    expect_unsafe(p, "data/appendonlydir/. can be written to by others");
    assert_int_equal(chmod(disk, 0700), 0);
    unlink(link);

    /* By a link of another user's, who may turn it. */
    snprintf(between, sizeof(between), "%s/between", p->root);
    assert_int_equal(symlink(disk, between), 0);
    assert_int_equal(symlink("../between", link), 0);
    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_OK);
    datadir_close(&d);
    assert_int_equal(lchown(between, ANOTHER, ANOTHER), 0);
    expect_unsafe(p, "data/appendonlydir is reached through ");
    unlink(link);
    unlink(between);
    assert_int_equal(rmdir(disk), 0);
}

static void root_follows_its_own_links_to_the_directory_and_no_others(void **state)
{
    struct place *p = *state;
    char target[96];
    struct datadir d;

    need_root();
    snprintf(target, sizeof(target), "%s/target", p->root);
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(symlink(target, p->data), 0);
    assert_int_equal(datadir_open(&d, p->data, 0), STATUS_OK);
    datadir_close(&d);
    assert_int_equal(lchown(p->data, ANOTHER, ANOTHER), 0);
    expect_unsafe(p, "/data, which others can change (its owner is user 65534");
    strcat(target, "/lock");
    unlink(target);
    *strrchr(target, '/') = '\0';
    assert_int_equal(rmdir(target), 0);
}

/* Its owner could put another directory in the place of root's, before the node opens it or
 * later. */
static void root_takes_no_directory_in_another_users(void **state)
{
    struct place *p = *state;
    char users[96], data[160];
    struct datadir d;

    need_root();
    snprintf(users, sizeof(users), "%s/users", p->root);
    snprintf(data, sizeof(data), "%s/users/data", p->root);
    assert_int_equal(mkdir(users, 0755), 0);
    assert_int_equal(chown(users, ANOTHER, ANOTHER), 0);
    assert_int_equal(datadir_open(&d, data, 0), STATUS_IO_ERROR);
    assert_said(p, "data is reached through ");
    assert_said(p, "/users, which others can change (its owner is user 65534, its mode 0755)");
    assert_int_equal(rmdir(users), 0); /* nothing was made in it */
    assert_int_equal(mkdir(users, 0777), 0);
    assert_int_equal(chmod(users, 0777), 0);
    assert_int_equal(datadir_open(&d, data, 0), STATUS_IO_ERROR);
    assert_said(p, "such as one in /var/lib");
    assert_int_equal(chmod(users, 01777), 0);
    assert_int_equal(datadir_open(&d, data, 0), STATUS_OK);
    datadir_close(&d);
    strcat(data, "/lock");
    unlink(data);
    *strrchr(data, '/') = '\0';
    assert_int_equal(rmdir(data), 0);
    assert_int_equal(rmdir(users), 0);
}

static void a_way_that_leads_nowhere_is_told_by_who_opens_it(void **state)
{
    struct place *p = *state;
    char file[96], data[160];
    struct datadir d;

    need_root();
    snprintf(file, sizeof(file), "%s/file", p->root);
    snprintf(data, sizeof(data), "%s/file/data", p->root);
    write_file(file, "");
    assert_int_equal(datadir_open(&d, data, 0), STATUS_IO_ERROR);
    assert_said(p, "it must be a directory");
    unlink(file);
    assert_int_equal(symlink(file, file), 0);
    assert_int_equal(datadir_open(&d, file, 0), STATUS_IO_ERROR);
    assert_said(p, "/file, which leads too far");
    unlink(file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(makes_a_directory_for_its_owner_only),
        TEST(takes_a_directory_that_is_there),
        TEST(refuses_a_second_owner_and_names_the_first),
        TEST(is_free_only_when_the_last_heir_of_the_lock_is_gone),
        TEST(waits_for_what_a_dead_warden_left_running),
        TEST(refuses_a_file),
        TEST(refuses_a_directory_in_a_missing_one),
        TEST(follows_no_link),
        TEST(does_not_write_to_a_file_that_has_another_name),
        TEST(does_not_wait_at_a_pipe),
        TEST(root_takes_no_directory_that_others_may_write_to),
        TEST(root_takes_no_directory_of_another_user),
        TEST(root_takes_nothing_that_another_user_left_in_it),
        TEST(root_looks_where_its_own_link_to_redis_files_leads),
        TEST(root_takes_no_directory_in_another_users),
        TEST(a_way_that_leads_nowhere_is_told_by_who_opens_it),
        TEST(root_follows_its_own_links_to_the_directory_and_no_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
