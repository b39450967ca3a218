/* What a node's role does to the virtual address and its clients: ha/vip/vip.c is real, the
 * network, the ports and the operator's program are written down here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/log.h"
#include "ha/vip/link.h"
#include "ha/vip/net.h"
#include "node/capabilities.h"
#include "node/vip/vip_app.h"
#include "node/vip/clients.h"
#include "node/vip/hook.h"
#include "node/vip/mover.h"
#include "protocol/conn/port.h"

#define ADDRESS "10.0.0.100"

/* ---- the world ---- */

static struct {
    struct conf conf;
    struct loop loop;
    struct vip_app *app;
    struct buf said; /* what was done, in order; announcements and renewals are not in it */
    bool may_hold;
    bool is_gone;      /* vip_app_stop's word */
    const char *wrong; /* with the interface; NULL: nothing */
    bool has_no_sockets;
    const char *refused; /* by the kernel: looking finds nothing wrong */
    bool is_foreign;     /* somebody else's address */
    struct vip *heard_by;
    bool is_here; /* as the kernel has it */
    enum floating_state gmq, http;
    unsigned clients; /* that are left */
    struct vip_hook_options hook;
    struct vip_hook_counts hook_counts;
    unsigned failed_takes;
    bool is_hook_here, is_hook_busy;
    int64_t now;
} w;

static void say(const char *what)
{
    buf_printf(&w.said, "%s%s", w.said.len ? " " : "", what);
}

static void assert_said(const char *what)
{
    assert_string_equal(buf_text(&w.said), what);
    buf_clear(&w.said);
}

static void pass(int64_t ms)
{
    for (int64_t end = w.now + ms; w.now < end; w.now++)
        while (timers_run(&w.loop.timers, w.now + 1) == 0)
            ;
}

/* ---- the network ---- */

struct vip_net *vip_net_new(struct loop *loop, const struct vip_addresses *these,
                            const char *interface)
{
    assert_int_equal(these->count, 1);
    errno = EMFILE;
    return w.has_no_sockets ? NULL : (struct vip_net *)&w;
}

void vip_net_free(struct vip_net *n)
{
}

void vip_net_listen(struct vip_net *n, struct vip *v)
{
    w.heard_by = v;
}

const char *vip_net_interface(const struct vip_net *n, const struct vip_address *a)
{
    return "eth7";
}

static enum vip_put put(void *arg, const struct vip_address *a, const char **why)
{
    enum vip_put done = w.is_here ? VIP_PUT_RENEWED : VIP_PUT_ADDED;

    if (w.wrong || w.refused) {
        *why = w.wrong ? w.wrong : w.refused;
        return VIP_PUT_FAILED;
    }
    if (!w.is_here)
        say("put");
    w.is_here = true;
    return done;
}

static void remove_it(void *arg, const struct vip_address *a)
{
    if (w.is_here)
        say("removed");
    w.is_here = false;
}

static void nothing(void *arg, const struct vip_address *a)
{
}

const struct vip_ops vip_net_ops = {
    .put = put, .remove = remove_it, .announce = nothing, .probe = nothing};

struct vip_link *vip_link_new(void)
{
    return (struct vip_link *)&w;
}

void vip_link_free(struct vip_link *l)
{
}

enum status vip_link_find(struct vip_link *l, const struct vip_address *a, const char *name,
                          struct vip_interface *found, const char **why)
{
    *found = (struct vip_interface){.name = "eth7", .is_up = true};
    *why = w.wrong;
    return w.wrong ? STATUS_NOT_FOUND : STATUS_OK;
}

enum vip_presence vip_link_presence(struct vip_link *l, const struct vip_address *a, char *name)
{
    strcpy(name, "eth8");
    return w.is_foreign ? VIP_IS_FOREIGN : VIP_IS_NOWHERE;
}

void capabilities_give_up_net_raw(void)
{
}

/* ---- the ports ---- */

static const char *const moves[] = {"served", "let go", "cut off"};

static struct port gmq, http;
static struct port *const ports[] = {&gmq, &http};

void port_follow(struct port *p, const struct floating *floating)
{
    if (p == &http) {
        w.http = floating->state;
        return;
    }
    if (floating->state != w.gmq)
        say(moves[floating->state]);
    if (floating->state == FLOATING_AWAY)
        w.clients = 0;
    w.gmq = floating->state;
}

unsigned port_floating(const struct port *p)
{
    return p == &gmq ? w.clients : 0;
}

bool port_owes(struct port *p)
{
    return p == &gmq && w.clients;
}

/* ---- the program ---- */

struct vip_hook *vip_hook_new(const struct vip_hook_options *options)
{
    w.hook = *options;
    return (struct vip_hook *)&w;
}

void vip_hook_free(struct vip_hook *h)
{
}

void vip_hook_take(struct vip_hook *h, const char *token)
{
    say("hook take");
}

void vip_hook_drop(struct vip_hook *h)
{
    say("hook drop");
    w.is_hook_here = false;
    w.failed_takes = 0;
}

bool vip_hook_is_here(const struct vip_hook *h)
{
    return w.is_hook_here;
}

bool vip_hook_is_idle(const struct vip_hook *h)
{
    return !w.is_hook_busy;
}

const char *vip_hook_why(const struct vip_hook *h)
{
    return w.hook_counts.failures && !w.is_hook_here ? "exit code 1" : "";
}

unsigned vip_hook_failed_takes(const struct vip_hook *h)
{
    return w.failed_takes;
}

const struct vip_hook_counts *vip_hook_counts(const struct vip_hook *h)
{
    return &w.hook_counts;
}

static void hook_drop_fails(void)
{
    w.hook_counts.failures++;
    w.hook.on_change(w.hook.arg);
}

static void hook_fails(void)
{
    w.failed_takes++;
    w.hook_counts.failures++;
    w.hook.on_change(w.hook.arg);
}

static void hook_succeeds(void)
{
    w.is_hook_here = true;
    w.failed_takes = 0;
    w.hook_counts.taken++;
    w.hook.on_change(w.hook.arg);
}

/* ---- the node ---- */

static bool may_hold(void *arg)
{
    return w.may_hold;
}

static void on_state(void *arg, const char *state)
{
    buf_printf(&w.said, "%s(%s)", w.said.len ? " " : "", state);
}

static void on_possible(void *arg, bool is_possible)
{
    say(is_possible ? "possible" : "impossible");
}

static void on_take(void *arg, pid_t group)
{
    say(group ? "taking" : "taken");
}

static void on_gone(void *arg)
{
    w.is_gone = true;
}

static void role(enum role_state state, enum role_reason reason)
{
    struct role r = {.state = state, .reason = reason, .token = {.ensemble = "e", .epoch = 1}};

    w.may_hold = state == ROLE_LEADER || state == ROLE_DRAINING;
    vip_app_role(w.app, &r);
}

static void lead(void)
{
    role(ROLE_LEADER, ROLE_ELECTED_REASON);
}

static void drain(void)
{
    role(ROLE_DRAINING, ROLE_SWITCHOVER_REASON);
}

static void hear_successor(void)
{
    struct vip_addresses these;

    assert_int_equal(vip_addresses_parse(&these, ADDRESS), STATUS_OK);
    vip_heard(w.heard_by, &these.at[0], "02:00:00:00:00:02");
}

static struct vip_status told(void)
{
    struct vip_status status;

    assert_true(vip_app_read(w.app, &status));
    return status;
}

static int open_world_with(bool has_sockets, const char *address, const char *hook)
{
    const struct log_options quiet = {.level = LEVEL_ERROR, .modules = ""};
    struct vip_app_options options = {.conf = &w.conf,
                                      .loop = &w.loop,
                                      .may_hold = may_hold,
                                      .on_state = on_state,
                                      .on_possible = on_possible,
                                      .on_take = on_take};

    assert_int_equal(log_configure(&quiet), STATUS_OK);
    memset(&w, 0, sizeof(w));
    w.has_no_sockets = !has_sockets;
    timers_init(&w.loop.timers, 0);
    w.conf.node.id = (char *)"n1";
    w.conf.vip.address = (char *)address;
    w.conf.vip.interface = (char *)"";
    w.conf.vip.hook = (char *)hook;
    w.gmq = w.http = FLOATING_AWAY;
    w.app = vip_app_new(&options);
    vip_app_serve(w.app, ports, sizeof(ports) / sizeof(*ports));
    pass(1);
    return 0;
}

static int open_world(const char *address, const char *hook)
{
    return open_world_with(true, address, hook);
}

static int without_sockets(void **state)
{
    return open_world_with(false, ADDRESS, "");
}

static int by_kernel(void **state)
{
    return open_world(ADDRESS, "");
}

static int by_hook(void **state)
{
    return open_world(ADDRESS, "/bin/move");
}

static int without(void **state)
{
    return open_world("", "");
}

static int close_world(void **state)
{
    vip_app_free(w.app);
    assert_false(w.is_here);
    assert_int_equal(w.loop.timers.count, 0);
    timers_fini(&w.loop.timers);
    buf_fini(&w.said);
    return 0;
}

/* ---- by the kernel ---- */

static void a_leader_has_the_address_in_the_same_turn(void **state)
{
    role(ROLE_STANDBY, ROLE_JOINED_REASON);
    assert_said("");
    lead();
    assert_said("put served (held)");
    assert_int_equal(w.http, FLOATING_HERE);
    pass(5000);
    assert_said("");
    assert_true(told().is_here);
    assert_string_equal(told().interface, "eth7");
    assert_int_equal(told().taken, 1);
}

static void who_gives_the_lead_away_keeps_it_until_the_successor_is_heard(void **state)
{
    lead();
    assert_said("put served (held)");
    drain();
    assert_said("let go (leaving)");
    pass(20);
    role(ROLE_STANDBY, ROLE_HANDED_OVER_REASON);
    pass(20);
    assert_said("");
    hear_successor();
    assert_said("cut off removed (away)");
}

static void the_last_replies_go_out_first(void **state)
{
    lead();
    drain();
    role(ROLE_STANDBY, ROLE_HANDED_OVER_REASON);
    w.clients = 2;
    buf_clear(&w.said);
    hear_successor();
    pass(VIP_LAST_REPLIES_MS / 2);
    assert_true(told().is_here);
    assert_said("");
    w.clients = 0;
    pass(2);
    assert_said("cut off removed (away)");
    assert_false(told().is_here);
}

static void a_client_that_does_not_read_is_not_waited_for(void **state)
{
    lead();
    drain();
    w.clients = 1;
    hear_successor();
    pass(VIP_LAST_REPLIES_MS - 2);
    assert_true(w.is_here);
    pass(2);
    assert_said("put served (held) let go (leaving) cut off removed (away)");
}

static void nobody_heard_it_is_gone_a_second_after_the_lead(void **state)
{
    lead();
    drain();
    pass(5000); /* not given away yet */
    assert_said("put served (held) let go (leaving)");
    assert_int_equal(w.gmq, FLOATING_DRAINING);
    role(ROLE_STANDBY, ROLE_HANDED_OVER_REASON);
    pass(VIP_LEAVING_MAX_MS - VIP_RENEW_MS);
    assert_true(w.is_here);
    assert_said("");
    pass(VIP_RENEW_MS + 10);
    assert_said("cut off removed (away)");
}

static void a_lead_that_nobody_takes_is_served_again(void **state)
{
    lead();
    drain();
    buf_clear(&w.said);
    role(ROLE_LEADER, ROLE_NOT_TAKEN_REASON);
    assert_said("served");
    pass(5000);
    assert_true(w.is_here);
}

static void taken_again_during_the_last_replies_it_stays(void **state)
{
    lead();
    drain();
    w.clients = 1;
    hear_successor();
    buf_clear(&w.said);
    lead();
    assert_said("served");
    pass(5000);
    assert_true(w.is_here);
    assert_int_equal(w.clients, 1);
}

static void any_other_end_drops_it_at_once_and_clients_hear_of_it_first(void **state)
{
    static const struct {
        enum role_state to;
        enum role_reason reason;
    } ends[] = {
        {ROLE_OFFLINE, ROLE_LEASE_OVER_REASON},     {ROLE_OFFLINE, ROLE_EXPIRED_REASON},
        {ROLE_STANDBY, ROLE_FENCED_REASON},         {ROLE_STANDBY, ROLE_DEPOSED_REASON},
        {ROLE_STANDBY, ROLE_OTHER_ENSEMBLE_REASON},
    };

    for (size_t i = 0; i < 2 * sizeof(ends) / sizeof(ends[0]); i++) {
        lead();
        if (i % 2)
            drain();
        buf_clear(&w.said);
        role(ends[i / 2].to, ends[i / 2].reason);
        assert_said("cut off removed (away)");
    }
}

static void a_lease_that_is_over_between_two_turns_ends_it_too(void **state)
{
    lead();
    buf_clear(&w.said);
    w.may_hold = false;
    pass(VIP_RENEW_MS + 1);
    assert_said("cut off removed (away)");
    assert_string_equal(told().state, "held");
    w.may_hold = true;
    pass(VIP_RENEW_MS + 1);
    assert_said("put served (held)");
}

/* ---- could it be here? ---- */

static void a_standby_without_an_interface_says_so(void **state)
{
    assert_string_equal(told().interface, "eth7");
    assert_string_equal(told().why, "");
    assert_true(told().is_possible);
    w.wrong = "no interface has an address of its subnet";
    pass(VIP_LOOK_MS);
    assert_said("impossible");
    assert_false(told().is_possible);
    assert_non_null(strstr(told().why, "no interface has"));
    assert_string_equal(told().state, "away");
    w.wrong = NULL;
    w.is_foreign = true;
    pass(VIP_LOOK_MS);
    assert_non_null(strstr(told().why, "somebody has configured it on this machine (eth8)"));
    assert_said("");
    w.is_foreign = false;
    pass(VIP_LOOK_MS);
    assert_said("possible");
}

static void a_leader_whose_address_cannot_be_put_says_so_and_gets_it_back(void **state)
{
    lead();
    buf_clear(&w.said);
    w.wrong = "eth7: the interface is down";
    w.is_here = false;
    assert_true(told().is_here);
    pass(VIP_RENEW_MS + VIP_LOOK_MS);
    assert_said("(away) impossible");
    assert_false(told().is_here);
    assert_non_null(strstr(told().why, "eth7: the interface is down"));
    assert_true(told().failures > 0);
    w.wrong = NULL;
    pass(2 * VIP_RENEW_MS);
    assert_said("put (held) possible");
    assert_true(told().is_here);
    assert_int_equal(told().restored, 1);
}

static void what_looking_does_not_see_is_remembered_for_a_minute(void **state)
{
    w.refused = "not permitted";
    lead();
    pass(VIP_LOOK_MS + VIP_RENEW_MS);
    assert_said("impossible");
    role(ROLE_OFFLINE, ROLE_LEASE_OVER_REASON);
    buf_clear(&w.said);
    pass(VIP_REMEMBER_MS - VIP_LOOK_MS);
    assert_said("");
    assert_string_equal(told().state, "away");
    assert_non_null(strstr(told().why, "not permitted"));
    pass(2 * VIP_LOOK_MS);
    assert_said("possible");
    assert_string_equal(told().why, "");
}

static void what_looking_sees_is_over_when_it_says_so(void **state)
{
    w.wrong = "eth7: the interface is down";
    lead();
    pass(VIP_LOOK_MS + VIP_RENEW_MS);
    assert_said("impossible");
    drain();
    role(ROLE_STANDBY, ROLE_HANDED_OVER_REASON);
    w.wrong = NULL; /* before it could look */
    buf_clear(&w.said);
    pass(VIP_LOOK_MS);
    assert_said("possible");
}

static void what_works_again_is_not_remembered(void **state)
{
    w.refused = "not permitted";
    lead();
    pass(VIP_LOOK_MS + VIP_RENEW_MS);
    w.refused = NULL;
    pass(2 * VIP_RENEW_MS);
    role(ROLE_OFFLINE, ROLE_LEASE_OVER_REASON);
    buf_clear(&w.said);
    pass(2 * VIP_LOOK_MS);
    assert_said("");
}

static void who_gets_no_sockets_lets_others_lead_and_tries_again(void **state)
{
    assert_non_null(strstr(told().why, "no netlink or packet socket"));
    assert_false(told().is_possible);
    buf_clear(&w.said);
    lead();
    assert_string_equal(told().state, "held");
    assert_false(told().is_here);
    pass(1000);
    assert_said("impossible");
    w.has_no_sockets = false;
    pass(1000);
    assert_said("possible put served (held)");
    assert_true(told().is_here);
    assert_true(told().is_possible);
}

static void a_lease_in_doubt_says_nothing_of_the_host(void **state)
{
    lead();
    w.may_hold = false;
    buf_clear(&w.said);
    pass(5000);
    assert_said("cut off removed (away)");
}

/* ---- stopping ---- */

static void stopping_waits_for_the_successor(void **state)
{
    lead();
    role(ROLE_DRAINING, ROLE_STOPPING_REASON);
    role(ROLE_OFFLINE, ROLE_STOPPING_REASON);
    vip_app_stop(w.app, true, on_gone, NULL);
    pass(100);
    assert_false(w.is_gone);
    assert_true(w.is_here);
    hear_successor();
    pass(10);
    assert_true(w.is_gone);
    assert_false(w.is_here);
}

static void stopping_waits_for_a_second_at_most(void **state)
{
    lead();
    role(ROLE_DRAINING, ROLE_STOPPING_REASON);
    role(ROLE_OFFLINE, ROLE_STOPPING_REASON);
    w.clients = 1;
    vip_app_stop(w.app, true, on_gone, NULL);
    pass(VIP_LEAVING_MAX_MS + VIP_LAST_REPLIES_MS + 10);
    assert_true(w.is_gone);
    assert_false(w.is_here);
}

static void stopping_waits_for_nobody_where_there_is_none(void **state)
{
    lead();
    role(ROLE_DRAINING, ROLE_STOPPING_REASON);
    role(ROLE_OFFLINE, ROLE_STOPPING_REASON);
    vip_app_stop(w.app, false, on_gone, NULL);
    assert_false(w.is_gone); /* not from inside */
    pass(1);
    assert_false(w.is_here);
    assert_true(w.is_gone);
}

static void stopping_without_a_successor_waits_for_the_last_replies(void **state)
{
    lead();
    w.clients = 2;
    role(ROLE_DRAINING, ROLE_STOPPING_REASON);
    role(ROLE_OFFLINE, ROLE_STOPPING_REASON);
    vip_app_stop(w.app, false, on_gone, NULL);
    pass(VIP_LAST_REPLIES_MS / 2);
    assert_true(w.is_here);
    assert_false(w.is_gone);
    w.clients = 0;
    pass(10);
    assert_true(w.is_gone);
    assert_false(w.is_here);
}

static void stopping_without_a_successor_waits_for_no_client_that_does_not_read(void **state)
{
    lead();
    w.clients = 1;
    role(ROLE_DRAINING, ROLE_STOPPING_REASON);
    role(ROLE_OFFLINE, ROLE_STOPPING_REASON);
    vip_app_stop(w.app, false, on_gone, NULL);
    pass(VIP_LAST_REPLIES_MS + 10);
    assert_true(w.is_gone);
    assert_false(w.is_here);
    assert_int_equal(w.clients, 0);
}

static void a_standby_stops_at_once(void **state)
{
    role(ROLE_STANDBY, ROLE_JOINED_REASON);
    role(ROLE_OFFLINE, ROLE_STOPPING_REASON);
    vip_app_stop(w.app, true, on_gone, NULL);
    pass(1);
    assert_true(w.is_gone);
    assert_said("");
}

static void without_an_address_nothing_happens(void **state)
{
    struct vip_status status;

    lead();
    drain();
    assert_false(vip_app_read(w.app, &status));
    vip_app_stop(w.app, true, on_gone, NULL);
    pass(1);
    assert_true(w.is_gone);
    w.is_gone = false;
    vip_app_finish(w.app, 6000, on_gone, NULL);
    pass(1);
    assert_true(w.is_gone);
    assert_said("");
}

/* ---- by the hook ---- */

static void a_program_is_told_to_take_and_to_drop(void **state)
{
    lead();
    assert_said("served hook take (held)");
    assert_string_equal(told().why, "vip.hook is at work");
    w.hook.on_take(w.hook.arg, 7);
    w.hook.on_take(w.hook.arg, 0);
    assert_said("taking taken");
    hook_succeeds();
    assert_true(told().is_here);
    drain();
    assert_said("let go (leaving)");
    assert_string_equal(told().state, "leaving");
    role(ROLE_STANDBY, ROLE_HANDED_OVER_REASON);
    assert_said("hook drop (away)");
    pass(VIP_LEAVING_MAX_MS);
    assert_said("cut off");
    lead();
    buf_clear(&w.said);
    role(ROLE_OFFLINE, ROLE_LEASE_OVER_REASON);
    assert_said("cut off hook drop (away)");
}

static void three_failures_let_others_lead_for_a_while(void **state)
{
    lead();
    hook_fails();
    hook_fails();
    hook_succeeds();
    w.is_hook_here = false;
    hook_fails();
    hook_fails();
    buf_clear(&w.said);
    hook_fails();
    assert_said("impossible");
    assert_false(told().is_possible);
    drain();
    role(ROLE_STANDBY, ROLE_HANDED_OVER_REASON);
    buf_clear(&w.said);
    pass(59000);
    assert_said("cut off");
    assert_string_equal(told().why, "exit code 1");
    pass(2000);
    assert_said("possible");
    assert_string_equal(told().why, "");
    assert_true(told().is_possible);
}

static void a_drop_that_fails_says_nothing_of_the_next_take(void **state)
{
    lead();
    hook_succeeds();
    drain();
    role(ROLE_STANDBY, ROLE_HANDED_OVER_REASON);
    hook_drop_fails();
    assert_string_equal(told().why, "");
    lead();
    buf_clear(&w.said);
    for (unsigned i = 0; i < 3; i++)
        hook_drop_fails();
    assert_said("");
}

static void a_leader_whose_program_works_again_may_keep_the_lead(void **state)
{
    lead();
    for (unsigned i = 0; i < 5; i++)
        hook_fails();
    buf_clear(&w.said);
    hook_succeeds();
    assert_said("possible");
}

static void stopping_waits_for_the_program(void **state)
{
    lead();
    hook_succeeds();
    role(ROLE_DRAINING, ROLE_STOPPING_REASON);
    role(ROLE_OFFLINE, ROLE_STOPPING_REASON);
    w.is_hook_busy = true;
    vip_app_stop(w.app, true, on_gone, NULL);
    pass(50);
    assert_false(w.is_gone);
    w.is_hook_busy = false;
    pass(10);
    assert_true(w.is_gone);
}

static void finishing_waits_longer_for_the_program(void **state)
{
    lead();
    hook_succeeds();
    role(ROLE_OFFLINE, ROLE_STOPPING_REASON);
    w.is_hook_busy = true;
    vip_app_stop(w.app, true, on_gone, NULL);
    pass(2000);
    assert_true(w.is_gone);
    w.is_gone = false;
    vip_app_finish(w.app, 6000, on_gone, NULL);
    pass(5000);
    assert_false(w.is_gone);
    w.is_hook_busy = false;
    pass(10);
    assert_true(w.is_gone);
}

static void finishing_waits_no_longer_than_it_may(void **state)
{
    lead();
    w.is_hook_busy = true;
    vip_app_finish(w.app, 6000, on_gone, NULL);
    pass(6010);
    assert_true(w.is_gone);
}

#define BY_KERNEL(name) cmocka_unit_test_setup_teardown(name, by_kernel, close_world)
#define BY_HOOK(name)   cmocka_unit_test_setup_teardown(name, by_hook, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BY_KERNEL(a_leader_has_the_address_in_the_same_turn),
        BY_KERNEL(who_gives_the_lead_away_keeps_it_until_the_successor_is_heard),
        BY_KERNEL(the_last_replies_go_out_first),
        BY_KERNEL(a_client_that_does_not_read_is_not_waited_for),
        BY_KERNEL(nobody_heard_it_is_gone_a_second_after_the_lead),
        BY_KERNEL(a_lead_that_nobody_takes_is_served_again),
        BY_KERNEL(taken_again_during_the_last_replies_it_stays),
        BY_KERNEL(any_other_end_drops_it_at_once_and_clients_hear_of_it_first),
        BY_KERNEL(a_lease_that_is_over_between_two_turns_ends_it_too),
        BY_KERNEL(a_standby_without_an_interface_says_so),
        BY_KERNEL(a_leader_whose_address_cannot_be_put_says_so_and_gets_it_back),
        BY_KERNEL(what_looking_does_not_see_is_remembered_for_a_minute),
        BY_KERNEL(what_looking_sees_is_over_when_it_says_so),
        BY_KERNEL(what_works_again_is_not_remembered),
        cmocka_unit_test_setup_teardown(who_gets_no_sockets_lets_others_lead_and_tries_again,
                                        without_sockets, close_world),
        BY_KERNEL(a_lease_in_doubt_says_nothing_of_the_host),
        BY_KERNEL(stopping_waits_for_the_successor),
        BY_KERNEL(stopping_waits_for_a_second_at_most),
        BY_KERNEL(stopping_waits_for_nobody_where_there_is_none),
        BY_KERNEL(stopping_without_a_successor_waits_for_the_last_replies),
        BY_KERNEL(stopping_without_a_successor_waits_for_no_client_that_does_not_read),
        BY_KERNEL(a_standby_stops_at_once),
        cmocka_unit_test_setup_teardown(without_an_address_nothing_happens, without,
                                        close_world),
        BY_HOOK(a_program_is_told_to_take_and_to_drop),
        BY_HOOK(three_failures_let_others_lead_for_a_while),
        BY_HOOK(a_drop_that_fails_says_nothing_of_the_next_take),
        BY_HOOK(a_leader_whose_program_works_again_may_keep_the_lead),
        BY_HOOK(stopping_waits_for_the_program),
        BY_HOOK(finishing_waits_longer_for_the_program),
        BY_HOOK(finishing_waits_no_longer_than_it_may),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
