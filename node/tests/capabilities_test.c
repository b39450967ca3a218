/* What a process has, by the kernel's own account. Each test is in a process of its own, which
 * gives up what the test is to do without; that takes root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/log.h"
#include "node/capabilities.h"
#include "node/tests/root_fixture.h"

#define NOBODY 65534

static const cap_value_t both[] = {CAP_NET_ADMIN, CAP_NET_RAW};

static void require(int yes, const char *what)
{
    if (yes)
        return;
    fprintf(stderr, "not so: %s\n", what);
    _exit(1);
}

#define REQUIRE(yes) require(yes, #yes)

/* Of another user, with these permitted and none effective: as if the file gave them. */
static void become_nobody(const cap_value_t *permitted, int count)
{
    cap_t caps = cap_init();

    REQUIRE(!prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
    REQUIRE(!setgroups(0, NULL));
    REQUIRE(!setresgid(NOBODY, NOBODY, NOBODY));
    REQUIRE(!setresuid(NOBODY, NOBODY, NOBODY));
    REQUIRE(!count || !cap_set_flag(caps, CAP_PERMITTED, count, permitted, CAP_SET));
    REQUIRE(!cap_set_proc(caps));
    cap_free(caps);
}

static int has(cap_flag_t where, cap_value_t one)
{
    cap_t own = cap_get_proc();
    cap_flag_value_t value = CAP_CLEAR;

    REQUIRE(!cap_get_flag(own, one, where, &value));
    cap_free(own);
    return value == CAP_SET;
}

/* The child's standard error becomes `heard`. Its exit code must be 0. */
static void run(void (*child)(void), char *heard, size_t room)
{
    int ends[2], status = -1;
    size_t len = 0;
    ssize_t got;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        child();
        _exit(0);
    }
    close(ends[1]);
    while (len < room - 1 && (got = read(ends[0], heard + len, room - 1 - len)) > 0)
        len += (size_t)got;
    heard[len] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status)
        fail_msg("the child's status is %d, and it says: %s", status, heard);
}

static void raise_them(void)
{
    become_nobody(both, 2);
    REQUIRE(!has(CAP_EFFECTIVE, CAP_NET_ADMIN));
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    REQUIRE(capabilities_raise("vip.address") == STATUS_OK);
    REQUIRE(has(CAP_EFFECTIVE, CAP_NET_ADMIN));
    REQUIRE(has(CAP_EFFECTIVE, CAP_NET_RAW));
    REQUIRE(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1);
}

static void what_is_permitted_becomes_effective(void **state)
{
    char heard[4096];

    need_root();
    run(raise_them, heard, sizeof(heard));
    assert_string_equal(heard, "");
}

/* As a service manager gives them. */
static void become_ambient(void)
{
    cap_t own;

    become_nobody(both, 2);
    own = cap_get_proc();
    REQUIRE(!cap_set_flag(own, CAP_INHERITABLE, 2, both, CAP_SET));
    REQUIRE(!cap_set_flag(own, CAP_EFFECTIVE, 2, both, CAP_SET));
    REQUIRE(!cap_set_proc(own));
    REQUIRE(!cap_set_ambient(CAP_NET_ADMIN, CAP_SET));
    REQUIRE(!cap_set_ambient(CAP_NET_RAW, CAP_SET));
    cap_free(own);
}

static void show_what_a_program_gets(void)
{
    execl("/bin/sh", "sh", "-c", "grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status >&2", NULL);
}

#define NONE                                                 \
    "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n" \
    "CapEff:\t0000000000000000\nCapAmb:\t0000000000000000\n"

static void raise_ambient(void)
{
    become_ambient();
    REQUIRE(capabilities_raise("vip.address") == STATUS_OK);
    show_what_a_program_gets();
}

static void a_program_that_it_starts_gets_none(void **state)
{
    char heard[4096];

    need_root();
    run(raise_ambient, heard, sizeof(heard));
    assert_string_equal(heard, NONE);
}

static void drop_ambient(void)
{
    become_ambient();
    capabilities_drop();
    for (unsigned i = 0; i < 2; i++)
        REQUIRE(!has(CAP_PERMITTED, both[i]) && !has(CAP_EFFECTIVE, both[i]));
    show_what_a_program_gets();
}

static void where_they_are_not_needed_nobody_has_them(void **state)
{
    char heard[4096];

    need_root();
    run(drop_ambient, heard, sizeof(heard));
    assert_string_equal(heard, NONE);
}

/* What it starts would get them back, and with that lose its PDEATHSIG. */
static void drop_as_root(void)
{
    capabilities_drop();
    for (unsigned i = 0; i < 2; i++)
        REQUIRE(has(CAP_PERMITTED, both[i]) && !has(CAP_INHERITABLE, both[i]));
}

static void root_keeps_what_its_programs_have_in_any_case(void **state)
{
    char heard[4096];

    need_root();
    run(drop_as_root, heard, sizeof(heard));
}

#define FILES ((1ULL << CAP_DAC_OVERRIDE) | (1ULL << CAP_DAC_READ_SEARCH))

/* Root's child and what it starts; PDEATHSIG would be gone if they had got more. */
static void confine_with_network(void)
{
    int signal = 0;

    REQUIRE(!prctl(PR_SET_PDEATHSIG, SIGKILL));
    capabilities_confine(true);
    REQUIRE(!prctl(PR_GET_PDEATHSIG, &signal) && signal == SIGKILL);
    REQUIRE(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1);
    show_what_a_program_gets();
}

static void confine_without_network(void)
{
    capabilities_confine(false);
    show_what_a_program_gets();
}

static void give_up_all(void)
{
    capabilities_give_up_all();
    show_what_a_program_gets();
}

static void expect_of_program(void (*child)(void), unsigned long long has)
{
    char heard[4096], expected[256];

    run(child, heard, sizeof(heard));
    snprintf(expected, sizeof(expected),
             "CapInh:\t%016x\nCapPrm:\t%016llx\nCapEff:\t%016llx\nCapAmb:\t%016x\n", 0, has,
             has, 0);
    assert_string_equal(heard, expected);
}

static void roots_children_get_what_they_need_and_so_do_their_programs(void **state)
{
    need_root();
    expect_of_program(confine_with_network,
                      FILES | (1ULL << CAP_NET_ADMIN) | (1ULL << CAP_NET_RAW));
    expect_of_program(confine_without_network, FILES);
    expect_of_program(give_up_all, 0);
}

static void confine_as_nobody(void)
{
    become_nobody(both, 2);
    capabilities_confine(false);
    for (unsigned i = 0; i < 2; i++)
        REQUIRE(has(CAP_PERMITTED, both[i]));
}

static void another_users_child_keeps_what_it_has(void **state)
{
    char heard[4096];

    need_root();
    run(confine_as_nobody, heard, sizeof(heard));
}

static void give_up_raw(void)
{
    int signal = 0;

    become_nobody(both, 2);
    REQUIRE(capabilities_raise("vip.address") == STATUS_OK);
    REQUIRE(!prctl(PR_SET_PDEATHSIG, SIGKILL));
    capabilities_give_up_net_raw();
    REQUIRE(has(CAP_EFFECTIVE, CAP_NET_ADMIN));
    REQUIRE(has(CAP_PERMITTED, CAP_NET_ADMIN));
    REQUIRE(!has(CAP_EFFECTIVE, CAP_NET_RAW));
    REQUIRE(!has(CAP_PERMITTED, CAP_NET_RAW));
    REQUIRE(!prctl(PR_GET_PDEATHSIG, &signal));
    REQUIRE(signal == SIGKILL);
    REQUIRE(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1);
}

static void a_worker_keeps_what_it_needs_and_dies_with_its_warden(void **state)
{
    char heard[4096];

    need_root();
    run(give_up_raw, heard, sizeof(heard));
    assert_string_equal(heard, "");
}

static void refuse_one(void)
{
    become_nobody(both + 1, 1);
    REQUIRE(capabilities_raise("vip.address") == STATUS_WRONG_STATE);
}

static void says_what_is_missing_and_how_to_give_it(void **state)
{
    char heard[4096];

    need_root();
    run(refuse_one, heard, sizeof(heard));
    assert_non_null(strstr(heard, "vip.address: needs CAP_NET_ADMIN, which this process "
                                  "lacks: "));
    assert_non_null(strstr(heard, "setcap cap_net_admin,cap_net_raw=p /"));
}

static void refuse_out_of_bounds(void)
{
    REQUIRE(!cap_drop_bound(CAP_NET_ADMIN));
    become_nobody(NULL, 0);
    REQUIRE(capabilities_raise("vip.address") == STATUS_WRONG_STATE);
}

static void a_container_is_told_apart(void **state)
{
    char heard[4096];

    need_root();
    run(refuse_out_of_bounds, heard, sizeof(heard));
    assert_non_null(strstr(heard, "needs CAP_NET_ADMIN and CAP_NET_RAW, which "));
    assert_non_null(strstr(heard, "to a container (cap_add)"));
}

static void refuse_without_new_privileges(void)
{
    become_nobody(NULL, 0);
    REQUIRE(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    REQUIRE(capabilities_raise("vip.address") == STATUS_WRONG_STATE);
}

static void no_new_privileges_are_told_apart(void **state)
{
    char heard[4096];

    need_root();
    run(refuse_without_new_privileges, heard, sizeof(heard));
    assert_non_null(strstr(heard, "no_new_privs is set"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_permitted_becomes_effective),
        cmocka_unit_test(a_program_that_it_starts_gets_none),
        cmocka_unit_test(where_they_are_not_needed_nobody_has_them),
        cmocka_unit_test(root_keeps_what_its_programs_have_in_any_case),
        cmocka_unit_test(roots_children_get_what_they_need_and_so_do_their_programs),
        cmocka_unit_test(another_users_child_keeps_what_it_has),
        cmocka_unit_test(a_worker_keeps_what_it_needs_and_dies_with_its_warden),
        cmocka_unit_test(says_what_is_missing_and_how_to_give_it),
        cmocka_unit_test(a_container_is_told_apart),
        cmocka_unit_test(no_new_privileges_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
