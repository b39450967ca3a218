/* The rule of peer/death.h by itself; peer_death_test.c tests it on sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ha/peer/death.h"

static const struct peer_address home = {.at.ss_family = AF_INET, .len = 16};
static const struct peer_address elsewhere = {.at.ss_family = AF_INET6, .len = 16};

/* One that was UP, has told its session, and has closed the connection. */
static struct peer_watched suspect(void)
{
    struct peer_watched w = {.incarnation = 0};

    peer_watched_meet(&w, 7, &home);
    w.reported.session = 0x1000;
    assert_true(peer_watched_suspect(&w, PEER_END_CLOSED));
    return w;
}

static enum peer_verdict refused(struct peer_watched *w, bool is_heard)
{
    return peer_watched_probed(w, PEER_END_REFUSED, is_heard);
}

static void two_refusals_in_a_row_prove_death(void **state)
{
    struct peer_watched w = suspect();

    assert_int_equal(refused(&w, false), PEER_LOOK_AGAIN);
    assert_int_equal(refused(&w, false), PEER_DEAD);
    assert_int_equal(w.probes_left, 0);
}

static void two_refusals_with_something_else_between_do_not(void **state)
{
    struct peer_watched w = suspect();

    assert_int_equal(refused(&w, false), PEER_LOOK_AGAIN);
    assert_int_equal(peer_watched_probed(&w, PEER_END_CLOSED, false), PEER_LOOK_AGAIN);
    assert_int_equal(refused(&w, false), PEER_LOOK_AGAIN);
    assert_int_equal(peer_watched_probed(&w, PEER_END_NO_TLS, false), PEER_LOOK_AGAIN);
    assert_int_equal(refused(&w, false), PEER_LOOK_AGAIN);
    assert_int_equal(refused(&w, false), PEER_DEAD);
}

static void who_has_a_connection_to_us_lives_however_often_it_refuses(void **state)
{
    struct peer_watched w = suspect();
    int64_t waited_ms = 0;

    while (refused(&w, true) == PEER_LOOK_AGAIN)
        waited_ms += peer_watched_wait_ms(&w);
    assert_int_equal(w.probes_left, 0);
    assert_int_equal(waited_ms, 155);
}

static void silence_garbage_and_strangers_prove_nothing_and_end_the_probing(void **state)
{
    static const enum peer_end ends[] = {PEER_END_FAILED, PEER_END_GARBAGE, PEER_END_STRANGE};

    for (unsigned i = 0; i < 3; i++) {
        struct peer_watched w = suspect();

        assert_int_equal(refused(&w, false), PEER_LOOK_AGAIN);
        assert_int_equal(peer_watched_probed(&w, ends[i], false), PEER_NOT_PROVEN);
        assert_int_equal(w.probes_left, 0);
    }
}

static void only_a_closed_connection_of_one_with_a_session_is_a_reason_to_look(void **state)
{
    struct peer_watched w = suspect();

    w.probes_left = 0;
    assert_false(peer_watched_suspect(&w, PEER_END_FAILED));
    assert_false(peer_watched_suspect(&w, PEER_END_GARBAGE));
    w.reported.session = 0; /* it has said good-bye */
    assert_false(peer_watched_suspect(&w, PEER_END_CLOSED));
    assert_int_equal(w.probes_left, 0);
}

static void another_one_at_the_same_address_proves_death(void **state)
{
    struct peer_watched w = suspect();

    assert_true(peer_watched_is_replaced(&w, 8, &home, false));
    assert_false(peer_watched_is_replaced(&w, 8, &home, true));
    assert_false(peer_watched_is_replaced(&w, 8, &elsewhere, false));
    assert_false(peer_watched_is_replaced(&w, 7, &home, false)); /* it lives */
}

static void nobody_is_replaced_before_the_first_was_met(void **state)
{
    struct peer_watched w = {.incarnation = 0, .home = home};

    assert_false(peer_watched_is_replaced(&w, 8, &home, false));
}

static void the_same_one_again_ends_the_probing_and_keeps_its_session(void **state)
{
    struct peer_watched w = suspect();

    peer_watched_meet(&w, 7, &elsewhere);
    assert_int_equal(w.probes_left, 0);
    assert_int_equal(w.reported.session, 0x1000);
    assert_memory_equal(&w.home, &elsewhere, sizeof(elsewhere));
    peer_watched_meet(&w, 8, &elsewhere);
    assert_int_equal(w.reported.session, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_refusals_in_a_row_prove_death),
        cmocka_unit_test(two_refusals_with_something_else_between_do_not),
        cmocka_unit_test(who_has_a_connection_to_us_lives_however_often_it_refuses),
        cmocka_unit_test(silence_garbage_and_strangers_prove_nothing_and_end_the_probing),
        cmocka_unit_test(only_a_closed_connection_of_one_with_a_session_is_a_reason_to_look),
        cmocka_unit_test(another_one_at_the_same_address_proves_death),
        cmocka_unit_test(nobody_is_replaced_before_the_first_was_met),
        cmocka_unit_test(the_same_one_again_ends_the_probing_and_keeps_its_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
