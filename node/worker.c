#include "node/worker.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "ha/vip/vip.h"
#include "node/worker_private.h"
#include "node/reload.h"
#include "node/channel.h"
#include "node/warden/listen.h"

#define SAY_AFTER_MS   2000
#define SAY_EVERY_MS   10000
#define BEATS_PER_HANG 5
#define BEAT_MAX_MS    (VIP_RENEW_MS * 2 / 3)

/* ---- signs of life ---- */

/* The warden renews the virtual address of a worker that is silent for VIP_RENEW_MS: one that
 * works beats oftener. */
static int64_t beat_ms(const struct worker *a)
{
    int64_t ms = a->options->silence_max_ms / BEATS_PER_HANG;

    return ms < BEAT_MAX_MS ? ms : BEAT_MAX_MS;
}

static void on_beat(struct timer *timer)
{
    struct worker *a = CONTAINER_OF(timer, struct worker, beat);

    worker_tell_session(a);
    worker_tell_address(a);
    worker_tell_alone(a);
    worker_tell_take(a);
    channel_send(a->options->channel_fd, CHANNEL_BEAT);
    timer_arm(&a->loop->timers, timer, beat_ms(a));
}

static void print_listener(struct buf *to, const char *before, const char *name, int fd)
{
    buf_printf(to, "%s%s ", before, name);
    if (fd >= 0)
        listen_print(fd, to);
    else
        buf_add_text(to, "off");
}

static void say_up(struct worker *a)
{
    char *dir = realpath(a->conf->node.data_dir, NULL);
    struct buf text = BUF_INIT;

    for (unsigned i = 0; i < CONF_PORTS; i++)
        print_listener(&text, i ? ", " : "", conf_port_word(i), a->options->port_fds[i]);
    LOG_INFO("app", "node %s is up: %s, store %s, data in %s, warden pid %d", a->conf->node.id,
             buf_text(&text), a->conf->store.redis.text, dir ? dir : a->conf->node.data_dir,
             (int)getppid());
    buf_fini(&text);
    free(dir);
}

static void on_waiting(struct timer *timer)
{
    struct worker *a = CONTAINER_OF(timer, struct worker, waiting);

    LOG_INFO("app", "waiting for the store (%s)", a->conf->store.redis.text);
    timer_arm(&a->loop->timers, timer, SAY_EVERY_MS);
}

/* ---- what the store and HTTP want to know ---- */

/* Store, cluster and configuration fit: from now on what does not is something passing, and the
 * warden goes on however the worker ends. */
static void settle(struct worker *a)
{
    if (a->has_been_up && (a->has_joined || !node_lead_ha(a->ha)))
        channel_send(a->options->channel_fd, CHANNEL_STORE_UP);
}

static void on_store_up(void *arg)
{
    struct worker *a = arg;

    node_lead_store_is(a->ha, true);
    if (a->has_been_up || a->phase != WORKER_RUN)
        return;
    a->has_been_up = true;
    timer_disarm(&a->loop->timers, &a->waiting);
    settle(a);
    say_up(a);
}

static void on_store_down(void *arg)
{
    struct worker *a = arg;

    node_lead_store_is(a->ha, false);
}

/* The connection is there all the same: it is no reason to give up shares, and what waits waits
 * on. */
static void on_store_silence(void *arg, bool is_silent)
{
    struct worker *a = arg;

    node_lead_store_answers(a->ha,
                            !is_silent && redis_store_stats(a->store)->state == REDIS_STORE_UP);
}

static void on_role(void *arg, const struct role *role, enum role_state before)
{
    struct worker *a = arg;

    worker_tell_session(a);
    worker_tell_address(
        a); /* before it goes: the warden is not to renew what is removed here */
    vip_app_role(a->vip, role);
    if (!a->has_joined && role->state != ROLE_OFFLINE) {
        a->has_joined = true;
        settle(a);
    }
    report_cluster_tell(&a->hold, role, before);
}

/* The set-up of the cluster: it was said to people by who found it out. */
static void on_cluster_refused(void *arg, const char *why)
{
    worker_stop(arg, "the cluster and the configuration do not fit", EX_CONFIG);
}

/* A node that starts ends, so that somebody notices; one that works goes on: its Redis may
 * have been replaced for a moment only. */
static void on_refused(void *arg, const char *why)
{
    struct worker *a = arg;

    LOG_ERROR("app", "this store cannot be used: %s", why);
    if (!a->has_been_up && !a->options->store_was_up)
        worker_stop(a, "the store and the configuration do not fit", EX_CONFIG);
}

#define SILENT_FOR_LONG_MS 2000 /* a Redis that stands still for less is waited for */

static bool is_silent_for_long(const struct worker *a)
{
    int64_t since_mono_ms = redis_store_stats(a->store)->silent_since_mono_ms;

    return since_mono_ms && timers_now(&a->loop->timers) >= since_mono_ms + SILENT_FOR_LONG_MS;
}

static const char *why_not_ready(void *arg)
{
    static const char *const words[] = {
        [REDIS_STORE_DOWN] = "the store cannot be used",
        [REDIS_STORE_UNHEARD] = "the store does not send wake-ups",
    };
    struct worker *a = arg;
    enum redis_store_state state = redis_store_stats(a->store)->state;
    const char *why = redis_store_why(a->store);

    if (state == REDIS_STORE_UP && redis_store_stats(a->store)->breaker == BREAKER_OPEN)
        return "the store does not answer: the circuit breaker is open";
    if (state == REDIS_STORE_UP && is_silent_for_long(a))
        return "the store does not answer";
    if (state == REDIS_STORE_UP)
        return redis_store_refuses_writes(a->store);
    if (a->options->redis && a->options->redis->cannot_write)
        snprintf(
            a->why, sizeof(a->why),
            "the embedded Redis cannot write its file: the disk of %.256s is full, or fails",
            a->conf->node.data_dir);
    else
        snprintf(a->why, sizeof(a->why), "%s%s%s", words[state], *why ? ": " : " yet", why);
    return a->why;
}

static void read_store(void *arg, struct store_numbers *numbers)
{
    struct worker *a = arg;

    report_store_read(&a->shown_store, numbers);
}

static unsigned read_ports(void *arg, const struct port_stats **ports)
{
    const struct worker *a = arg;
    unsigned count = 0;

    for (unsigned i = 0; i < a->port_count; i++)
        ports[count++] = &a->ports[i]->stats;
    return count;
}

/* ---- signals ---- */

static void on_term(int number, short what, void *arg)
{
    struct worker *a = arg;

    loop_touch(a->loop);
    worker_stop(a, "the warden asks for it", EXIT_SUCCESS);
}

static void on_hup(int number, short what, void *arg)
{
    struct worker *a = arg;
    struct redis_store_options store;
    struct queue_options queue;

    loop_touch(a->loop);
    reload_conf(a->conf, a->options->request, false);
    store = wiring_store_options(a->conf, "");
    redis_store_reload(a->store, &store);
    wiring_rules_set(&a->rules, a->conf);
    queue = wiring_queue_options(a->conf, &a->rules);
    queue_reload(a->queue, &queue);
    for (unsigned i = 0; i < a->port_count; i++)
        ports_reload(&a->ports_from, a->which[i], a->ports[i]);
}

static struct event *watch_signal(struct worker *a, int number,
                                  void (*on_signal)(int number, short what, void *arg))
{
    struct event *event = evsignal_new(a->loop->base, number, on_signal, a);

    if (!event || event_add(event, NULL))
        abort();
    return event;
}

/* They were blocked since before the fork, so none was missed. */
static void watch_signals(struct worker *a)
{
    sigset_t none;

    a->on_term = watch_signal(a, SIGTERM, on_term);
    a->on_hup = watch_signal(a, SIGHUP, on_hup);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- making and joining ---- */

static enum status open_store(struct worker *a, const char *address)
{
    struct redis_store_options options = wiring_store_options(a->conf, address);

    options.aof_cut_bytes = a->options->redis ? &a->options->redis->cut_bytes : NULL;
    options.on_refused = on_refused;
    options.on_up = on_store_up;
    options.on_down = on_store_down;
    options.on_silence = on_store_silence;
    options.arg = a;
    a->store = redis_store_new(a->loop, &options);
    a->shown_store = (struct report_store){
        .store = a->store, .buckets = options.buckets, .aof_cut_bytes = options.aof_cut_bytes};
    return a->store ? STATUS_OK : STATUS_BAD_CONFIG;
}

static void open_ports(struct worker *a)
{
    a->api = (struct api){.queue = a->queue,
                          .loop = a->loop,
                          .node = {.name = a->conf->node.id,
                                   .why_not_ready = why_not_ready,
                                   .read_store = read_store,
                                   .read_ports = read_ports,
                                   .cluster = &a->cluster.port,
                                   .arg = a},
                          .metrics_topics = a->conf->http.metrics_topics,
                          .start_mono_ms = timers_now(&a->loop->timers)};
    a->ports_from = (struct ports_from){
        .conf = a->conf, .loop = a->loop, .queue = a->queue, .api = &a->api};
    for (unsigned i = 0; i < CONF_PORTS; i++)
        if (a->options->port_fds[i] >= 0) {
            a->which[a->port_count] = i;
            a->ports[a->port_count++] = ports_open(&a->ports_from, i, a->options->port_fds[i]);
        }
    vip_app_serve(a->vip, a->ports, a->port_count);
}

static void join_cluster(struct worker *a)
{
    const struct worker_options *o = a->options;
    struct node_lead_options options = {
        .conf = a->conf,
        .loop = a->loop,
        .queue = a->queue,
        .port_fds = o->port_fds,
        .peer_fd = o->peer_fd,
        .incarnation = o->incarnation,
        .on_refused = on_cluster_refused,
        .on_role = on_role,
        .arg = a,
    };

    a->hooks = hooks_new(a->loop, a->conf->ha.hook, a->conf->node.id, HOOKS_TIMEOUT_MS);
    hook_hold_init(&a->hold, a->hooks, &a->loop->timers, a->conf->ha.session_ms);
    a->ha = node_lead_new(&options);
    a->vip = worker_open_vip(a);
    report_cluster_init(&a->cluster, a->ha, a->queue, a->vip, &a->loop->timers, a->hooks,
                        a->conf->node.id, a->conf->ha.session_ms);
    node_lead_start(a->ha);
}

static void start(struct worker *a)
{
    struct queue_options options;

    wiring_rules_set(&a->rules, a->conf);
    options = wiring_queue_options(a->conf, &a->rules);
    a->queue = queue_new(&options, redis_store_port(a->store), &a->loop->timers);
    join_cluster(a);
    open_ports(a);
    redis_store_start(a->store);
    timer_init(&a->waiting, on_waiting);
    timer_arm(&a->loop->timers, &a->waiting, SAY_AFTER_MS);
}

static void release(struct worker *a)
{
    vip_app_free(a->vip);
    while (a->port_count)
        port_free(a->ports[--a->port_count]);
    node_lead_free(a->ha);
    hook_hold_fini(&a->hold);
    hooks_free(a->hooks);
    queue_free(a->queue);
    redis_store_free(a->store);
    event_free(a->on_term);
    event_free(a->on_hup);
    loop_free(a->loop);
}

int worker_run(const struct worker_options *options)
{
    struct worker a = {.options = options, .conf = options->conf, .loop = loop_new()};
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

/* ---- the virtual address ---- */

static bool may_hold(void *arg)
{
    struct worker *a = arg;

    return node_lead_ha(a->ha) && ha_may_hold(node_lead_ha(a->ha));
}

static void on_state(void *arg, const char *state)
{
    struct worker *a = arg;

    node_lead_note_address(a->ha, state);
}

static void on_possible(void *arg, bool is_possible)
{
    struct worker *a = arg;

    node_lead_address_is(a->ha, is_possible);
}

static void on_take(void *arg, pid_t group)
{
    struct worker *a = arg;

    a->take_group = group;
    worker_tell_take(a);
}

struct vip_app *worker_open_vip(struct worker *a)
{
    const struct vip_app_options options = {.conf = a->conf,
                                            .loop = a->loop,
                                            .may_hold = may_hold,
                                            .on_state = on_state,
                                            .on_possible = on_possible,
                                            .on_take = on_take,
                                            .arg = a};

    return vip_app_new(&options);
}

/* ---- stopping ---- */

/* The store is used as long as patience.h says: what waits for one that is given up is refused
 * then (at once where it has never been up), and a part later what it has not answered ends as
 * unknown; what is left is for telling the clients. */

/* Of the time to stop in, not for vip.hook: the warden kills a worker that takes it all. */
#define HOOK_PERCENT_LEFT 10

static void enter(struct worker *a, enum worker_phase phase);

static void on_lead_stopped(void *arg)
{
    worker_tell_session(
        arg); /* none, if ZooKeeper has confirmed its end; else the warden tries */
    enter(arg, WORKER_STOP_VIP);
}

static void on_vip_gone(void *arg)
{
    enter(arg, WORKER_STOP_CLIENTS);
}

static void on_clients_stopped(void *arg)
{
    struct worker *a = arg;

    if (--a->clients_left == 0)
        enter(a, WORKER_STOP_QUEUE);
}

static void stop_clients(struct worker *a)
{
    a->clients_left = a->port_count;
    for (unsigned i = 0; i < a->port_count; i++)
        port_stop(a->ports[i], on_clients_stopped, a);
    if (!a->port_count)
        enter(a, WORKER_STOP_QUEUE);
}

static void on_queue_stopped(void *arg)
{
    enter(arg, WORKER_STOP_STORE);
}

static void on_store_stopped(void *arg)
{
    struct worker *a = arg;

    a->is_store_stopped = true;
    if (a->phase == WORKER_STOP_STORE)
        enter(a, WORKER_STOP_HOOK);
}

static void on_hook_ended(void *arg)
{
    enter(arg, WORKER_STOPPED);
}

static int64_t kept_for_hook_ms(const struct worker *a)
{
    return a->options->stop_timeout_ms * HOOK_PERCENT_LEFT / 100;
}

static void stop_hook(struct worker *a)
{
    int64_t left_ms =
        a->for_store.end_mono_ms - kept_for_hook_ms(a) - timers_now(&a->loop->timers);

    timer_disarm(&a->loop->timers, &a->patience);
    vip_app_finish(a->vip, left_ms, on_hook_ended, a);
}

static void stop_store(struct worker *a)
{
    if (!a->is_store_stopping)
        redis_store_stop(a->store, on_store_stopped, a);
    a->is_store_stopping = true;
}

/* See patience.h. One that has never been up is not waited for. */
static bool is_store_given_up(struct worker *a)
{
    const struct redis_store_stats *stats = redis_store_stats(a->store);

    return patience_is_over(&a->for_store, timers_now(&a->loop->timers),
                            stats->held + stats->in_flight, stats->round_trip_us.total) ||
           !a->has_been_up;
}

/* Whatever the store keeps from its end is ended, and with it the steps before STOP_STORE. */
static void on_patience_over(struct timer *timer)
{
    struct worker *a = CONTAINER_OF(timer, struct worker, patience);
    const struct redis_store_stats *stats = redis_store_stats(a->store);

    if (a->is_store_stopping) {
        if (stats->in_flight)
            LOG_WARN("app", "the store has not answered %llu operations: they end as unknown",
                     (unsigned long long)stats->in_flight);
        redis_store_stop_now(a->store);
        return;
    }
    if (!is_store_given_up(a)) {
        timer_arm(&a->loop->timers, timer, PATIENCE_LOOK_MS);
        return;
    }
    if (stats->held)
        LOG_INFO("app", "%llu operations wait for the store: they are refused now",
                 (unsigned long long)stats->held);
    stop_store(a);
    timer_arm(&a->loop->timers, timer,
              patience_for_answers_ms(&a->for_store, timers_now(&a->loop->timers),
                                      kept_for_hook_ms(a)));
}

static void enter(struct worker *a, enum worker_phase phase)
{
    static const char *const names[] = {"RUN",        "STOP_LEAD",  "STOP_VIP",  "STOP_CLIENTS",
                                        "STOP_QUEUE", "STOP_STORE", "STOP_HOOK", "STOPPED"};

    LOG_DEBUG("app", "%s -> %s", names[a->phase], names[phase]);
    a->phase = phase;
    switch (phase) {
    case WORKER_RUN:
        break;
    case WORKER_STOP_LEAD:
        a->has_successor = node_lead_has_successor(a->ha);
        node_lead_stop(a->ha, on_lead_stopped, a);
        break;
    case WORKER_STOP_VIP:
        vip_app_stop(a->vip, a->has_successor, on_vip_gone, a);
        break;
    case WORKER_STOP_CLIENTS:
        stop_clients(a);
        break;
    case WORKER_STOP_QUEUE:
        queue_stop(a->queue, on_queue_stopped, a);
        break;
    case WORKER_STOP_STORE:
        stop_store(a);
        if (a->is_store_stopped)
            enter(a, WORKER_STOP_HOOK);
        break;
    case WORKER_STOP_HOOK:
        stop_hook(a);
        break;
    case WORKER_STOPPED:
        loop_stop(a->loop);
        break;
    }
}

void worker_stop(struct worker *a, const char *reason, int exit_code)
{
    if (a->phase != WORKER_RUN)
        return;
    LOG_AT(exit_code ? LEVEL_ERROR : LEVEL_INFO, "app", "stopping: %s", reason);
    a->exit_code = exit_code;
    timer_disarm(&a->loop->timers, &a->waiting);
    patience_init(&a->for_store, timers_now(&a->loop->timers), a->options->stop_timeout_ms);
    (void)is_store_given_up(a); /* the first look */
    timer_init(&a->patience, on_patience_over);
    timer_arm(&a->loop->timers, &a->patience, a->has_been_up ? a->for_store.part_ms : 0);
    enter(a, WORKER_STOP_LEAD);
}
