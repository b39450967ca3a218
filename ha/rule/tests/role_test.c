/* A second list of the diagram's arrows: every other change must abort. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ha/rule/role.h"

static const char *const arrows[] = {
    "offline standby joined",        "offline leader resumed",
    "standby leader elected",        "standby leader forced",
    "standby leader resumed",        "standby offline disconnected",
    "standby offline expired",       "standby offline stopping",
    "leader draining stopping",      "leader draining switchover",
    "leader draining preferred",     "leader draining store_away",
    "leader draining address_away",  "leader standby fenced",
    "leader standby deposed",        "leader offline lease_over",
    "leader offline expired",        "draining leader not_taken",
    "draining standby handed_over",  "draining standby fenced",
    "draining standby deposed",      "draining offline lease_over",
    "draining offline expired",      "draining offline stopping",
    "leader standby other_ensemble", "draining standby other_ensemble",
};

static enum role_state told_before;
static unsigned told;

static void on_change(struct role *role, enum role_state before)
{
    told_before = before;
    told++;
}

static struct role role_in(enum role_state state)
{
    struct role r;

    role_init(&r, on_change);
    r.state = state;
    memset(r.token.ensemble, 'a', TOKEN_ENSEMBLE_LEN);
    r.token.epoch = 1;
    return r;
}

static bool is_drawn(enum role_state from, enum role_state to, enum role_reason why)
{
    char text[64];

    snprintf(text, sizeof(text), "%s %s %s", role_word(from), role_word(to),
             role_reason_word(why));
    for (size_t i = 0; i < sizeof(arrows) / sizeof(*arrows); i++) {
        if (!strcmp(text, arrows[i]))
            return true;
    }
    return false;
}

/* In a child, because a wrong one aborts. */
static bool is_allowed(enum role_state from, enum role_state to, enum role_reason why)
{
    pid_t child = fork();
    int result;

    assert_true(child >= 0);
    if (child == 0) {
        struct role r = role_in(from);

        close(STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        role_enter(&r, to, why, 1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    return WIFEXITED(result) && WEXITSTATUS(result) == 0;
}

static void changes_along_the_arrows_only(void **state)
{
    for (int from = 0; from < ROLE_COUNT; from++) {
        for (int to = 0; to < ROLE_COUNT; to++) {
            for (int why = 0; why < ROLE_REASON_COUNT; why++)
                assert_int_equal(is_allowed(from, to, why), is_drawn(from, to, why));
        }
    }
}

static void remembers_since_when_and_why_and_tells_last(void **state)
{
    struct role r = role_in(ROLE_STANDBY);

    told = 0;
    role_enter(&r, ROLE_LEADER, ROLE_ELECTED_REASON, 77);
    assert_int_equal(told, 1);
    assert_int_equal(told_before, ROLE_STANDBY);
    assert_int_equal(r.state, ROLE_LEADER);
    assert_int_equal(r.reason, ROLE_ELECTED_REASON);
    assert_int_equal(r.since_boot_ms, 77);
    assert_int_equal(r.entered[ROLE_LEADER][ROLE_ELECTED_REASON], 1);
    assert_int_equal(r.entered[ROLE_LEADER][ROLE_FORCED_REASON], 0);
}

static void starts_offline(void **state)
{
    struct role r;

    role_init(&r, on_change);
    assert_int_equal(r.state, ROLE_OFFLINE);
    assert_int_equal(r.reason, ROLE_STARTED_REASON);
    assert_true(token_is_none(&r.token));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_along_the_arrows_only),
        cmocka_unit_test(remembers_since_when_and_why_and_tells_last),
        cmocka_unit_test(starts_offline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
