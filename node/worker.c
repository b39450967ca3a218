#include "node/worker.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/loop.h"
#include "ha/vip/vip.h"
#include "node/channel.h"
#include "node/identities.h"
#include "node/lead.h"
#include "node/patience.h"
#include "node/reload.h"
#include "node/report.h"
#include "node/store/redis/wire/tls.h"
#include "node/vip/vip_app.h"
#include "node/warden/listen.h"
#include "node/wiring.h"
#include "protocol/api/api.h"
#include "protocol/conn/tls.h"

#define SAY_AFTER_MS   2000
#define SAY_EVERY_MS   10000
#define BEATS_PER_HANG 5
#define BEAT_MAX_MS    (VIP_RENEW_MS * 2 / 3)

/* Each step begins when the one before it is over.
 *
 *   RUN
 *   STOP_LEAD     the lead is given away, the cluster left; clients are served as before, but
 *                 for those of the virtual address, which are let go
 *   STOP_VIP      until the next leader has that address, or nobody will
 *   STOP_CLIENTS  nobody is accepted, new requests are refused, those in work are answered
 *   STOP_QUEUE    the scanner ends, the last confirmations are sent
 *   STOP_STORE    the links close
 *   STOP_HOOK     until vip.hook, which moves the virtual address, has ended
 *   STOPPED       the loop ends
 */
enum worker_phase {
    WORKER_RUN,
    WORKER_STOP_LEAD,
    WORKER_STOP_VIP,
    WORKER_STOP_CLIENTS,
    WORKER_STOP_QUEUE,
    WORKER_STOP_STORE,
    WORKER_STOP_HOOK,
    WORKER_STOPPED
};

struct worker {
    const struct worker_options *options;
    struct conf *conf;
    struct loop *loop;
    struct redis_store *store;
    struct redis_tls *store_tls;     /* NULL: not over TLS */
    struct report_store shown_store; /* as HTTP shows it */
    struct queue *queue;
    struct node_lead *lead;
    struct report_cluster cluster;
    struct hooks *hooks;
    struct hook_hold hold;
    struct vip_app *vip;
    struct wiring_rules rules;
    struct api api; /* what it serves */
    struct identities identities;
    struct tls *tls;
    struct wiring_ports ports_from;
    struct port *ports[WIRING_PORTS]; /* those that are open, */
    unsigned which[WIRING_PORTS];
    unsigned port_count; /* so many */
    struct event *on_term;
    struct event *on_hup;
    struct event *on_usr1;
    struct timer beat;
    struct channel_reported warden;
    pid_t take_group; /* vip.hook's; 0: it does not run */
    int exit_code;

    bool has_been_up;     /* the store, with this worker */
    bool has_joined;      /* the cluster, the same */
    struct timer waiting; /* until both are so: logs from time to time */
    char why[384];        /* the answer to "why are you not ready?" */

    enum worker_phase phase;
    bool has_successor;    /* when it began to stop */
    unsigned clients_left; /* STOP_CLIENTS: protocols that have not stopped yet */
    struct timer patience; /* with the store: see patience.h */
    struct patience for_store;
    bool is_store_stopping;
    bool is_store_stopped;
};

/* Ends the loop when everything has stopped. Harmless twice. */
static void stop(struct worker *w, const char *reason, int exit_code);

/* ---- signs of life ---- */

/* The warden renews the virtual address of a worker that is silent for VIP_RENEW_MS, so a
 * healthy worker beats oftener. */
static int64_t beat_ms(const struct worker *w)
{
    int64_t ms = w->options->silence_max_ms / BEATS_PER_HANG;

    return ms < BEAT_MAX_MS ? ms : BEAT_MAX_MS;
}

static void on_beat(struct timer *timer)
{
    struct worker *w = CONTAINER_OF(timer, struct worker, beat);

    node_lead_report_session(w->lead, &w->warden);
    node_lead_report_address(w->lead, &w->warden);
    node_lead_report_no_successor(w->lead, &w->warden);
    (void)channel_report_program(&w->warden, w->take_group);
    channel_send(w->options->channel_fd, CHANNEL_BEAT);
    timer_arm(&w->loop->timers, timer, beat_ms(w));
}

static void print_listener(struct buf *to, const char *before, const char *name, int fd)
{
    buf_printf(to, "%s%s ", before, name);
    if (fd >= 0)
        listen_print(fd, to);
    else
        buf_add_text(to, "off");
}

static void say_up(struct worker *w)
{
    char *dir = realpath(w->conf->node.data_dir, NULL);
    struct buf text = BUF_INIT;

    for (unsigned i = 0; i < CONF_PORTS; i++)
        print_listener(&text, i ? ", " : "", conf_port_word(i), w->options->port_fds[i]);
    print_listener(&text, ", ", "socket", w->options->socket_fd);
    LOG_INFO("app", "node %s is up: %s, store %s, data in %s, warden pid %d", w->conf->node.id,
             buf_text(&text), w->conf->store.redis.text, dir ? dir : w->conf->node.data_dir,
             (int)getppid());
    buf_fini(&text);
    free(dir);
}

static void on_waiting(struct timer *timer)
{
    struct worker *w = CONTAINER_OF(timer, struct worker, waiting);

    LOG_INFO("app", "waiting for the store (%s)", w->conf->store.redis.text);
    timer_arm(&w->loop->timers, timer, SAY_EVERY_MS);
}

/* ---- what the store and HTTP want to know ---- */

/* Store, cluster and configuration fit: a later misfit is passing, and the warden restarts the
 * worker however it ends. */
static void settle(struct worker *w)
{
    if (w->has_been_up && (w->has_joined || !node_lead_ha(w->lead)))
        channel_send(w->options->channel_fd, CHANNEL_STORE_UP);
}

static void on_store_up(void *arg)
{
    struct worker *w = arg;

    node_lead_store_is(w->lead, true);
    if (w->has_been_up || w->phase != WORKER_RUN)
        return;
    w->has_been_up = true;
    timer_disarm(&w->loop->timers, &w->waiting);
    settle(w);
    say_up(w);
}

static void on_store_down(void *arg)
{
    struct worker *w = arg;

    node_lead_store_is(w->lead, false);
}

/* The connection still exists: shares are kept, and waiting operations wait on. */
static void on_store_silence(void *arg, bool is_silent)
{
    struct worker *w = arg;

    node_lead_store_answers(w->lead,
                            !is_silent && redis_store_stats(w->store)->state == REDIS_STORE_UP);
}

static void on_role(void *arg, const struct role *role, enum role_state before)
{
    struct worker *w = arg;

    node_lead_report_session(w->lead, &w->warden);
    /* First: the warden must not renew an address removed here. */
    node_lead_report_address(w->lead, &w->warden);
    vip_app_role(w->vip, role);
    if (!w->has_joined && role->state != ROLE_OFFLINE) {
        w->has_joined = true;
        settle(w);
    }
    report_cluster_tell(&w->hold, role, before);
}

/* The cluster's set-up is wrong; the module that found it has logged why. */
static void on_cluster_refused(void *arg, const char *why)
{
    stop(arg, "the cluster and the configuration do not fit", EX_CONFIG);
}

/* A starting node ends, so that somebody notices. A working node goes on: its Redis may be
 * replaced for a moment only. */
static void on_refused(void *arg, const char *why)
{
    struct worker *w = arg;

    LOG_ERROR("app", "this store cannot be used: %s", why);
    if (!w->has_been_up && !w->options->store_was_up)
        stop(w, "the store and the configuration do not fit", EX_CONFIG);
}

#define SILENT_FOR_LONG_MS 2000 /* a Redis that stands still for less is waited for */

static bool is_silent_for_long(const struct worker *w)
{
    int64_t since_mono_ms = redis_store_stats(w->store)->silent_since_mono_ms;

    return since_mono_ms && timers_now(&w->loop->timers) >= since_mono_ms + SILENT_FOR_LONG_MS;
}

static const char *why_not_ready(void *arg)
{
    static const char *const words[] = {
        [REDIS_STORE_DOWN] = "the store cannot be used",
        [REDIS_STORE_UNHEARD] = "the store does not send wake-ups",
    };
    struct worker *w = arg;
    enum redis_store_state state = redis_store_stats(w->store)->state;
    const char *why = redis_store_why(w->store);

    if (state == REDIS_STORE_UP && redis_store_stats(w->store)->breaker == BREAKER_OPEN)
        return "the store does not answer: the circuit breaker is open";
    if (state == REDIS_STORE_UP && is_silent_for_long(w))
        return "the store does not answer";
    if (state == REDIS_STORE_UP) {
        why = redis_store_refuses_writes(w->store);
        return why ? why : registry_trouble(&w->identities.registry);
    }
    if (w->options->redis && w->options->redis->cannot_write)
        snprintf(
            w->why, sizeof(w->why),
            "the embedded Redis cannot write its file: the disk of %.256s is full, or fails",
            w->conf->node.data_dir);
    else
        snprintf(w->why, sizeof(w->why), "%s%s%s", words[state], *why ? ": " : " yet", why);
    return w->why;
}

static void read_store(void *arg, struct store_numbers *numbers)
{
    struct worker *w = arg;

    report_store_read(&w->shown_store, numbers);
}

_Static_assert(WIRING_PORTS <= API_PORTS_MAX, "every port is reported");

static unsigned read_ports(void *arg, const struct port_stats **ports)
{
    const struct worker *w = arg;
    unsigned count = 0;

    for (unsigned i = 0; i < w->port_count; i++)
        ports[count++] = &w->ports[i]->stats;
    return count;
}

/* ---- signals ---- */

static void on_term(int number, short what, void *arg)
{
    struct worker *w = arg;

    loop_touch(w->loop);
    stop(w, "the warden asks for it", EXIT_SUCCESS);
}

static void on_hup(int number, short what, void *arg)
{
    struct worker *w = arg;
    struct redis_store_options store;
    struct queue_options queue;

    loop_touch(w->loop);
    reload_conf(w->conf, w->options->request, w->options->audit, false);
    store = wiring_store_options(w->conf, "");
    if (w->store_tls)
        wiring_store_tls_load(w->store_tls, w->conf);
    redis_store_reload(w->store, &store);
    wiring_rules_set(&w->rules, w->conf);
    queue = wiring_queue_options(w->conf, &w->rules);
    queue_reload(w->queue, &queue);
    wiring_tls_load(w->tls, w->conf);
    w->api.metrics_topics = w->conf->http.metrics_topics;
    for (unsigned i = 0; i < w->port_count; i++)
        wiring_port_reload(&w->ports_from, w->which[i], w->ports[i]);
    identities_load(&w->identities);
}

static void on_usr1(int number, short what, void *arg)
{
    struct worker *w = arg;

    loop_touch(w->loop);
    for (unsigned i = 0; i < w->port_count; i++)
        if (w->ports[i]->ops->drain)
            w->ports[i]->ops->drain(w->ports[i]);
}

static struct event *watch_signal(struct worker *w, int number,
                                  void (*on_signal)(int number, short what, void *arg))
{
    struct event *event = evsignal_new(w->loop->base, number, on_signal, w);

    if (!event || event_add(event, NULL))
        abort();
    return event;
}

/* They were blocked since before the fork, so none was missed. */
static void watch_signals(struct worker *w)
{
    sigset_t none;

    w->on_term = watch_signal(w, SIGTERM, on_term);
    w->on_hup = watch_signal(w, SIGHUP, on_hup);
    w->on_usr1 = watch_signal(w, SIGUSR1, on_usr1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- the virtual address ---- */

static bool may_hold(void *arg)
{
    struct worker *w = arg;

    return node_lead_ha(w->lead) && ha_may_hold(node_lead_ha(w->lead));
}

static void on_state(void *arg, const char *state)
{
    struct worker *w = arg;

    node_lead_note_address(w->lead, state);
}

static void on_possible(void *arg, bool is_possible)
{
    struct worker *w = arg;

    node_lead_address_is(w->lead, is_possible);
}

static void on_take(void *arg, pid_t group)
{
    struct worker *w = arg;

    w->take_group = group;
    (void)channel_report_program(&w->warden, group);
}

static struct vip_app *open_vip(struct worker *w)
{
    const struct vip_app_options options = {.conf = w->conf,
                                            .loop = w->loop,
                                            .may_hold = may_hold,
                                            .on_state = on_state,
                                            .on_possible = on_possible,
                                            .on_take = on_take,
                                            .arg = w};

    return vip_app_new(&options);
}

/* ---- making and joining ---- */

static enum status open_store(struct worker *w, const char *address)
{
    struct redis_store_options options = wiring_store_options(w->conf, address);

    if (w->conf->store.redis.is_tls) {
        w->store_tls = redis_tls_new(w->loop);
        wiring_store_tls_load(w->store_tls, w->conf);
    }
    options.tls = w->store_tls;
    options.aof_cut_bytes = w->options->redis ? &w->options->redis->cut_bytes : NULL;
    options.on_refused = on_refused;
    options.on_up = on_store_up;
    options.on_down = on_store_down;
    options.on_silence = on_store_silence;
    options.arg = w;
    w->store = redis_store_new(w->loop, &options);
    w->shown_store = (struct report_store){
        .store = w->store, .buckets = options.buckets, .aof_cut_bytes = options.aof_cut_bytes};
    return w->store ? STATUS_OK : STATUS_BAD_CONFIG;
}

static void open_port(struct worker *w, unsigned which, int fd)
{
    if (fd < 0)
        return;
    w->which[w->port_count] = which;
    w->ports[w->port_count++] = wiring_port_open(&w->ports_from, which, fd);
}

static void open_ports(struct worker *w)
{
    w->identities = (struct identities){.conf = w->conf, .ports = w->ports, .which = w->which};
    identities_init(&w->identities, w->queue, &w->loop->timers);
    w->api = (struct api){.queue = w->queue,
                          .loop = w->loop,
                          .registry = &w->identities.registry,
                          .node = {.name = w->conf->node.id,
                                   .why_not_ready = why_not_ready,
                                   .read_store = read_store,
                                   .read_ports = read_ports,
                                   .cluster = &w->cluster.port,
                                   .arg = w},
                          .metrics_topics = w->conf->http.metrics_topics,
                          .start_mono_ms = timers_now(&w->loop->timers)};
    w->tls = tls_new(w->loop);
    wiring_tls_load(w->tls, w->conf);
    w->ports_from = (struct wiring_ports){.conf = w->conf,
                                          .loop = w->loop,
                                          .queue = w->queue,
                                          .api = &w->api,
                                          .audit = w->options->audit,
                                          .access = w->identities.access,
                                          .tls = w->tls};
    for (unsigned i = 0; i < CONF_PORTS; i++)
        open_port(w, i, w->options->port_fds[i]);
    open_port(w, WIRING_SOCKET, w->options->socket_fd);
    w->identities.port_count = w->port_count;
    identities_load(&w->identities);
    vip_app_serve(w->vip, w->ports, w->port_count);
}

static void join_cluster(struct worker *w)
{
    const struct worker_options *o = w->options;
    struct node_lead_options options = {
        .conf = w->conf,
        .loop = w->loop,
        .queue = w->queue,
        .port_fds = o->port_fds,
        .peer_fd = o->peer_fd,
        .incarnation = o->incarnation,
        .on_refused = on_cluster_refused,
        .on_role = on_role,
        .arg = w,
    };

    w->hooks = hooks_new(w->loop, w->conf->ha.hook, w->conf->node.id, HOOKS_TIMEOUT_MS);
    hook_hold_init(&w->hold, w->hooks, &w->loop->timers, w->conf->ha.session_ms);
    w->lead = node_lead_new(&options);
    w->vip = open_vip(w);
    w->cluster = (struct report_cluster){.lead = w->lead,
                                         .queue = w->queue,
                                         .vip = w->vip,
                                         .timers = &w->loop->timers,
                                         .hooks = w->hooks,
                                         .node = w->conf->node.id,
                                         .asked_ms = w->conf->ha.session_ms};
    report_cluster_init(&w->cluster);
    node_lead_start(w->lead);
}

static void on_stall(void *arg)
{
    struct worker *w = arg;

    redis_store_stood_still(w->store);
}

static void start(struct worker *w)
{
    struct queue_options options;

    wiring_rules_set(&w->rules, w->conf);
    options = wiring_queue_options(w->conf, &w->rules);
    w->queue = queue_new(&options, redis_store_port(w->store), &w->loop->timers);
    join_cluster(w);
    open_ports(w);
    redis_store_start(w->store);
    w->loop->on_stall = on_stall;
    w->loop->arg = w;
    timer_init(&w->waiting, on_waiting);
    timer_arm(&w->loop->timers, &w->waiting, SAY_AFTER_MS);
}

static void release(struct worker *w)
{
    vip_app_free(w->vip);
    while (w->port_count)
        port_free(w->ports[--w->port_count]);
    identities_fini(&w->identities);
    tls_free(w->tls);
    node_lead_free(w->lead);
    hook_hold_fini(&w->hold);
    hooks_free(w->hooks);
    queue_free(w->queue);
    redis_store_free(w->store);
    redis_tls_free(w->store_tls);
    event_free(w->on_term);
    event_free(w->on_hup);
    event_free(w->on_usr1);
    loop_free(w->loop);
}

int worker_run(const struct worker_options *options)
{
    struct worker a = {.options = options,
                       .conf = options->conf,
                       .loop = loop_new(),
                       .warden = {.fd = options->channel_fd}};
    struct buf address = BUF_INIT;

    wiring_raise_descriptors(a.conf);
    watch_signals(&a);
    timer_init(&a.beat, on_beat);
    timer_arm(&a.loop->timers, &a.beat, 0);
    wiring_store_address(a.conf, options->redis_socket, &address);
    if (open_store(&a, buf_text(&address)) == STATUS_OK) {
        start(&a);
        loop_run(a.loop);
    } else {
        a.exit_code = EX_CONFIG;
    }
    release(&a);
    buf_fini(&address);
    return a.exit_code;
}

/* ---- stopping ---- */

/* The store is used as long as patience.h says. When it is given up (at once where it has never
 * been up), waiting operations are refused; a part later, unanswered ones end as unknown. The
 * rest of the time is for telling the clients. */

/* Percent of the time to stop that vip.hook does not get: the warden kills a worker that uses
 * all of it. */
#define HOOK_PERCENT_LEFT 10

static void enter(struct worker *w, enum worker_phase phase);

static void on_lead_stopped(void *arg)
{
    struct worker *w = arg;

    /* None, if ZooKeeper has confirmed its end; else the warden ends it. */
    node_lead_report_session(w->lead, &w->warden);
    enter(w, WORKER_STOP_VIP);
}

static void on_vip_gone(void *arg)
{
    enter(arg, WORKER_STOP_CLIENTS);
}

static void on_clients_stopped(void *arg)
{
    struct worker *w = arg;

    if (--w->clients_left == 0)
        enter(w, WORKER_STOP_QUEUE);
}

static void stop_clients(struct worker *w)
{
    w->clients_left = w->port_count;
    for (unsigned i = 0; i < w->port_count; i++)
        port_stop(w->ports[i], on_clients_stopped, w);
    if (!w->port_count)
        enter(w, WORKER_STOP_QUEUE);
}

static void on_queue_stopped(void *arg)
{
    enter(arg, WORKER_STOP_STORE);
}

static void on_store_stopped(void *arg)
{
    struct worker *w = arg;

    w->is_store_stopped = true;
    if (w->phase == WORKER_STOP_STORE)
        enter(w, WORKER_STOP_HOOK);
}

static void on_hook_ended(void *arg)
{
    enter(arg, WORKER_STOPPED);
}

static int64_t kept_for_hook_ms(const struct worker *w)
{
    return w->options->stop_timeout_ms * HOOK_PERCENT_LEFT / 100;
}

static void stop_hook(struct worker *w)
{
    int64_t left_ms =
        w->for_store.end_mono_ms - kept_for_hook_ms(w) - timers_now(&w->loop->timers);

    timer_disarm(&w->loop->timers, &w->patience);
    vip_app_finish(w->vip, left_ms, on_hook_ended, w);
}

static void stop_store(struct worker *w)
{
    if (!w->is_store_stopping)
        redis_store_stop(w->store, on_store_stopped, w);
    w->is_store_stopping = true;
}

/* See patience.h. A store that has never been up is not waited for. */
static bool is_store_given_up(struct worker *w)
{
    const struct redis_store_stats *stats = redis_store_stats(w->store);

    return patience_is_over(&w->for_store, timers_now(&w->loop->timers),
                            stats->held + stats->in_flight, stats->round_trip_us.total) ||
           !w->has_been_up;
}

/* Ends all operations that keep the store from ending, and so the steps before STOP_STORE. */
static void on_patience_over(struct timer *timer)
{
    struct worker *w = CONTAINER_OF(timer, struct worker, patience);
    const struct redis_store_stats *stats = redis_store_stats(w->store);

    if (w->is_store_stopping) {
        if (stats->in_flight)
            LOG_WARN("app", "the store has not answered %llu operations: they end as unknown",
                     (unsigned long long)stats->in_flight);
        redis_store_stop_now(w->store);
        return;
    }
    if (!is_store_given_up(w)) {
        timer_arm(&w->loop->timers, timer, PATIENCE_LOOK_MS);
        return;
    }
    if (stats->held)
        LOG_INFO("app", "%llu operations wait for the store: they are refused now",
                 (unsigned long long)stats->held);
    stop_store(w);
    timer_arm(&w->loop->timers, timer,
              patience_for_answers_ms(&w->for_store, timers_now(&w->loop->timers),
                                      kept_for_hook_ms(w)));
}

static void enter(struct worker *w, enum worker_phase phase)
{
    static const char *const names[] = {"RUN",        "STOP_LEAD",  "STOP_VIP",  "STOP_CLIENTS",
                                        "STOP_QUEUE", "STOP_STORE", "STOP_HOOK", "STOPPED"};

    LOG_DEBUG("app", "%s -> %s", names[w->phase], names[phase]);
    w->phase = phase;
    switch (phase) {
    case WORKER_RUN:
        break;
    case WORKER_STOP_LEAD:
        w->has_successor = node_lead_has_successor(w->lead);
        node_lead_stop(w->lead, on_lead_stopped, w);
        break;
    case WORKER_STOP_VIP:
        vip_app_stop(w->vip, w->has_successor, on_vip_gone, w);
        break;
    case WORKER_STOP_CLIENTS:
        stop_clients(w);
        break;
    case WORKER_STOP_QUEUE:
        registry_close(&w->identities.registry);
        queue_stop(w->queue, on_queue_stopped, w);
        break;
    case WORKER_STOP_STORE:
        stop_store(w);
        if (w->is_store_stopped)
            enter(w, WORKER_STOP_HOOK);
        break;
    case WORKER_STOP_HOOK:
        stop_hook(w);
        break;
    case WORKER_STOPPED:
        loop_stop(w->loop);
        break;
    }
}

static void stop(struct worker *w, const char *reason, int exit_code)
{
    if (w->phase != WORKER_RUN)
        return;
    LOG_AT(exit_code ? LEVEL_ERROR : LEVEL_INFO, "app", "stopping: %s", reason);
    w->exit_code = exit_code;
    timer_disarm(&w->loop->timers, &w->waiting);
    patience_init(&w->for_store, timers_now(&w->loop->timers), w->options->stop_timeout_ms);
    (void)is_store_given_up(w); /* the first look */
    timer_init(&w->patience, on_patience_over);
    timer_arm(&w->loop->timers, &w->patience, w->has_been_up ? w->for_store.part_ms : 0);
    enter(w, WORKER_STOP_LEAD);
}
