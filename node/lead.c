#include "node/lead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/loop.h"
#include "ha/coord/zk_client.h"
#include "ha/ha.h"
#include "ha/peer/link.h"
#include "node/journal.h"
#include "node/queue/queue.h"
#include "node/queue/shares.h"
#include "node/warden/listen.h"

struct standalone {
    struct queue *queue;
    struct timers *timers;
    struct timer again;     /* while it is fenced */
    bool is_fenced;         /* as far as is known */
    uint64_t fenced_count;  /* answers that say so, since start */
    bool is_fenced_again;   /* since it looked last */
    int64_t say_at_mono_ms; /* when the log hears it again */
};

static void standalone_start(struct standalone *l);

#define SAY_MS 60000

static void on_fenced(void *arg, struct bytes seen)
{
    struct standalone *l = arg;
    int64_t now = timers_now(l->timers);

    if (!l->is_fenced || now >= l->say_at_mono_ms) {
        LOG_ERROR(
            "ha",
            "a cluster's leader moves the jobs of this Redis: a standalone node does not. Set "
            "ha.mode: standby or cluster and its ha.zookeeper, or give this node another "
            "store.redis or store.prefix. Where that cluster is gone for good: dueqctl fence "
            "adopt");
        l->say_at_mono_ms = now + SAY_MS;
    }
    l->is_fenced = l->is_fenced_again = true;
    l->fenced_count++;
    timer_arm(l->timers, &l->again, HA_FENCED_AGAIN_MS);
}

static void be_fenced_no_more(struct standalone *l)
{
    l->is_fenced = l->is_fenced_again = false;
    LOG_INFO("ha", "no cluster's leader moves the jobs of this Redis any more: this node does");
}

static void on_again(struct timer *timer)
{
    struct standalone *l = CONTAINER_OF(timer, struct standalone, again);

    if (!l->is_fenced_again && queue_has_led(l->queue)) {
        be_fenced_no_more(l);
        return;
    }
    if (l->is_fenced_again) /* else nobody has answered: Redis is away */
        standalone_start(l);
    l->is_fenced_again = false;
    timer_arm(l->timers, timer, HA_FENCED_AGAIN_MS);
}

/* Both are borrowed. */
static void standalone_init(struct standalone *l, struct queue *queue, struct timers *timers)
{
    *l = (struct standalone){.queue = queue, .timers = timers};
    timer_init(&l->again, on_again);
}

static void standalone_start(struct standalone *l)
{
    struct queue_leader leader = {.token = BYTES(""), .on_fenced = on_fenced, .arg = l};

    queue_lead(l->queue, &leader);
}

/* Each bucket has said that it takes this node. */
static void standalone_adopted(struct standalone *l)
{
    timer_disarm(l->timers, &l->again);
    be_fenced_no_more(l);
    standalone_start(l);
}

static void standalone_stop(struct standalone *l)
{
    timer_disarm(l->timers, &l->again);
}

/* ---- who scans ---- */

static void share_nobody(struct queue *queue)
{
    queue_share(queue, &(struct shares_view){.number = 0});
}

static void share_with(struct queue *queue, const struct ha_scanners *scanners)
{
    struct bytes nodes[SHARES_NODES_MAX];
    struct shares_view view = {.number = scanners->number, .nodes = nodes};

    for (; view.count < scanners->count && view.count < SHARES_NODES_MAX; view.count++)
        nodes[view.count] = bytes_of_text(scanners->nodes[view.count]);
    queue_share(queue, &view);
}

/* ---- the lead ---- */

#define FLAP_MAX 6 /* changes of the lead in ten minutes */

struct node_lead {
    struct node_lead_options options;
    struct coordinator *zookeeper; /* NULL: standalone */
    struct peers *peers;
    struct ha *ha;
    struct ha_journal journal;
    char root[sizeof("/dueq/") + 64];
    struct buf gmq, http, peer;     /* addresses for other nodes */
    char token[TOKEN_TEXT_LEN + 1]; /* it leads, or led, with it */
    struct timer writes; /* the lease to the journal, also where there is nothing to do */
    struct standalone standalone;
    struct timer unlisted; /* the store is away: when others take over what this node scans */
    struct timer stopped;
    int64_t until_mono_ms; /* stopping: how long it waits for the good-bye */
    void (*on_stopped)(void *arg);
    void *stopped_arg;
};

static int64_t now_boot_ms(void *arg)
{
    return clock_boot_ms();
}

static int64_t now_wall_ms(void *arg)
{
    return clock_wall_ms();
}

/* ---- what the queue says ---- */

/* What may be done is written down before it is done. */
static bool may_act(void *arg)
{
    struct node_lead *a = arg;

    if (!ha_may_act(a->ha))
        return false;
    ha_journal_lease(&a->journal, a->token, now_boot_ms(NULL), ha_until(a->ha));
    return true;
}

#define WRITES_PER_SESSION 24 /* twice as often as there can be a beat */

static void on_writes(struct timer *timer)
{
    struct node_lead *a = CONTAINER_OF(timer, struct node_lead, writes);

    (void)may_act(a);
    timer_arm(&a->options.loop->timers, timer,
              a->options.conf->ha.session_ms / WRITES_PER_SESSION);
}

static void on_app_fenced(void *arg, struct bytes seen)
{
    struct node_lead *a = arg;
    struct token token = {0};
    char text[TOKEN_TEXT_LEN + 1];

    if (token_parse_fence(&token, seen) != STATUS_OK)
        LOG_ERROR("ha", "the store's fence has what is no token: '%.*s'", BYTES_ARG(seen));
    token_print(&token, text);
    if (!token_is_none(&token))
        ha_journal_fenced(&a->journal, a->token, text, now_boot_ms(NULL));
    ha_fenced(a->ha, &token);
}

static void on_drained(void *arg)
{
    struct node_lead *a = arg;

    ha_drained(a->ha);
}

static void lead(struct node_lead *a, const struct token *token)
{
    struct queue_leader leader = {
        .may_act = may_act, .on_fenced = on_app_fenced, .on_drained = on_drained, .arg = a};

    token_print(token, a->token);
    leader.token = bytes_of_text(a->token);
    queue_lead(a->options.queue, &leader);
}

/* ---- what ha says ---- */

/* Written down first: it may act no more from then on, and does not. */
static void on_role(void *arg, const struct role *role, enum role_state before)
{
    struct node_lead *a = arg;
    char token[TOKEN_TEXT_LEN + 1];

    token_print(&role->token, token);
    ha_journal_role(&a->journal, role_word(role->state), role_word(before),
                    role_reason_word(role->reason), token, now_boot_ms(NULL));
    if (role->state == ROLE_LEADER)
        lead(a, &role->token);
    else
        queue_deactivate(a->options.queue);
    if (a->options.on_role)
        a->options.on_role(a->options.arg, role, before);
}

static void on_scanners(void *arg, const struct ha_scanners *scanners)
{
    struct node_lead *a = arg;

    share_with(a->options.queue, scanners);
}

static void on_refused(void *arg, const char *why)
{
    struct node_lead *a = arg;

    a->options.on_refused(a->options.arg, why);
}

/* ---- making it ---- */

/* "host:port": the port is the listener's, the host too where none is advertised. */
static void print_address(const struct node_lead *a, int fd, struct buf *to)
{
    const char *host = a->options.conf->ha.advertise;
    struct buf own = BUF_INIT;

    if (fd < 0)
        return;
    listen_print(fd, &own);
    if (!*host)
        buf_add_bytes(to, buf_bytes(&own));
    else
        buf_printf(to, strchr(host, ':') ? "[%s]%s" : "%s%s", host,
                   strrchr(buf_text(&own), ':'));
    buf_fini(&own);
}

static void join_parts(struct node_lead *a)
{
    const struct conf *conf = a->options.conf;
    struct zk_options zk = {.servers = conf->ha.zookeeper,
                            .auth = conf->ha.auth,
                            .session_ms = conf->ha.session_ms};
    struct peer_options link = {.node = conf->node.id,
                                .secret = conf->ha.secret,
                                .listen_fd = a->options.peer_fd,
                                .silence_ms = PEER_SILENCE_MS};
    struct ha_options options = {
        .node = conf->node.id,
        .root = a->root,
        .version = build_info()->full,
        .gmq = buf_text(&a->gmq),
        .http = buf_text(&a->http),
        .peer = buf_text(&a->peer),
        .incarnation = a->options.incarnation,
        .session_ms = conf->ha.session_ms,
        .on_loss = conf->ha.on_loss == HA_ON_LOSS_FAILSAFE ? HA_FAILSAFE : HA_STOP,
        .priority = conf->ha.priority,
        .no_failover = conf->ha.no_failover,
        .tenure_ms = conf->ha.tenure_ms,
        .flap_max = FLAP_MAX,
        .shares = conf->ha.mode == HA_MODE_CLUSTER,
        .now_boot_ms = now_boot_ms,
        .now_wall_ms = now_wall_ms,
        .on_role = on_role,
        .on_refused = on_refused,
        .on_scanners = on_scanners,
        .arg = a,
    };

    a->zookeeper = zk_coordinator_new(&zk, a->options.loop);
    a->peers = peer_link_new(&link, a->options.loop);
    a->ha = ha_new(&options, a->zookeeper, a->peers, &a->options.loop->timers);
}

#define GOOD_BYE_MS 500 /* for ZooKeeper to confirm that the session is over */
#define LOOK_MS     5

static void on_turn(struct timer *timer)
{
    struct node_lead *a = CONTAINER_OF(timer, struct node_lead, stopped);
    struct timers *timers = &a->options.loop->timers;

    if (a->zookeeper && a->zookeeper->leaving && timers_now(timers) < a->until_mono_ms) {
        timer_arm(timers, timer, LOOK_MS);
        return;
    }
    a->on_stopped(a->stopped_arg);
}

#define UNLISTED_AFTER_MS 200 /* a link that comes back at once moves no share */

static void on_unlisted(struct timer *timer)
{
    ha_scans(CONTAINER_OF(timer, struct node_lead, unlisted)->ha, false);
}

struct node_lead *node_lead_new(const struct node_lead_options *options)
{
    const struct conf *conf = options->conf;
    struct node_lead *a = calloc(1, sizeof(*a));

    if (!a)
        abort();
    a->options = *options;
    a->journal.fd = -1;
    timer_init(&a->writes, on_writes);
    standalone_init(&a->standalone, options->queue, &options->loop->timers);
    timer_init(&a->unlisted, on_unlisted);
    timer_init(&a->stopped, on_turn);
    if (!conf_has_others(conf))
        return a;
    snprintf(a->root, sizeof(a->root), "/dueq/%s", conf->ha.cluster);
    print_address(a, options->port_fds[PORT_GMQ], &a->gmq);
    print_address(a, options->port_fds[PORT_HTTP], &a->http);
    print_address(a, options->peer_fd, &a->peer);
    if (conf->ha.journal)
        ha_journal_open(&a->journal, conf->node.data_dir, conf->node.id);
    join_parts(a);
    if (a->journal.fd >= 0)
        timer_arm(&options->loop->timers, &a->writes, 0);
    return a;
}

void node_lead_free(struct node_lead *a)
{
    if (!a)
        return;
    ha_free(a->ha);
    zk_coordinator_free(a->zookeeper);
    peer_link_free(a->peers);
    ha_journal_close(&a->journal);
    timer_disarm(&a->options.loop->timers, &a->writes);
    standalone_stop(&a->standalone);
    timer_disarm(&a->options.loop->timers, &a->unlisted);
    timer_disarm(&a->options.loop->timers, &a->stopped);
    buf_fini(&a->gmq);
    buf_fini(&a->http);
    buf_fini(&a->peer);
    free(a);
}

/* ---- its life ---- */

void node_lead_start(struct node_lead *a)
{
    if (a->options.conf->ha.mode == HA_MODE_CLUSTER)
        share_nobody(a->options.queue);
    if (a->ha)
        ha_start(a->ha);
    else
        standalone_start(&a->standalone);
}

/* From inside ha's tick: what follows is done in a turn of its own. */
static void on_ha_stopped(void *arg)
{
    struct node_lead *a = arg;

    a->until_mono_ms = timers_now(&a->options.loop->timers) + GOOD_BYE_MS;
    timer_arm(&a->options.loop->timers, &a->stopped, 0);
}

void node_lead_stop(struct node_lead *a, void (*on_stopped)(void *arg), void *arg)
{
    a->on_stopped = on_stopped;
    a->stopped_arg = arg;
    standalone_stop(&a->standalone);
    if (a->ha)
        ha_stop(a->ha, on_ha_stopped, a);
    else
        on_ha_stopped(a);
}

void node_lead_store_is(struct node_lead *a, bool is_up)
{
    struct timers *timers = &a->options.loop->timers;

    if (!a->ha)
        return;
    ha_store_is(a->ha, is_up);
    timer_disarm(timers, &a->unlisted);
    if (is_up)
        ha_scans(a->ha, true);
    else
        timer_arm(timers, &a->unlisted, UNLISTED_AFTER_MS);
}

void node_lead_store_answers(struct node_lead *a, bool answers)
{
    if (a->ha)
        ha_store_is(a->ha, answers);
}

void node_lead_address_is(struct node_lead *a, bool is_possible)
{
    if (a->ha)
        ha_address_is(a->ha, is_possible);
}

void node_lead_note_address(struct node_lead *a, const char *state)
{
    ha_journal_vip(&a->journal, state, now_boot_ms(NULL));
}

/* With the virtual address: who could not have it may lead all the same, last of all. */
static bool could_lead(const struct ha_node *n)
{
    return n->is_here && n->is_member && n->store_up && !n->no_failover && !n->is_address_away;
}

bool node_lead_has_successor(const struct node_lead *a)
{
    struct ha_status s;

    if (!a->ha)
        return false;
    ha_status(a->ha, &s);
    for (unsigned i = 0; i < s.node_count && !s.is_paused; i++)
        if (could_lead(&s.nodes[i]) && strcmp(s.nodes[i].name, a->options.conf->node.id) != 0)
            return true;
    return false;
}

/* Does this node lead, and act? Then the store is its own already. */
static bool leads_unfenced(const struct ha_status *status)
{
    return status->role->state == ROLE_LEADER && !status->refused[0];
}

bool node_lead_adopt(struct node_lead *a, struct adoption *adoption)
{
    struct ha_status status;

    _Static_assert(TOKEN_TEXT_LEN <= OP_TOKEN_MAX, "a token is one of the store's");
    _Static_assert(!__builtin_strcmp(TOKEN_STANDALONE, OP_TOKEN_STANDALONE), "one word");
    adoption->token[0] = '\0';
    if (a->ha) {
        ha_status(a->ha, &status);
        if (token_is_none(&status.leader_token) || status.lease_left_ms == 0 ||
            leads_unfenced(&status))
            return false;
        token_print(&status.leader_token, adoption->token);
    } else if (!a->standalone.is_fenced) {
        return false;
    }
    queue_adopt(a->options.queue, adoption);
    return true;
}

void node_lead_adopted(struct node_lead *a)
{
    if (!a->ha)
        standalone_adopted(&a->standalone);
}

bool node_lead_is_fenced_alone(const struct node_lead *a)
{
    return a->standalone.is_fenced;
}

uint64_t node_lead_fenced_alone_count(const struct node_lead *a)
{
    return a->standalone.fenced_count;
}

struct ha *node_lead_ha(struct node_lead *a)
{
    return a->ha;
}

struct coord_credentials node_lead_session(const struct node_lead *a)
{
    static const struct coord_credentials none;
    const struct coordinator *zookeeper = a ? a->zookeeper : NULL;

    if (!zookeeper)
        return none;
    if (zookeeper->session == COORD_SESSION_CLOSED)
        return zookeeper->left;
    if (zookeeper->session != COORD_SESSION_CONNECTED &&
        zookeeper->session != COORD_SESSION_CONNECTING)
        return none;
    return zookeeper->credentials;
}

unsigned node_lead_peers_up(const struct node_lead *a)
{
    return a->peers ? peer_link_up_count(a->peers) : 0;
}
