#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ha/ha_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct fake_ensemble ensemble;
struct member nodes[NODES];
struct ha_command last_command;
int64_t now, wall_offset;
unsigned acting_max;
static struct timers ensemble_timers;

/* ---- the links between nodes ---- */

struct letter {
    struct list link;
    int from, to;
    bool is_promise;
    struct peer_question question;
};

static struct list letters;

static void post(int from, int to, bool is_promise, const struct peer_question *question)
{
    struct letter *l = calloc(1, sizeof(*l));

    *l = (struct letter){
        .from = from, .to = to, .is_promise = is_promise, .question = *question};
    list_append(&letters, &l->link);
}

static int index_of(const struct peers *p)
{
    for (int i = 0; i < NODES; i++) {
        if (p == &nodes[i].peers)
            return i;
    }
    abort();
}

static void peers_ask_all(struct peers *p, const struct peer_question *question)
{
    for (int to = 0; to < NODES; to++) {
        if (&nodes[to].peers != p)
            post(index_of(p), to, false, question);
    }
}

static void peers_note_set(struct peers *p, const struct peer_name *names, unsigned count)
{
    nodes[index_of(p)].peer_count = count;
}

static void peers_note_tell(struct peers *p, const struct coord_credentials *mine)
{
    nodes[index_of(p)].told = *mine;
}

static void peers_note_leave(struct peers *p)
{
    nodes[index_of(p)].is_left = true;
}

static const struct peers_ops peers_ops = {.set = peers_note_set,
                                           .tell = peers_note_tell,
                                           .ask = peers_ask_all,
                                           .leave = peers_note_leave};

static void deliver(struct letter *l)
{
    struct member *from = &nodes[l->from], *to = &nodes[l->to];

    if (!from->is_alive || !to->is_alive || from->is_silent || to->is_silent)
        return;
    if (l->is_promise)
        to->peers.on_promise(&to->peers, from->name, l->question.seq);
    else if (to->peers.on_question(&to->peers, from->name, &l->question))
        post(l->to, l->from, true, &l->question);
}

/* Those that were under way when this millisecond began. */
static void deliver_letters(void)
{
    struct list arrived;
    struct list *link;

    list_init(&arrived);
    list_append_all(&arrived, &letters);
    while ((link = list_pop(&arrived))) {
        struct letter *l = CONTAINER_OF(link, struct letter, link);

        if (nodes[l->to].is_alive && nodes[l->to].is_frozen) {
            list_append(&letters, link);
            continue;
        }
        deliver(l);
        free(l);
    }
}

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
    struct member *m = arg;

    m->promoted += role->state == ROLE_LEADER;
    m->demoted += before == ROLE_LEADER;
    m->why[role->state] = role->reason;
    if (role->state == ROLE_DRAINING && m->drains)
        ha_drained(m->ha);
}

static void on_refused(void *arg, const char *why)
{
    struct member *m = arg;

    snprintf(m->refused, sizeof(m->refused), "%s", why);
}

void node_start(unsigned i)
{
    struct member *m = &nodes[i];

    timers_init(&m->timers, now);
    fake_coordinator_init(&m->zk, &ensemble, &m->timers, m->options.session_ms);
    m->peers = (struct peers){.ops = &peers_ops};
    m->is_alive = true;
    m->is_frozen = m->is_left = m->is_stopped = false;
    m->ha = ha_new(&m->options, &m->zk.base, &m->peers, &m->timers);
    ha_start(m->ha);
    ha_store_is(m->ha, true);
}

/* Calls in flight die with the process. */
void node_kill(unsigned i)
{
    struct member *m = &nodes[i];

    if (!m->is_alive)
        return;
    m->is_alive = false;
    fake_coordinator_link(&m->zk, FAKE_LINK_MUTE); /* nobody hears a good-bye */
    coordinator_close(&m->zk.base);
    timers_run(&m->timers, now);
    ha_free(m->ha);
    m->ha = NULL;
    fake_coordinator_fini(&m->zk);
    timers_fini(&m->timers);
}

void node_freeze(unsigned i, bool is_frozen)
{
    nodes[i].is_frozen = is_frozen;
}

/* ---- ZooKeeper ---- */

static void write_by_hand(enum coord_change_kind kind, const char *path, const char *text)
{
    const struct coord_change change = {
        .kind = kind, .path = path, .data = bytes_of_text(text), .version = -1};
    unsigned failed;

    assert_int_equal(fake_tree_write(&ensemble.tree, &change, 1, 0, &failed), COORD_OK);
}

bool znode_exists(const char *path)
{
    return fake_tree_find(&ensemble.tree, path);
}

void znode_put(const char *path, const char *text)
{
    write_by_hand(znode_exists(path) ? COORD_SET : COORD_CREATE, path, text);
}

void znode_delete(const char *path)
{
    write_by_hand(COORD_DELETE, path, "");
}

void lose_the_quorum(void)
{
    fake_ensemble_set_quorum(&ensemble, false);
    for (unsigned i = 0; i < NODES; i++) {
        if (nodes[i].is_alive)
            fake_coordinator_cut(&nodes[i].zk, false);
    }
}

void find_the_quorum(void)
{
    fake_ensemble_set_quorum(&ensemble, true);
}

void expire_all(void)
{
    struct list *first;

    while ((first = list_first(&ensemble.sessions)))
        fake_ensemble_expire(&ensemble,
                             CONTAINER_OF(first, struct fake_session, link)->who.session);
}

static struct {
    const char *part;
    bool is_of_reads; /* only */
    enum coord_status status;
    const struct coordinator_ops *real;
    void (*on_done)(struct coord_call *call);
} failing;

static void on_done_failing(struct coord_call *call)
{
    call->status = failing.status;
    failing.on_done(call);
}

static void spoil(struct coord_call *call, const char *path)
{
    if (!failing.part || !strstr(path, failing.part))
        return;
    failing.on_done = call->on_done; /* all asks have the same */
    call->on_done = on_done_failing;
}

static void read_failing(struct coordinator *c, struct coord_call *call)
{
    spoil(call, call->path);
    failing.real->read(c, call);
}

static void write_failing(struct coordinator *c, struct coord_call *call)
{
    if (!failing.is_of_reads)
        spoil(call, call->changes[0].path);
    failing.real->write(c, call);
}

void calls_fail(unsigned i, const char *part, enum coord_status status)
{
    static struct coordinator_ops ops;

    if (nodes[i].zk.base.ops != &ops) {
        failing.real = nodes[i].zk.base.ops;
        ops = *failing.real;
        ops.read = read_failing;
        ops.write = write_failing;
        nodes[i].zk.base.ops = &ops;
    }
    failing.part = part;
    failing.is_of_reads = false;
    failing.status = status;
}

void reads_fail(unsigned i, const char *part, enum coord_status status)
{
    calls_fail(i, part, status);
    failing.is_of_reads = true;
}

/* ---- time ---- */

static void count_acting(void)
{
    unsigned acting = 0;

    for (int i = 0; i < NODES; i++)
        acting += nodes[i].is_alive && ha_may_act(nodes[i].ha);
    if (acting > acting_max)
        acting_max = acting;
    assert_true(acting <= 1);
}

static void turn(struct timers *timers)
{
    for (int i = 0; timers_run(timers, now) == 0; i++)
        assert_true(i < 1000); /* nobody turns for ever */
}

static void pass_a_millisecond(void)
{
    now++;
    count_acting();
    turn(&ensemble_timers);
    deliver_letters();
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

static bool is_answered;

static void on_command(struct ha_command *c)
{
    is_answered = true;
}

static bool has_answer(void)
{
    return is_answered;
}

enum status command(unsigned i, enum ha_wish wish, const char *to)
{
    int64_t at_wall_ms = last_command.at_wall_ms;

    is_answered = false;
    last_command = (struct ha_command){
        .wish = wish, .to = to, .at_wall_ms = at_wall_ms, .on_done = on_command};
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

    assert_int_equal(log_configure(&quiet), STATUS_OK);
    now = 100000;
    wall_offset = 1700000000000;
    acting_max = 0;
    last_command = (struct ha_command){.at_wall_ms = 0};
    failing.part = NULL;
    list_init(&letters);
    timers_init(&ensemble_timers, now);
    fake_ensemble_init(&ensemble, &ensemble_timers);
    for (unsigned i = 0; i < NODES; i++) {
        struct member *m = &nodes[i];

        *m = (struct member){.drains = true};
        snprintf(m->name, sizeof(m->name), "n%c", 'a' + (char)i);
        snprintf(m->address, sizeof(m->address), "10.0.0.%u:9504", i % 100);
        m->options = (struct ha_options){.node = m->name,
                                         .root = "/dueq/main",
                                         .version = "1.2.3",
                                         .gmq = "gmq:1",
                                         .http = "http:1",
                                         .peer = m->address,
                                         .incarnation = 0xffffffffffff0000 + i,
                                         .session_ms = T,
                                         .priority = 50,
                                         .tenure_ms = 5000,
                                         .flap_max = 100,
                                         .now_boot_ms = now_boot_ms,
                                         .now_wall_ms = now_wall_ms,
                                         .on_role = on_role,
                                         .on_refused = on_refused,
                                         .arg = m};
    }
    return 0;
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
    return 0;
}

int world_teardown(void **state)
{
    for (unsigned i = 0; i < NODES; i++)
        node_kill(i);
    while (!list_is_empty(&letters))
        free(CONTAINER_OF(list_pop(&letters), struct letter, link));
    fake_ensemble_fini(&ensemble);
    timers_fini(&ensemble_timers);
    return 0;
}
