#include "node/app.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/list.h"
#include "node/reload.h"
#include "node/warden_channel.h"

struct app {
    const struct app_options *options;
    struct loop *loop;
    struct timer beat;
    struct event *on_term;
    struct event *on_hup;
};

static void on_beat(struct timer *timer)
{
    struct app *a = CONTAINER_OF(timer, struct app, beat);

    channel_send(a->options->channel_fd, CHANNEL_BEAT);
    timer_arm(&a->loop->timers, timer, a->options->conf->warden.hang_timeout_ms / 5);
}

static void on_term(int number, short what, void *arg)
{
    struct app *a = arg;

    loop_stop(a->loop);
}

static void on_hup(int number, short what, void *arg)
{
    struct app *a = arg;

    reload_conf(a->options->conf, a->options->request, false);
}

static void unblock_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int app_run(const struct app_options *options)
{
    struct app a = {.options = options, .loop = loop_new()};

    timer_init(&a.beat, on_beat);
    timer_arm(&a.loop->timers, &a.beat, 0);
    a.on_term = evsignal_new(a.loop->base, SIGTERM, on_term, &a);
    a.on_hup = evsignal_new(a.loop->base, SIGHUP, on_hup, &a);
    event_add(a.on_term, NULL);
    event_add(a.on_hup, NULL);
    unblock_signals();
    loop_run(a.loop);
    event_free(a.on_term);
    event_free(a.on_hup);
    loop_free(a.loop);
    return EXIT_SUCCESS;
}
