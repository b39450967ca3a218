/* The virtual address on virtual time, over a network in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ha/vip/tests/vip_contract.h"
#include "ha/vip/tests/vip_fixture.h"
#include "ha/vip/tests/vip_log_fixture.h"

#define START     1000000
#define SUCCESSOR "02:00:00:00:00:0b"
#define STRANGER  "02:00:00:00:00:0c"

static struct timers timers;
static struct fake_net net;
static struct vip *vip;

/* The node's side: may_hold() and on_state(). */
static bool may;
static int may_for; /* so often, then not; -1: for ever */
static unsigned entered[3];
static void (*on_entering)(enum vip_state state); /* NULL: nothing */

#define V4 (&net.addresses.at[0])
#define V6 (&net.addresses.at[1])
#define F4 (&net.of[0])
#define F6 (&net.of[1])

static bool may_hold(void *arg)
{
    if (may_for == 0)
        return false;
    may_for -= may_for > 0;
    return may;
}

static void on_state(void *arg, enum vip_state state)
{
    entered[state]++;
    if (on_entering)
        on_entering(state);
}

static int begin(const char *addresses)
{
    struct vip_options options = {.ops = &fake_net_ops,
                                  .ops_arg = &net,
                                  .timers = &timers,
                                  .may_hold = may_hold,
                                  .on_state = on_state};

    log_forget();
    timers_init(&timers, START);
    net = (struct fake_net){.timers = &timers};
    if (vip_addresses_parse(&net.addresses, addresses) != STATUS_OK)
        return -1;
    options.addresses = net.addresses;
    vip = vip_new(&options);
    may = true;
    may_for = -1;
    memset(entered, 0, sizeof(entered));
    on_entering = NULL;
    return 0;
}

static int setup_one(void **state)
{
    return begin("10.9.0.100");
}

static int setup_two(void **state)
{
    return begin("10.9.0.100,fd09::64");
}

static int teardown(void **state)
{
    vip_free(vip);
    assert_int_equal(timers.count, 0);
    timers_fini(&timers);
    return 0;
}

/* The loop turns each millisecond. */
static void pass(int64_t ms)
{
    for (; ms > 0; ms--)
        timers_run(&timers, timers_now(&timers) + 1);
}

/* It does not turn meanwhile. */
static void freeze(int64_t ms)
{
    timers_run(&timers, timers_now(&timers) + ms);
}

static void remove_by_hand(struct fake_address *f)
{
    f->until_mono_ms = INT64_MIN;
}

static bool has_both(void)
{
    return fake_net_has(&net, V4) && fake_net_has(&net, V6);
}

static void assert_is_here(void)
{
    assert_int_equal(vip_state(vip), VIP_HELD);
    assert_true(fake_net_has(&net, V4));
    assert_true(vip_is_here(vip));
    assert_string_equal(vip_why(vip), "");
}

static void assert_is_missing(const char *why)
{
    assert_int_equal(vip_state(vip), VIP_HELD);
    assert_false(vip_is_here(vip));
    assert_non_null(strstr(vip_why(vip), why));
}

static void assert_is_gone(const struct vip_address *a)
{
    assert_false(fake_net_has(&net, a));
}

/* As after it was put, `ago_ms` back. */
static void assert_announced_since(const struct fake_address *f, int64_t ago_ms)
{
    static const int64_t at_ms[] = {0, 100, 300, 700, 1500, 11500, 21500, 31500};
    int64_t from = timers_now(&timers) - ago_ms;
    unsigned expected = 0, first = 0;

    while (expected < 8 && at_ms[expected] <= ago_ms)
        expected++;
    while (first < f->announced && f->announced_mono_ms[first] < from)
        first++;
    assert_int_equal(f->announced - first, expected);
    for (unsigned i = 0; i < expected; i++)
        assert_int_equal(f->announced_mono_ms[first + i] - from, at_ms[i]);
}

/* ---- taken and kept ---- */

static void is_nowhere_before_it_is_taken(void **state)
{
    pass(20000);
    vip_heard(vip, V4, STRANGER);
    assert_int_equal(vip_state(vip), VIP_AWAY);
    assert_int_equal(F4->put + F4->announced + F4->probed, 0);
    assert_string_equal(vip_conflict(vip), "");
}

static void is_put_and_announced_in_the_very_call_that_takes_it(void **state)
{
    vip_take(vip);
    assert_is_here();
    assert_int_equal(F4->announced, 1);
    assert_int_equal(entered[VIP_HELD], 1);
    assert_int_equal(vip_stats(vip)->taken, 1);
}

static void is_announced_on_schedule_and_then_every_10_s(void **state)
{
    vip_take(vip);
    for (unsigned i = 0; i < 32; i++) {
        pass(1000);
        assert_announced_since(F4, (i + 1) * INT64_C(1000));
    }
    assert_int_equal(vip_stats(vip)->announcements, 8);
}

static void is_renewed_so_often_that_it_never_ends(void **state)
{
    vip_take(vip);
    for (unsigned i = 0; i < 9000; i++) {
        pass(1);
        assert_true(fake_net_has(&net, V4));
    }
    assert_int_equal(F4->put, 1 + 9000 / VIP_RENEW_MS);
    assert_int_equal(vip_stats(vip)->restored, 0);
}

static void who_else_has_it_is_asked_when_the_leader_before_is_gone(void **state)
{
    vip_take(vip);
    pass(VIP_SETTLE_MS - 1);
    assert_int_equal(F4->probed, 0);
    pass(1);
    assert_int_equal(F4->probed, 1);
    pass(11500 - VIP_SETTLE_MS);
    assert_int_equal(F4->probed, 2);
    pass(VIP_ANNOUNCE_EVERY_MS);
    assert_int_equal(F4->probed, 3);
}

static void taking_it_twice_is_harmless(void **state)
{
    vip_take(vip);
    pass(50);
    vip_take(vip);
    pass(50);
    assert_announced_since(F4, 100);
    assert_int_equal(entered[VIP_HELD], 1);
    assert_int_equal(vip_stats(vip)->taken, 1);
}

static void what_a_predecessor_has_left_is_announced_as_well(void **state)
{
    F4->until_mono_ms = START + 500;
    vip_take(vip);
    pass(100);
    assert_announced_since(F4, 100);
    assert_int_equal(vip_stats(vip)->restored, 0);
}

/* ---- the lease ---- */

static void a_renewal_after_a_stall_past_the_lease_drops_it_instead(void **state)
{
    vip_take(vip);
    pass(100);
    may = false;
    freeze(5000);
    assert_is_gone(V4);
    assert_int_equal(F4->put, 1);
    assert_int_equal(F4->announced, 2); /* at 0 and 100: none after the stall */
    assert_is_missing("lease");
    pass(20000);
    assert_int_equal(F4->put, 1);
    assert_int_equal(F4->announced, 2);
}

static void a_lease_that_ends_between_two_renewals_ends_it_with_the_second(void **state)
{
    vip_take(vip);
    pass(2000);
    may = false;
    pass(VIP_RENEW_MS);
    assert_is_gone(V4);
    assert_int_equal(vip_state(vip), VIP_HELD);
    assert_int_equal(vip_stats(vip)->failures, 0);
}

static void a_lease_that_is_proven_again_brings_it_back(void **state)
{
    vip_take(vip);
    pass(2000);
    may = false;
    pass(1000);
    may = true;
    pass(VIP_RENEW_MS);
    assert_is_here();
    pass(2000);
    assert_int_equal(entered[VIP_HELD], 1);
    assert_int_equal(vip_stats(vip)->restored, 0); /* nobody has removed it */
    assert_int_equal(F4->announced, 5 + 5);
}

static void who_leads_before_its_lease_gets_it_with_the_first_renewal_that_may(void **state)
{
    may = false;
    vip_take(vip);
    assert_is_missing("lease");
    assert_is_gone(V4);
    assert_int_equal(entered[VIP_HELD], 1);
    pass(2 * VIP_RENEW_MS - 1);
    assert_int_equal(F4->put + F4->announced, 0);
    may = true;
    pass(1);
    assert_is_here();
    assert_announced_since(F4, 0);
    pass(700);
    assert_announced_since(F4, 700);
}

static void taking_it_again_does_not_wait_for_the_renewal(void **state)
{
    may = false;
    vip_take(vip);
    may = true;
    vip_take(vip);
    assert_is_here();
    assert_int_equal(entered[VIP_HELD], 1);
}

static void a_freeze_between_putting_and_announcing_announces_nothing(void **state)
{
    may_for = 1; /* asked before it is put */
    vip_take(vip);
    assert_int_equal(F4->put, 1);
    assert_int_equal(F4->announced, 0);
    assert_is_gone(V4);
    assert_is_missing("lease");
}

static void what_could_not_be_renewed_is_removed_when_the_lease_ends(void **state)
{
    vip_take(vip);
    F4->broken = "no memory";
    pass(VIP_RENEW_MS);
    assert_true(fake_net_has(&net, V4)); /* by the kernel */
    may = false;
    pass(VIP_RENEW_MS);
    assert_is_gone(V4);
    F4->broken = NULL;
    may = true;
    pass(VIP_RENEW_MS);
    assert_is_here();
    assert_int_equal(vip_stats(vip)->restored, 0);
}

static void an_announcement_past_the_lease_ends_it(void **state)
{
    vip_take(vip);
    may = false;
    pass(100);
    assert_is_gone(V4);
    assert_int_equal(F4->announced, 1);
}

/* ---- gone, or impossible ---- */

static void is_put_back_and_announced_anew_when_somebody_has_removed_it(void **state)
{
    vip_take(vip);
    pass(20 * VIP_RENEW_MS);
    remove_by_hand(F4);
    pass(VIP_RENEW_MS);
    assert_is_here();
    assert_int_equal(vip_stats(vip)->restored, 1);
    pass(1500);
    assert_announced_since(F4, 1500);
}

static void is_put_back_when_its_lifetime_ended_in_a_stall_within_the_lease(void **state)
{
    vip_take(vip);
    pass(3000);
    freeze(1500);
    assert_is_here();
    assert_int_equal(vip_stats(vip)->restored, 1);
}

static void a_failure_is_tried_again_with_each_renewal_and_logged_once(void **state)
{
    F4->broken = "the cable is eaten";
    vip_take(vip);
    assert_is_missing("10.9.0.100: the cable is eaten");
    pass(10 * VIP_RENEW_MS);
    assert_int_equal(F4->put, 11);
    assert_int_equal(vip_stats(vip)->failures, 11);
    assert_int_equal(F4->announced, 0);
    assert_int_equal(log_count("the cable is eaten"), 1);
    F4->broken = "another one, too";
    pass(2 * VIP_RENEW_MS);
    assert_int_equal(log_count("another one, too"), 1);
    F4->broken = NULL;
    pass(VIP_RENEW_MS);
    assert_is_here();
    assert_announced_since(F4, 0);
    assert_int_equal(vip_stats(vip)->restored, 0); /* it never was here */
    assert_int_equal(entered[VIP_HELD], 1);
}

static void an_interface_that_was_away_gets_it_back_announced(void **state)
{
    vip_take(vip);
    pass(67 * VIP_RENEW_MS);
    F4->broken = "no interface";
    remove_by_hand(F4);
    pass(50 * VIP_RENEW_MS);
    assert_int_equal(F4->announced, 6); /* as long as it was there */
    F4->broken = NULL;
    pass(VIP_RENEW_MS);
    assert_is_here();
    assert_int_equal(vip_stats(vip)->restored, 1);
    pass(1500);
    assert_announced_since(F4, 1500);
}

static void of_two_the_one_that_can_be_put_is(void **state)
{
    F6->broken = "IPv6 is switched off";
    vip_take(vip);
    assert_true(fake_net_has(&net, V4));
    assert_is_missing("fd09::64: IPv6 is switched off");
    pass(700);
    assert_announced_since(F4, 700);
    F6->broken = NULL;
    pass(200);
    assert_is_here();
    assert_announced_since(F6, 0);
    assert_int_equal(vip_stats(vip)->failures, 3);
}

/* ---- handed over ---- */

/* The lead is given away as soon as the hand-over has begun. */
static void give_away(void)
{
    vip_hand_over(vip);
    may = false;
}

static void take_again(void)
{
    may = true;
    vip_take(vip);
}

static void handed_over_it_stays_for_its_lifetime_unannounced(void **state)
{
    vip_take(vip);
    pass(600 + VIP_RENEW_MS / 2);
    give_away();
    assert_int_equal(vip_state(vip), VIP_LEAVING);
    assert_int_equal(entered[VIP_LEAVING], 1);
    assert_true(fake_net_has(&net, V4));
    assert_true(vip_is_here(vip));
    pass(VIP_LEAVING_MAX_MS - 1);
    assert_true(fake_net_has(&net, V4));
    assert_int_equal(F4->put, 3 + 1); /* its last second begins with the hand-over */
    assert_int_equal(F4->announced, 4);
    assert_int_equal(F4->removed, 0);
}

static void it_stays_however_long_the_lead_is_not_given_away(void **state)
{
    vip_take(vip);
    pass(5000);
    vip_hand_over(vip);
    for (unsigned i = 0; i < 2500; i++) {
        pass(1);
        assert_true(fake_net_has(&net, V4));
    }
    may = false; /* given away; the last renewal was 100 ms ago */
    pass(VIP_LEAVING_MAX_MS - 101);
    assert_int_equal(vip_state(vip), VIP_LEAVING);
    assert_true(fake_net_has(&net, V4));
    pass(1);
    assert_int_equal(vip_state(vip), VIP_AWAY);
    assert_int_equal(F4->announced, 5);
}

static void one_that_has_left_is_not_put_again_by_the_others_renewal(void **state)
{
    vip_take(vip);
    pass(5000);
    vip_hand_over(vip);
    vip_heard(vip, V4, SUCCESSOR);
    pass(2 * VIP_RENEW_MS);
    assert_is_gone(V4);
    assert_true(fake_net_has(&net, V6));
}

static void it_leaves_as_soon_as_the_successor_is_heard(void **state)
{
    vip_take(vip);
    pass(5000);
    give_away();
    pass(7);
    vip_heard(vip, V4, SUCCESSOR);
    assert_is_gone(V4);
    assert_int_equal(vip_state(vip), VIP_AWAY);
    assert_int_equal(entered[VIP_AWAY], 1);
    assert_int_equal(vip_stats(vip)->conflicts, 0);
    pass(20000);
    assert_int_equal(F4->announced, 5);
    assert_int_equal(entered[VIP_AWAY], 1);
}

static void it_leaves_after_a_second_when_nobody_is_heard(void **state)
{
    vip_take(vip);
    pass(5000);
    give_away();
    pass(VIP_LEAVING_MAX_MS - 1);
    assert_int_equal(vip_state(vip), VIP_LEAVING);
    pass(1);
    assert_int_equal(vip_state(vip), VIP_AWAY);
    assert_is_gone(V4);
    assert_int_equal(F4->removed, 1);
}

static void dropped_while_it_leaves_it_goes_at_once(void **state)
{
    vip_take(vip);
    give_away();
    vip_drop(vip);
    assert_is_gone(V4);
    assert_int_equal(entered[VIP_AWAY], 1);
    pass(2000);
    assert_int_equal(entered[VIP_AWAY], 1);
}

static void taken_while_it_leaves_it_stays_and_is_announced_anew(void **state)
{
    vip_take(vip);
    pass(5000);
    give_away();
    pass(500);
    take_again();
    assert_is_here();
    assert_int_equal(F4->removed, 0);
    pass(1500);
    assert_announced_since(F4, 1500);
    assert_is_here();
    assert_int_equal(vip_stats(vip)->taken, 2);
    assert_int_equal(vip_stats(vip)->restored, 0);
    assert_int_equal(entered[VIP_AWAY], 0);
}

static void each_of_two_leaves_when_it_is_heard_itself(void **state)
{
    vip_take(vip);
    pass(5000);
    give_away();
    vip_heard(vip, V4, SUCCESSOR);
    vip_heard(vip, V4, SUCCESSOR); /* the second form of the announcement */
    assert_is_gone(V4);
    assert_true(fake_net_has(&net, V6));
    assert_int_equal(vip_state(vip), VIP_LEAVING);
    assert_int_equal(F4->removed, 1);
    vip_heard(vip, V6, SUCCESSOR);
    assert_is_gone(V6);
    assert_int_equal(vip_state(vip), VIP_AWAY);
}

static void one_that_is_never_heard_leaves_after_the_second(void **state)
{
    vip_take(vip);
    give_away();
    vip_heard(vip, V4, SUCCESSOR);
    pass(VIP_LEAVING_MAX_MS - 1);
    assert_int_equal(vip_state(vip), VIP_LEAVING);
    pass(1);
    assert_int_equal(vip_state(vip), VIP_AWAY);
    assert_is_gone(V6);
}

static void taken_again_when_one_of_two_has_left_both_are_here(void **state)
{
    vip_take(vip);
    pass(5000);
    give_away();
    vip_heard(vip, V6, SUCCESSOR);
    take_again();
    assert_true(has_both());
    assert_is_here();
    pass(1500);
    assert_announced_since(F4, 1500);
    assert_announced_since(F6, 1500);
}

static void who_was_heard_before_is_no_successor(void **state)
{
    vip_take(vip);
    vip_heard(vip, V4, STRANGER); /* the leader before: no conflict */
    give_away();
    assert_int_equal(vip_state(vip), VIP_LEAVING);
    assert_true(fake_net_has(&net, V4));
}

static void a_stranger_that_insists_is_no_successor(void **state)
{
    vip_take(vip);
    pass(5000);
    vip_heard(vip, V4, STRANGER);
    give_away();
    for (unsigned i = 0; i < 9; i++) {
        pass(100);
        vip_heard(vip, V4, STRANGER);
        assert_int_equal(vip_state(vip), VIP_LEAVING);
        assert_true(fake_net_has(&net, V4));
    }
    vip_heard(vip, V4, SUCCESSOR);
    assert_int_equal(vip_state(vip), VIP_AWAY);
    assert_is_gone(V4);
}

static void what_could_not_be_renewed_does_not_wait_for_the_successor(void **state)
{
    vip_take(vip);
    F6->broken = "no memory";
    pass(VIP_RENEW_MS);
    assert_true(has_both());
    give_away();
    assert_is_gone(V6);
    assert_int_equal(vip_state(vip), VIP_LEAVING);
    vip_heard(vip, V4, SUCCESSOR);
    assert_int_equal(vip_state(vip), VIP_AWAY);
}

static void a_leader_that_is_deposed_before_it_could_put_it_leaves_at_once(void **state)
{
    F4->broken = "no interface";
    vip_take(vip);
    give_away();
    assert_int_equal(vip_state(vip), VIP_AWAY);
    assert_int_equal(entered[VIP_LEAVING], 0);
}

static void handing_over_what_is_not_held_does_nothing(void **state)
{
    vip_hand_over(vip);
    assert_int_equal(vip_state(vip), VIP_AWAY);
    vip_take(vip);
    pass(100);
    give_away();
    pass(900);
    vip_hand_over(vip); /* its second is not begun anew */
    pass(100);
    assert_int_equal(vip_state(vip), VIP_AWAY);
    assert_int_equal(entered[VIP_LEAVING], 1);
}

static void dropping_is_at_once_and_harmless_twice(void **state)
{
    vip_drop(vip);
    assert_int_equal(entered[VIP_AWAY], 0);
    vip_take(vip);
    pass(5000);
    vip_drop(vip);
    vip_drop(vip);
    assert_true(!fake_net_has(&net, V4) && !fake_net_has(&net, V6));
    assert_int_equal(entered[VIP_AWAY], 1);
    pass(20000);
    assert_int_equal(F4->announced + F6->announced, 10);
    assert_int_equal(timers.count, 0);
}

/* ---- who else has it ---- */

static void the_leader_before_is_answered_but_no_conflict(void **state)
{
    vip_take(vip);
    pass(150);
    vip_heard(vip, V4, STRANGER);
    assert_int_equal(F4->announced, 3); /* 0, 100 and this one */
    pass(VIP_SETTLE_MS - 151);
    vip_heard(vip, V4, STRANGER);
    assert_int_equal(vip_stats(vip)->conflicts, 0);
    assert_string_equal(vip_conflict(vip), "");
    assert_is_here();
}

static void whoever_is_heard_later_is_a_conflict_and_answered(void **state)
{
    vip_take(vip);
    pass(VIP_SETTLE_MS);
    assert_int_equal(F4->announced, 5);
    vip_heard(vip, V4, STRANGER);
    assert_int_equal(F4->announced, 6);
    assert_int_equal(vip_stats(vip)->conflicts, 1);
    assert_string_equal(vip_conflict(vip), STRANGER);
    assert_int_equal(log_count(STRANGER), 1);
    assert_is_here();
}

static void it_is_defended_at_most_once_a_second_and_logged_once(void **state)
{
    vip_take(vip);
    pass(3000);
    for (unsigned i = 0; i < 50; i++) {
        vip_heard(vip, V4, STRANGER);
        pass(100);
    }
    assert_int_equal(F4->announced, 5 + 6); /* at 3000, 4000 and so on to 8000 */
    assert_int_equal(vip_stats(vip)->conflicts, 6);
    assert_int_equal(log_count(STRANGER), 1);
    vip_heard(vip, V4, SUCCESSOR);
    pass(VIP_DEFEND_MS);
    assert_string_equal(vip_conflict(vip), SUCCESSOR);
    assert_int_equal(log_count(SUCCESSOR), 1);
}

static void what_is_heard_too_soon_is_answered_later(void **state)
{
    vip_take(vip);
    pass(3000);
    vip_heard(vip, V4, STRANGER);
    pass(170);
    vip_heard(vip, V4, STRANGER);
    vip_heard(vip, V4, STRANGER);
    assert_int_equal(F4->announced, 6);
    pass(VIP_DEFEND_MS - 171);
    assert_int_equal(F4->announced, 6);
    pass(1);
    assert_int_equal(F4->announced, 7);
    assert_int_equal(vip_stats(vip)->conflicts, 2);
    pass(5000);
    assert_int_equal(F4->announced, 7);
}

static void what_is_to_be_answered_is_not_once_it_has_left(void **state)
{
    vip_take(vip);
    pass(3000);
    vip_heard(vip, V4, STRANGER);
    vip_heard(vip, V4, STRANGER);
    pass(500);
    give_away();
    pass(VIP_LEAVING_MAX_MS);
    assert_int_equal(F4->announced, 6);
}

static void what_is_to_be_answered_past_the_lease_ends_it(void **state)
{
    vip_take(vip);
    pass(3000);
    vip_heard(vip, V4, STRANGER);
    vip_heard(vip, V4, STRANGER);
    pass(980); /* behind the renewal at 3900 */
    may = false;
    pass(20);
    assert_int_equal(F4->announced, 6);
    assert_is_gone(V4);
}

static void a_conflict_is_over_when_it_was_not_heard_for_long(void **state)
{
    vip_take(vip);
    pass(3000);
    vip_heard(vip, V4, STRANGER);
    pass(VIP_CONFLICT_MS - 1);
    assert_string_equal(vip_conflict(vip), STRANGER);
    pass(1);
    assert_string_equal(vip_conflict(vip), "");
    vip_heard(vip, V4, STRANGER);
    assert_int_equal(log_count(STRANGER), 2);
    vip_drop(vip);
    assert_string_equal(vip_conflict(vip), "");
}

static void answering_does_not_change_the_schedule(void **state)
{
    unsigned before;

    vip_take(vip);
    pass(3000);
    vip_heard(vip, V4, STRANGER);
    before = F4->announced;
    pass(11500 - 3000 - 1);
    assert_int_equal(F4->announced, before);
    pass(1);
    assert_int_equal(F4->announced, before + 1);
}

static void who_hears_its_successor_after_a_stall_does_not_answer_but_goes(void **state)
{
    vip_take(vip);
    pass(3000);
    may = false;
    vip_heard(vip, V4, SUCCESSOR);
    assert_int_equal(F4->announced, 5);
    assert_is_gone(V4);
    assert_is_gone(V6);
    assert_int_equal(vip_stats(vip)->conflicts, 0);
}

static void addresses_of_nobody_are_not_heard(void **state)
{
    struct vip_addresses other;

    assert_int_equal(vip_addresses_parse(&other, "10.9.0.101"), STATUS_OK);
    vip_take(vip);
    pass(3000);
    vip_heard(vip, &other.at[0], STRANGER);
    assert_int_equal(vip_stats(vip)->conflicts, 0);
    assert_int_equal(F4->announced, 5);
}

/* ---- callbacks, and the end ---- */

static void drop_it(enum vip_state state)
{
    if (state == VIP_HELD)
        vip_drop(vip);
}

static void may_be_dropped_by_who_is_told_that_it_is_held(void **state)
{
    on_entering = drop_it;
    vip_take(vip);
    assert_int_equal(vip_state(vip), VIP_AWAY);
    assert_is_gone(V4);
    pass(2000);
    assert_int_equal(F4->put, 1);
}

static void take_it_again(enum vip_state state)
{
    if (state == VIP_AWAY && entered[VIP_AWAY] == 1)
        take_again();
}

static void may_be_taken_again_by_who_is_told_that_it_is_away(void **state)
{
    on_entering = take_it_again;
    vip_take(vip);
    give_away();
    pass(VIP_LEAVING_MAX_MS);
    assert_is_here();
    pass(5000);
    assert_is_here();
}

static void free_it(enum vip_state state)
{
    if (state == VIP_AWAY) {
        vip_free(vip);
        vip = NULL;
    }
}

static void free_by_dropping(void)
{
    vip_drop(vip);
}

static void free_by_leaving(void)
{
    give_away();
    pass(VIP_LEAVING_MAX_MS);
}

static void free_by_hearing(void)
{
    vip_hand_over(vip);
    vip_heard(vip, V4, SUCCESSOR);
}

/* The sanitizer sees memory that is touched after the callback. */
static void may_be_freed_by_who_is_told_that_it_is_away(void **state)
{
    static void (*const ways[])(void) = {free_by_dropping, free_by_leaving, free_by_hearing};

    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        setup_one(state);
        on_entering = free_it;
        vip_take(vip);
        ways[i]();
        assert_null(vip);
        teardown(state);
    }
    setup_one(state);
}

static void freed_in_any_state_it_is_removed_and_nobody_is_told(void **state)
{
    for (unsigned i = VIP_AWAY; i <= VIP_LEAVING; i++) {
        setup_two(state);
        if (i >= VIP_HELD)
            vip_take(vip);
        if (i >= VIP_LEAVING)
            vip_hand_over(vip);
        memset(entered, 0, sizeof(entered));
        vip_free(vip);
        assert_false(fake_net_has(&net, V4) || fake_net_has(&net, V6));
        assert_int_equal(F4->removed, i != VIP_AWAY);
        assert_int_equal(entered[VIP_AWAY], 0);
        assert_int_equal(timers.count, 0);
        timers_fini(&timers);
    }
    vip_free(NULL);
    setup_one(state);
}

static void states_have_words(void **state)
{
    assert_string_equal(vip_state_word(VIP_AWAY), "away");
    assert_string_equal(vip_state_word(VIP_HELD), "held");
    assert_string_equal(vip_state_word(VIP_LEAVING), "leaving");
}

/* ---- the fake ---- */

static int64_t now_ms(void)
{
    return timers_now(&timers);
}

static void wait_ms(int64_t ms)
{
    pass(ms);
}

static void set_broken(bool is_broken)
{
    F4->broken = is_broken ? "broken" : NULL;
}

static void the_network_in_memory_keeps_the_contract(void **state)
{
    const struct vip_contract contract = {.ops = &fake_net_ops,
                                          .arg = &net,
                                          .address = V4,
                                          .now_ms = now_ms,
                                          .wait_ms = wait_ms,
                                          .set_broken = set_broken};

    vip_contract_check(&contract);
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, setup_one, teardown)
#define TWO(name) cmocka_unit_test_setup_teardown(name, setup_two, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(is_nowhere_before_it_is_taken),
        ONE(is_put_and_announced_in_the_very_call_that_takes_it),
        ONE(is_announced_on_schedule_and_then_every_10_s),
        ONE(is_renewed_so_often_that_it_never_ends),
        ONE(who_else_has_it_is_asked_when_the_leader_before_is_gone),
        ONE(taking_it_twice_is_harmless),
        ONE(what_a_predecessor_has_left_is_announced_as_well),
        ONE(a_renewal_after_a_stall_past_the_lease_drops_it_instead),
        ONE(a_lease_that_ends_between_two_renewals_ends_it_with_the_second),
        ONE(a_lease_that_is_proven_again_brings_it_back),
        ONE(who_leads_before_its_lease_gets_it_with_the_first_renewal_that_may),
        ONE(taking_it_again_does_not_wait_for_the_renewal),
        ONE(a_freeze_between_putting_and_announcing_announces_nothing),
        ONE(what_could_not_be_renewed_is_removed_when_the_lease_ends),
        ONE(an_announcement_past_the_lease_ends_it),
        ONE(is_put_back_and_announced_anew_when_somebody_has_removed_it),
        ONE(is_put_back_when_its_lifetime_ended_in_a_stall_within_the_lease),
        ONE(a_failure_is_tried_again_with_each_renewal_and_logged_once),
        ONE(an_interface_that_was_away_gets_it_back_announced),
        TWO(of_two_the_one_that_can_be_put_is),
        ONE(handed_over_it_stays_for_its_lifetime_unannounced),
        ONE(it_stays_however_long_the_lead_is_not_given_away),
        TWO(one_that_has_left_is_not_put_again_by_the_others_renewal),
        ONE(it_leaves_as_soon_as_the_successor_is_heard),
        ONE(it_leaves_after_a_second_when_nobody_is_heard),
        ONE(dropped_while_it_leaves_it_goes_at_once),
        ONE(taken_while_it_leaves_it_stays_and_is_announced_anew),
        TWO(each_of_two_leaves_when_it_is_heard_itself),
        TWO(one_that_is_never_heard_leaves_after_the_second),
        TWO(taken_again_when_one_of_two_has_left_both_are_here),
        ONE(who_was_heard_before_is_no_successor),
        ONE(a_stranger_that_insists_is_no_successor),
        TWO(what_could_not_be_renewed_does_not_wait_for_the_successor),
        ONE(a_leader_that_is_deposed_before_it_could_put_it_leaves_at_once),
        ONE(handing_over_what_is_not_held_does_nothing),
        TWO(dropping_is_at_once_and_harmless_twice),
        ONE(the_leader_before_is_answered_but_no_conflict),
        ONE(whoever_is_heard_later_is_a_conflict_and_answered),
        ONE(it_is_defended_at_most_once_a_second_and_logged_once),
        ONE(what_is_heard_too_soon_is_answered_later),
        ONE(what_is_to_be_answered_is_not_once_it_has_left),
        ONE(what_is_to_be_answered_past_the_lease_ends_it),
        ONE(a_conflict_is_over_when_it_was_not_heard_for_long),
        ONE(answering_does_not_change_the_schedule),
        TWO(who_hears_its_successor_after_a_stall_does_not_answer_but_goes),
        ONE(addresses_of_nobody_are_not_heard),
        ONE(may_be_dropped_by_who_is_told_that_it_is_held),
        ONE(may_be_taken_again_by_who_is_told_that_it_is_away),
        cmocka_unit_test_teardown(may_be_freed_by_who_is_told_that_it_is_away, teardown),
        cmocka_unit_test_teardown(freed_in_any_state_it_is_removed_and_nobody_is_told,
                                  teardown),
        cmocka_unit_test(states_have_words),
        ONE(the_network_in_memory_keeps_the_contract),
    };

    return cmocka_run_group_tests(tests, log_catch, log_let_go);
}
