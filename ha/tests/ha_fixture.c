#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ha/tests/ha_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ha/fake/process.h"
#include "ha/tests/ha_letters_fixture.h"

struct fake_ensemble ensemble;
struct test_node nodes[NODES];
unsigned old, next, third;
struct ha_command last_command;
int64_t now, wall_offset;
unsigned acting_max;
static struct timers ensemble_timers;
static bool is_set_up;

/* ---- nodes ---- */

static int64_t now_boot_ms(void *arg)
{
    return now;
}

static int64_t now_wall_ms(void *arg)
{
    return now + wall_offset;
}

static void on_role(void *arg, const struct role *role, enum role_state before)
{
    struct test_node *n = arg;

    n->promoted += role->state == ROLE_LEADER;
    n->demoted += before == ROLE_LEADER;
    n->why[role->state] = role->reason;
    if (role->state == ROLE_DRAINING && n->drains)
        ha_drained(n->ha);
}

#define SCANNERS_SHOWN 80

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_names(char *to, size_t room, const char **names, unsigned count)
{
    size_t len = 0;

    qsort(names, count, sizeof(*names), by_name);
    to[0] = '\0';
    for (unsigned i = 0; i < count && len < room; i++)
        len += (size_t)snprintf(to + len, room - len, "%s%s", i ? " " : "", names[i]);
}

static void on_scanners(void *arg, const struct ha_scanners *scanners)
{
    struct test_node *n = arg;
    const char *names[SCANNERS_SHOWN] = {NULL};

    assert_false(n->is_inside);
    assert_in_range(scanners->count, 0, SCANNERS_SHOWN);
    for (unsigned i = 0; i < scanners->count; i++)
        names[i] = scanners->nodes[i];
    print_names(n->scanners, sizeof(n->scanners), names, scanners->count);
    n->view = scanners->number;
    n->views++;
}

static void on_refused(void *arg, const char *why)
{
    struct test_node *n = arg;

    snprintf(n->refused, sizeof(n->refused), "%s", why);
}

void node_start(unsigned i)
{
    struct test_node *n = &nodes[i];

    timers_init(&n->timers, now);
    fake_coordinator_init(&n->zk, &ensemble, &n->timers, n->options.session_ms);
    n->peers = (struct peers){.ops = &letters_ops};
    n->is_alive = true;
    n->is_frozen = n->is_left = n->is_stopped = false;
    n->ha = fake_process_begin(&n->options, &n->zk, &n->peers, &n->timers);
    if (!n->is_store_mute)
        ha_store_is(n->ha, true);
    node_scans(i, n->options.shares);
}

void node_scans(unsigned i, bool is_scanning)
{
    nodes[i].is_inside = true;
    ha_scans(nodes[i].ha, is_scanning);
    nodes[i].is_inside = false;
}

void node_kill(unsigned i)
{
    struct test_node *n = &nodes[i];

    if (!n->is_alive)
        return;
    n->is_alive = false;
    fake_process_kill(n->ha, &n->zk, &n->timers, now);
    n->ha = NULL;
    fake_coordinator_fini(&n->zk);
    timers_fini(&n->timers);
}

void node_freeze(unsigned i, bool is_frozen)
{
    nodes[i].is_frozen = is_frozen;
}

void fence_by_another_ensemble(unsigned i)
{
    struct token seen = {.epoch = 1};

    memset(seen.ensemble, 'f', TOKEN_ENSEMBLE_LEN);
    ha_fenced(nodes[i].ha, &seen);
}

void node_proves_dead(unsigned i, unsigned who)
{
    struct peers *p = &nodes[i].peers;

    p->on_death(p, nodes[who].name, &nodes[who].reported);
}

/* ---- time ---- */

static void count_acting(void)
{
    unsigned acting = 0, holding = 0;

    for (int i = 0; i < NODES; i++) {
        acting += nodes[i].is_alive && ha_may_act(nodes[i].ha);
        holding += nodes[i].is_alive && ha_may_hold(nodes[i].ha);
    }
    assert_in_range(holding, acting, 1);
    if (acting > acting_max)
        acting_max = acting;
    assert_true(acting <= 1);
}

static void turn(struct timers *timers)
{
    for (int i = 0; timers_run(timers, now) == 0; i++)
        assert_true(i < 1000); /* no node wakes itself for ever */
}

static void pass_a_millisecond(void)
{
    now++;
    count_acting();
    turn(&ensemble_timers);
    letters_deliver();
    for (int i = 0; i < NODES; i++) {
        if (nodes[i].is_alive && !nodes[i].is_frozen)
            turn(&nodes[i].timers);
        count_acting();
    }
}

void run(int64_t ms)
{
    while (ms-- > 0)
        pass_a_millisecond();
}

void leads_on(int64_t ms)
{
    while (ms-- > 0) {
        pass_a_millisecond();
        assert_int_equal(leader(), (int)old);
    }
}

int64_t await(bool (*holds)(void), int64_t ms)
{
    int64_t begin = now;

    while (!holds()) {
        if (now >= begin + ms)
            fail_msg("still not so after %lld ms", (long long)ms);
        pass_a_millisecond();
    }
    return now - begin;
}

void first_leads(void)
{
    node_start(0);
    await(is_led, 2 * T);
}

/* ---- questions ---- */

int leader(void)
{
    for (int i = 0; i < NODES; i++) {
        if (nodes[i].is_alive && ha_may_act(nodes[i].ha))
            return i;
    }
    return -1;
}

bool is_led(void)
{
    return leader() >= 0;
}

bool is_not_led(void)
{
    return leader() < 0;
}

bool has_another_leader(void)
{
    return is_led() && leader() != (int)old;
}

struct ha_status status_of(unsigned i)
{
    struct ha_status s;

    ha_status(nodes[i].ha, &s);
    return s;
}

enum role_state role_of(unsigned i)
{
    return status_of(i).role->state;
}

const struct ha_transition *newest_change(void)
{
    static struct ha_status s;

    s = status_of((unsigned)leader());
    return &s.transitions[s.transition_count - 1];
}

const char *scanners_there(void)
{
    static char text[64];
    const char *names[SCANNERS_SHOWN] = {NULL}, *name;
    unsigned count = 0;

    LIST_EACH (link, &ensemble.tree.znodes) {
        const struct fake_znode *z = CONTAINER_OF(link, struct fake_znode, link);

        name = fake_tree_name_under("/dueq/main/scanners", z->path);
        if (name && count < SCANNERS_SHOWN)
            names[count++] = name;
    }
    print_names(text, sizeof(text), names, count);
    return text;
}

static bool is_answered;

static void on_command(struct ha_command *c)
{
    is_answered = true;
}

static bool has_answer(void)
{
    return is_answered;
}

enum status command(unsigned i, enum ha_request request, const char *to)
{
    int64_t at_wall_ms = last_command.at_wall_ms;

    is_answered = false;
    last_command = (struct ha_command){
        .request = request, .to = to, .at_wall_ms = at_wall_ms, .on_done = on_command};
    ha_command(nodes[i].ha, &last_command);
    assert_false(is_answered);
    await(has_answer, 3 * T);
    last_command.at_wall_ms = 0;
    return last_command.status;
}

/* ---- set-up ---- */

int world_setup(void **state)
{
    const struct log_options quiet = {
        .level = getenv("HA_TEST_LOG") ? LEVEL_DEBUG : LEVEL_ERROR, .modules = ""};

    world_teardown(state);
    is_set_up = true;
    assert_int_equal(log_configure(&quiet), STATUS_OK);
    now = 100000;
    wall_offset = 1700000000000;
    acting_max = 0;
    last_command = (struct ha_command){.at_wall_ms = 0};
    calls_succeed();
    letters_init();
    timers_init(&ensemble_timers, now);
    fake_ensemble_init(&ensemble, &ensemble_timers);
    for (unsigned i = 0; i < NODES; i++) {
        struct test_node *n = &nodes[i];

        *n = (struct test_node){.drains = true};
        snprintf(n->name, sizeof(n->name), "n%c", 'a' + (char)i);
        snprintf(n->address, sizeof(n->address), "10.0.0.%u:9504", i % 100);
        n->options = fake_process_options(n->name, n->address);
        n->options.incarnation = 0xffffffffffff0000 + i;
        n->options.session_ms = T;
        n->options.tenure_ms = 5000;
        n->options.flap_max = 100;
        n->options.now_boot_ms = now_boot_ms;
        n->options.now_wall_ms = now_wall_ms;
        n->options.on_role = on_role;
        n->options.on_refused = on_refused;
        n->options.on_scanners = on_scanners;
        n->options.arg = n;
    }
    return 0;
}

void name_the_roles(void)
{
    old = (unsigned)leader();
    next = (old + 1) % NODES;
    third = (old + 2) % NODES;
}

int three_nodes_setup(void **state)
{
    world_setup(state);
    for (unsigned i = 0; i < NODES; i++) {
        node_start(i);
        run(2);
    }
    await(is_led, 2 * T);
    run(T); /* all have joined, been added, and proven themselves */
    name_the_roles();
    return 0;
}

int world_teardown(void **state)
{
    if (!is_set_up)
        return 0;
    is_set_up = false;
    for (unsigned i = 0; i < NODES; i++)
        node_kill(i);
    letters_fini();
    fake_ensemble_fini(&ensemble);
    timers_fini(&ensemble_timers);
    return 0;
}
