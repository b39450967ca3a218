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
#include "node/channel.h"
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

static void standalone_start(struct standalone *s);

#define SAY_MS 60000

static void on_fenced(void *arg, struct bytes seen)
{
    struct standalone *s = arg;
    int64_t now = timers_now(s->timers);

    if (!s->is_fenced || now >= s->say_at_mono_ms) {
        LOG_ERROR(
            "ha",
            "a cluster's leader moves the jobs of this Redis: a standalone node does not. Set "
            "ha.mode: standby or cluster and its ha.zookeeper, or give this node another "
            "store.redis or store.prefix. Where that cluster is gone for good: dueqctl fence "
            "adopt");
        s->say_at_mono_ms = now + SAY_MS;
    }
    s->is_fenced = s->is_fenced_again = true;
    s->fenced_count++;
    timer_arm(s->timers, &s->again, HA_FENCED_AGAIN_MS);
}

static void be_fenced_no_more(struct standalone *s)
{
    s->is_fenced = s->is_fenced_again = false;
    LOG_INFO("ha", "no cluster's leader moves the jobs of this Redis any more: this node does");
}

static void on_again(struct timer *timer)
{
    struct standalone *s = CONTAINER_OF(timer, struct standalone, again);

    if (!s->is_fenced_again && queue_has_led(s->queue)) {
        be_fenced_no_more(s);
        return;
    }
    if (s->is_fenced_again) /* else there was no answer: Redis is away */
        standalone_start(s);
    s->is_fenced_again = false;
    timer_arm(s->timers, timer, HA_FENCED_AGAIN_MS);
}

static void standalone_start(struct standalone *s)
{
    struct queue_leader leader = {.token = BYTES(""), .on_fenced = on_fenced, .arg = s};

    queue_lead(s->queue, &leader);
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
    struct buf gmq, http, admin, peer; /* addresses for other nodes */
    char token[TOKEN_TEXT_LEN + 1];    /* it leads, or led, with it */
    struct timer writes; /* writes the lease to the journal, also while the queue is idle */
    struct standalone standalone;
    struct timer unlisted; /* store away: then other nodes take over its topics */
    struct timer stopped;
    int64_t until_mono_ms; /* stopping: until then it waits for the good-bye */
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

/* The lease is in the journal before anything is done with it. */
static bool may_act(void *arg)
{
    struct node_lead *l = arg;

    if (!ha_may_act(l->ha))
        return false;
    ha_journal_lease(&l->journal, l->token, now_boot_ms(NULL), ha_until(l->ha));
    return true;
}

#define WRITES_PER_SESSION 24 /* twice as often as there can be a beat */

static void on_writes(struct timer *timer)
{
    struct node_lead *l = CONTAINER_OF(timer, struct node_lead, writes);

    (void)may_act(l);
    timer_arm(&l->options.loop->timers, timer,
              l->options.conf->ha.session_ms / WRITES_PER_SESSION);
}

static void on_app_fenced(void *arg, struct bytes seen)
{
    struct node_lead *l = arg;
    struct token token = {0};
    char text[TOKEN_TEXT_LEN + 1];

    if (token_parse_fence(&token, seen) != STATUS_OK)
        LOG_ERROR("ha", "the store's fence has what is no token: '%.*s'", BYTES_ARG(seen));
    token_print(&token, text);
    if (!token_is_none(&token))
        ha_journal_fenced(&l->journal, l->token, text, now_boot_ms(NULL));
    ha_fenced(l->ha, &token);
}

static void on_drained(void *arg)
{
    struct node_lead *l = arg;

    ha_drained(l->ha);
}

static void lead(struct node_lead *l, const struct token *token)
{
    struct queue_leader leader = {
        .may_act = may_act, .on_fenced = on_app_fenced, .on_drained = on_drained, .arg = l};

    token_print(token, l->token);
    leader.token = bytes_of_text(l->token);
    queue_lead(l->options.queue, &leader);
}

/* ---- what the nodes can read ---- */

#define LEASE_CHECK "lease_check" /* an ability: reads leases with their check */

static enum lease_readers read_lease_readers(void *arg)
{
    static const enum lease_readers readers[] = {
        [HA_ABILITY_ALL] = LEASE_READERS_ALL,
        [HA_ABILITY_SOME] = LEASE_READERS_SOME,
        [HA_ABILITY_UNKNOWN] = LEASE_READERS_UNKNOWN,
    };
    struct node_lead *l = arg;

    return readers[ha_ability(l->ha, LEASE_CHECK)];
}

/* ---- what ha says ---- */

/* The journal comes first: from that line on the node may act no more. */
static void on_role(void *arg, const struct role *role, enum role_state before)
{
    struct node_lead *l = arg;
    char token[TOKEN_TEXT_LEN + 1];

    token_print(&role->token, token);
    ha_journal_role(&l->journal, role_word(role->state), role_word(before),
                    role_reason_word(role->reason), token, now_boot_ms(NULL));
    if (role->state == ROLE_LEADER)
        lead(l, &role->token);
    else
        queue_deactivate(l->options.queue);
    if (l->options.on_role)
        l->options.on_role(l->options.arg, role, before);
}

static void on_scanners(void *arg, const struct ha_scanners *scanners)
{
    struct node_lead *l = arg;
    struct bytes nodes[SHARES_NODES_MAX];
    struct shares_view view = {.number = scanners->number, .nodes = nodes};

    for (; view.count < scanners->count && view.count < SHARES_NODES_MAX; view.count++)
        nodes[view.count] = bytes_of_text(scanners->nodes[view.count]);
    queue_share(l->options.queue, &view);
}

static void on_refused(void *arg, const char *why)
{
    struct node_lead *l = arg;

    l->options.on_refused(l->options.arg, why);
}

/* ---- making it ---- */

/* "host:port": the port is the listener's, the host too where none is advertised. Nothing of a
 * socket of this machine, which is nowhere for others. */
static void print_address(const struct node_lead *l, int fd, struct buf *to)
{
    const char *host = l->options.conf->ha.advertise;
    struct buf own = BUF_INIT;

    if (fd < 0)
        return;
    listen_print(fd, &own);
    if (buf_text(&own)[0] == '/')
        buf_clear(&own);
    else if (!*host)
        buf_add_bytes(to, buf_bytes(&own));
    else
        buf_printf(to, strchr(host, ':') ? "[%s]%s" : "%s%s", host,
                   strrchr(buf_text(&own), ':'));
    buf_fini(&own);
}

/* "https://" in front where the port takes nothing else. */
static void print_url(const struct node_lead *l, enum conf_port port, struct buf *to)
{
    struct buf address = BUF_INIT;

    print_address(l, l->options.port_fds[port], &address);
    if (address.len && l->options.conf->port_tls[port] == PORT_TLS_REQUIRED)
        buf_add_text(to, "https://");
    buf_add_bytes(to, buf_bytes(&address));
    buf_fini(&address);
}

/* Can other nodes reach the port? Where their own link does not leave this machine, they are
 * here. */
static bool is_for_others(int fd, int peer_fd)
{
    return fd >= 0 && (!listen_is_local(fd) || (peer_fd >= 0 && listen_is_local(peer_fd)));
}

static const enum peer_tls_mode tls_modes[] = {
    [HA_TLS_OFF] = PEER_TLS_OFF,
    [HA_TLS_OPTIONAL] = PEER_TLS_OPTIONAL,
    [HA_TLS_REQUIRED] = PEER_TLS_REQUIRED,
};

static void join_parts(struct node_lead *l)
{
    const struct conf *conf = l->options.conf;
    struct zk_options zk = {.servers = conf->ha.zookeeper,
                            .auth = conf->ha.auth,
                            .session_ms = conf->ha.session_ms};
    struct peer_options link = {.node = conf->node.id,
                                .cluster = conf->ha.cluster,
                                .secret = conf->ha.secret,
                                .secret_old = conf->ha.secret_old,
                                .tls = tls_modes[conf->ha.peer_tls],
                                .listen_fd = l->options.peer_fd,
                                .silence_ms = PEER_SILENCE_MS};
    struct ha_options options = {
        .node = conf->node.id,
        .root = l->root,
        .version = build_info()->full,
        .abilities = LEASE_CHECK,
        .gmq = buf_text(&l->gmq),
        .http = buf_text(&l->http),
        .admin = buf_text(&l->admin),
        .peer = buf_text(&l->peer),
        .incarnation = l->options.incarnation,
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
        .arg = l,
    };

    l->zookeeper = zk_coordinator_new(&zk, l->options.loop);
    l->peers = peer_link_new(&link, l->options.loop);
    l->ha = ha_new(&options, l->zookeeper, l->peers, &l->options.loop->timers);
    queue_ask_lease_readers(l->options.queue, read_lease_readers, l);
}

#define GOOD_BYE_MS 500 /* for ZooKeeper to confirm that the session is over */
#define LOOK_MS     5

static void on_turn(struct timer *timer)
{
    struct node_lead *l = CONTAINER_OF(timer, struct node_lead, stopped);
    struct timers *timers = &l->options.loop->timers;

    if (l->zookeeper && l->zookeeper->leaving && timers_now(timers) < l->until_mono_ms) {
        timer_arm(timers, timer, LOOK_MS);
        return;
    }
    l->on_stopped(l->stopped_arg);
}

#define UNLISTED_AFTER_MS 200 /* a link that comes back at once moves no share */

static void on_unlisted(struct timer *timer)
{
    ha_scans(CONTAINER_OF(timer, struct node_lead, unlisted)->ha, false);
}

struct node_lead *node_lead_new(const struct node_lead_options *options)
{
    const struct conf *conf = options->conf;
    struct node_lead *l = must(calloc(1, sizeof(*l)));

    l->options = *options;
    l->journal.fd = -1;
    timer_init(&l->writes, on_writes);
    l->standalone =
        (struct standalone){.queue = options->queue, .timers = &options->loop->timers};
    timer_init(&l->standalone.again, on_again);
    timer_init(&l->unlisted, on_unlisted);
    timer_init(&l->stopped, on_turn);
    if (!conf_has_others(conf))
        return l;
    snprintf(l->root, sizeof(l->root), "/dueq/%s", conf->ha.cluster);
    print_address(l, options->port_fds[PORT_GMQ], &l->gmq);
    print_url(l, PORT_HTTP, &l->http);
    if (is_for_others(options->port_fds[PORT_ADMIN], options->peer_fd))
        print_url(l, PORT_ADMIN, &l->admin);
    print_address(l, options->peer_fd, &l->peer);
    if (conf->ha.journal)
        ha_journal_open(&l->journal, conf->node.data_dir, conf->node.id);
    join_parts(l);
    if (l->journal.fd >= 0)
        timer_arm(&options->loop->timers, &l->writes, 0);
    return l;
}

void node_lead_free(struct node_lead *l)
{
    if (!l)
        return;
    ha_free(l->ha);
    zk_coordinator_free(l->zookeeper);
    peer_link_free(l->peers);
    ha_journal_close(&l->journal);
    timer_disarm(&l->options.loop->timers, &l->writes);
    timer_disarm(&l->options.loop->timers, &l->standalone.again);
    timer_disarm(&l->options.loop->timers, &l->unlisted);
    timer_disarm(&l->options.loop->timers, &l->stopped);
    buf_fini(&l->gmq);
    buf_fini(&l->http);
    buf_fini(&l->admin);
    buf_fini(&l->peer);
    free(l);
}

/* ---- its life ---- */

void node_lead_start(struct node_lead *l)
{
    if (l->options.conf->ha.mode == HA_MODE_CLUSTER)
        queue_share(l->options.queue, &(struct shares_view){.number = 0}); /* nobody yet */
    if (l->ha)
        ha_start(l->ha);
    else
        standalone_start(&l->standalone);
}

/* Called from inside ha's tick: the rest is done in a turn of its own. */
static void on_ha_stopped(void *arg)
{
    struct node_lead *l = arg;

    l->until_mono_ms = timers_now(&l->options.loop->timers) + GOOD_BYE_MS;
    timer_arm(&l->options.loop->timers, &l->stopped, 0);
}

void node_lead_stop(struct node_lead *l, void (*on_stopped)(void *arg), void *arg)
{
    l->on_stopped = on_stopped;
    l->stopped_arg = arg;
    timer_disarm(&l->options.loop->timers, &l->standalone.again);
    if (l->ha)
        ha_stop(l->ha, on_ha_stopped, l);
    else
        on_ha_stopped(l);
}

void node_lead_store_is(struct node_lead *l, bool is_up)
{
    struct timers *timers = &l->options.loop->timers;

    if (!l->ha)
        return;
    ha_store_is(l->ha, is_up);
    timer_disarm(timers, &l->unlisted);
    if (is_up)
        ha_scans(l->ha, true);
    else
        timer_arm(timers, &l->unlisted, UNLISTED_AFTER_MS);
}

void node_lead_store_answers(struct node_lead *l, bool answers)
{
    if (l->ha)
        ha_store_is(l->ha, answers);
}

void node_lead_address_is(struct node_lead *l, bool is_possible)
{
    if (l->ha)
        ha_address_is(l->ha, is_possible);
}

void node_lead_note_address(struct node_lead *l, const char *state)
{
    ha_journal_vip(&l->journal, state, now_boot_ms(NULL));
}

/* With the virtual address: a node that could not have it may lead, but last of all. */
static bool could_lead(const struct ha_node *n)
{
    return n->is_here && n->is_member && n->store_up && !n->no_failover && !n->is_address_away;
}

bool node_lead_has_successor(const struct node_lead *l)
{
    struct ha_status s;

    if (!l->ha)
        return false;
    ha_status(l->ha, &s);
    for (unsigned i = 0; i < s.node_count && !s.is_paused; i++)
        if (could_lead(&s.nodes[i]) && strcmp(s.nodes[i].name, l->options.conf->node.id) != 0)
            return true;
    return false;
}

/* Does this node lead, and act? Then the store is its own already. */
static bool leads_unfenced(const struct ha_status *status)
{
    return status->role->state == ROLE_LEADER && !status->refused[0];
}

bool node_lead_adopt(struct node_lead *l, struct adoption *adoption)
{
    struct ha_status status;

    _Static_assert(TOKEN_TEXT_LEN <= OP_TOKEN_MAX, "a token is one of the store's");
    _Static_assert(!__builtin_strcmp(TOKEN_STANDALONE, OP_TOKEN_STANDALONE), "one word");
    adoption->token[0] = '\0';
    if (l->ha) {
        ha_status(l->ha, &status);
        if (token_is_none(&status.leader_token) || status.lease_left_ms == 0 ||
            leads_unfenced(&status))
            return false;
        token_print(&status.leader_token, adoption->token);
    } else if (!l->standalone.is_fenced) {
        return false;
    }
    queue_adopt(l->options.queue, adoption);
    return true;
}

void node_lead_adopted(struct node_lead *l)
{
    if (l->ha)
        return;
    /* All buckets have accepted this node. */
    timer_disarm(l->standalone.timers, &l->standalone.again);
    be_fenced_no_more(&l->standalone);
    standalone_start(&l->standalone);
}

bool node_lead_is_standalone_fenced(const struct node_lead *l)
{
    return l->standalone.is_fenced;
}

uint64_t node_lead_standalone_fenced_count(const struct node_lead *l)
{
    return l->standalone.fenced_count;
}

struct ha *node_lead_ha(struct node_lead *l)
{
    return l->ha;
}

struct coord_credentials node_lead_session(const struct node_lead *l)
{
    static const struct coord_credentials none;
    const struct coordinator *zookeeper = l ? l->zookeeper : NULL;

    if (!zookeeper)
        return none;
    if (zookeeper->session == COORD_SESSION_CLOSED)
        return zookeeper->left;
    if (zookeeper->session != COORD_SESSION_CONNECTED &&
        zookeeper->session != COORD_SESSION_CONNECTING)
        return none;
    return zookeeper->credentials;
}

void node_lead_report_session(const struct node_lead *l, struct channel_reported *warden)
{
    struct coord_credentials session = node_lead_session(l);

    (void)channel_report_session(warden, &session);
}

void node_lead_report_address(const struct node_lead *l, struct channel_reported *warden)
{
    (void)channel_report_address(warden, l->ha && ha_may_act(l->ha) ? ha_until(l->ha) : 0);
}

/* Needed for the address alone: without a successor the warden need not wait to hear one. */
void node_lead_report_no_successor(const struct node_lead *l, struct channel_reported *warden)
{
    bool has_no_successor = l->ha && ha_may_act(l->ha) && !node_lead_has_successor(l);

    if (channel_report_no_successor(warden, has_no_successor))
        LOG_INFO("app", has_no_successor ? "leads, and no other node would take over"
                                         : "another node would take over, or leads");
}

unsigned node_lead_peers_up(const struct node_lead *l)
{
    return l->peers ? peer_link_up_count(l->peers) : 0;
}

unsigned node_lead_peers_plain(const struct node_lead *l)
{
    return l->peers ? peer_link_plain_count(l->peers) : 0;
}
