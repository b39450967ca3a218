#include "node/app.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/list.h"
#include "base/log.h"
#include "ha/vip/vip.h"
#include "node/app_private.h"
#include "node/reload.h"
#include "node/warden_channel.h"
#include "node/warden_listen.h"

#define SAY_AFTER_MS   2000
#define SAY_EVERY_MS   10000
#define BEATS_PER_HANG 5
#define BEAT_MAX_MS    (VIP_RENEW_MS * 2 / 3)

/* ---- signs of life ---- */

/* The warden renews the virtual address of a worker that is silent for VIP_RENEW_MS: one that
 * works beats oftener. */
static int64_t beat_ms(const struct app *a)
{
    int64_t ms = a->options->silence_max_ms / BEATS_PER_HANG;

    return ms < BEAT_MAX_MS ? ms : BEAT_MAX_MS;
}

static void on_beat(struct timer *timer)
{
    struct app *a = CONTAINER_OF(timer, struct app, beat);

    app_tell_session(a);
    app_tell_address(a);
    app_tell_alone(a);
    app_tell_take(a);
    channel_send(a->options->channel_fd, CHANNEL_BEAT);
    timer_arm(&a->loop->timers, timer, beat_ms(a));
}

static void print_listener(struct buf *to, const char *name, int fd)
{
    buf_printf(to, "%s ", name);
    if (fd >= 0)
        listen_print(fd, to);
    else
        buf_add_text(to, "off");
}

static void say_up(struct app *a)
{
    char *dir = realpath(a->conf->node.data_dir, NULL);
    struct buf text = BUF_INIT;

    print_listener(&text, "gmq", a->options->gmq_fd);
    print_listener(&text, ", http", a->options->http_fd);
    LOG_INFO("app", "node %s is up: %s, store %s, data in %s, warden pid %d", a->conf->node.id,
             buf_text(&text), a->conf->store.redis.text, dir ? dir : a->conf->node.data_dir,
             (int)getppid());
    buf_fini(&text);
    free(dir);
}

static void on_waiting(struct timer *timer)
{
    struct app *a = CONTAINER_OF(timer, struct app, waiting);

    LOG_INFO("app", "waiting for the store (%s)", a->conf->store.redis.text);
    timer_arm(&a->loop->timers, timer, SAY_EVERY_MS);
}

/* ---- what the store and HTTP want to know ---- */

/* Store, cluster and configuration fit: from now on what does not is something passing, and the
 * warden goes on however the worker ends. */
static void settle(struct app *a)
{
    if (a->has_been_up && (a->has_joined || !ha_app_ha(a->ha)))
        channel_send(a->options->channel_fd, CHANNEL_STORE_UP);
}

static void on_store_up(void *arg)
{
    struct app *a = arg;

    ha_app_store_is(a->ha, true);
    if (a->has_been_up || a->phase != APP_RUN)
        return;
    a->has_been_up = true;
    timer_disarm(&a->loop->timers, &a->waiting);
    settle(a);
    say_up(a);
}

static void on_store_down(void *arg)
{
    struct app *a = arg;

    ha_app_store_is(a->ha, false);
}

/* The connection is there all the same: it is no reason to give up shares, and what waits waits
 * on. */
static void on_store_silence(void *arg, bool is_silent)
{
    struct app *a = arg;

    ha_app_store_answers(a->ha,
                         !is_silent && redis_store_stats(a->store)->state == REDIS_STORE_UP);
}

static void on_role(void *arg, const struct role *role, enum role_state before)
{
    struct app *a = arg;

    app_tell_session(a);
    app_tell_address(a); /* before it goes: the warden is not to renew what is removed here */
    vip_app_role(a->vip, role);
    if (!a->has_joined && role->state != ROLE_OFFLINE) {
        a->has_joined = true;
        settle(a);
    }
    app_cluster_tell(&a->hold, role, before);
}

/* The set-up of the cluster: it was said to people by who found it out. */
static void on_cluster_refused(void *arg, const char *why)
{
    app_stop(arg, "the cluster and the configuration do not fit", EX_CONFIG);
}

/* A node that starts ends, so that somebody notices; one that works goes on: its Redis may
 * have been replaced for a moment only. */
static void on_refused(void *arg, const char *why)
{
    struct app *a = arg;

    LOG_ERROR("app", "this store cannot be used: %s", why);
    if (!a->has_been_up && !a->options->store_was_up)
        app_stop(a, "the store and the configuration do not fit", EX_CONFIG);
}

#define SILENT_FOR_LONG_MS 2000 /* a Redis that stands still for less is waited for */

static bool is_silent_for_long(const struct app *a)
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
    struct app *a = arg;
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

static void read_store(void *arg, struct http_store_numbers *numbers)
{
    struct app *a = arg;

    app_store_read(&a->shown_store, numbers);
}

static unsigned read_protocols(void *arg, struct http_protocol_numbers *numbers)
{
    const struct app *a = arg;

    if (!a->gmq)
        return 0;
    app_gmq_numbers(gmq_stats(a->gmq), numbers);
    return 1;
}

/* ---- signals ---- */

static void on_term(int number, short what, void *arg)
{
    struct app *a = arg;

    loop_touch(a->loop);
    app_stop(a, "the warden asks for it", EXIT_SUCCESS);
}

static void on_hup(int number, short what, void *arg)
{
    struct app *a = arg;
    struct redis_store_options store;
    struct queue_options queue;
    struct gmq_options gmq;
    struct http_options http;

    loop_touch(a->loop);
    reload_conf(a->conf, a->options->request, false);
    store = app_store_options(a->conf, "");
    redis_store_reload(a->store, &store);
    app_rules_set(&a->rules, a->conf);
    queue = app_queue_options(a->conf, &a->rules);
    queue_reload(a->queue, &queue);
    gmq = app_gmq_options(a->conf);
    if (a->gmq)
        gmq_reload(a->gmq, &gmq);
    http = app_http_options(a->conf);
    if (a->http)
        http_reload(a->http, &http);
}

static struct event *watch_signal(struct app *a, int number,
                                  void (*on_signal)(int number, short what, void *arg))
{
    struct event *event = evsignal_new(a->loop->base, number, on_signal, a);

    if (!event || event_add(event, NULL))
        abort();
    return event;
}

/* They were blocked since before the fork, so none was missed. */
static void watch_signals(struct app *a)
{
    sigset_t none;

    a->on_term = watch_signal(a, SIGTERM, on_term);
    a->on_hup = watch_signal(a, SIGHUP, on_hup);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- making and joining ---- */

static enum status open_store(struct app *a, const char *address)
{
    struct redis_store_options options = app_store_options(a->conf, address);

    options.aof_cut_bytes = a->options->redis ? &a->options->redis->cut_bytes : NULL;
    options.on_refused = on_refused;
    options.on_up = on_store_up;
    options.on_down = on_store_down;
    options.on_silence = on_store_silence;
    options.arg = a;
    a->store = redis_store_new(a->loop, &options);
    a->shown_store = (struct app_store){
        .store = a->store, .buckets = options.buckets, .aof_cut_bytes = options.aof_cut_bytes};
    return a->store ? STATUS_OK : STATUS_BAD_CONFIG;
}

static void open_protocols(struct app *a)
{
    struct gmq_options gmq = app_gmq_options(a->conf);
    struct http_options http = app_http_options(a->conf);

    http.node = (struct http_node){.name = a->conf->node.id,
                                   .why_not_ready = why_not_ready,
                                   .read_store = read_store,
                                   .read_protocols = read_protocols,
                                   .cluster = &a->cluster.port,
                                   .arg = a};
    if (a->options->gmq_fd >= 0)
        a->gmq = gmq_new(&gmq, a->loop, a->queue, a->options->gmq_fd);
    if (a->options->http_fd >= 0)
        a->http = http_new(&http, a->loop, a->queue, a->options->http_fd);
    vip_app_serve(a->vip, a->gmq, a->http);
}

static void join_cluster(struct app *a)
{
    const struct app_options *o = a->options;
    struct ha_app_options options = {
        .conf = a->conf,
        .loop = a->loop,
        .queue = a->queue,
        .gmq_fd = o->gmq_fd,
        .http_fd = o->http_fd,
        .peer_fd = o->peer_fd,
        .incarnation = o->incarnation,
        .on_refused = on_cluster_refused,
        .on_role = on_role,
        .arg = a,
    };

    a->hooks = hooks_new(a->loop, a->conf->ha.hook, a->conf->node.id, HOOKS_TIMEOUT_MS);
    hook_hold_init(&a->hold, a->hooks, &a->loop->timers, a->conf->ha.session_ms);
    a->ha = ha_app_new(&options);
    a->vip = app_open_vip(a);
    app_cluster_init(&a->cluster, a->ha, a->queue, a->vip, &a->loop->timers, a->hooks,
                     a->conf->node.id, a->conf->ha.session_ms);
    ha_app_start(a->ha);
}

static void start(struct app *a)
{
    struct queue_options options;

    app_rules_set(&a->rules, a->conf);
    options = app_queue_options(a->conf, &a->rules);
    a->queue = queue_new(&options, redis_store_port(a->store), &a->loop->timers);
    join_cluster(a);
    open_protocols(a);
    redis_store_start(a->store);
    timer_init(&a->waiting, on_waiting);
    timer_arm(&a->loop->timers, &a->waiting, SAY_AFTER_MS);
}

static void release(struct app *a)
{
    vip_app_free(a->vip);
    gmq_free(a->gmq);
    http_free(a->http);
    ha_app_free(a->ha);
    hook_hold_fini(&a->hold);
    hooks_free(a->hooks);
    queue_free(a->queue);
    redis_store_free(a->store);
    event_free(a->on_term);
    event_free(a->on_hup);
    loop_free(a->loop);
}

int app_run(const struct app_options *options)
{
    struct app a = {.options = options, .conf = options->conf, .loop = loop_new()};
    struct buf address = BUF_INIT;

    app_raise_descriptors(a.conf);
    watch_signals(&a);
    timer_init(&a.beat, on_beat);
    timer_arm(&a.loop->timers, &a.beat, 0);
    app_store_address(a.conf, options->redis_socket, &address);
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
