#include "node/store/redis/wakeups.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

struct redis_wakeups {
    struct redis_wakeups_options options;
    struct loop *loop;
    struct redis_link *link;
    struct list beats;
    unsigned beat_count; /* that there ever were */
    struct timer timer;
    bool is_up;
    char channel[64];
    char word[20]; /* what the words of all beats begin with */
};

#define HINT_BYTES   32
#define PROVE_MIN_MS 250

static void beat_later(struct redis_wakeups *w)
{
    timer_arm(&w->loop->timers, &w->timer, w->options.timeout_ms);
}

static struct redis_beat *beat_of(struct list *link)
{
    return CONTAINER_OF(link, struct redis_beat, link);
}

static void on_published(struct redis_call *call, const redisReply *reply)
{
    struct redis_beat *b = CONTAINER_OF(call, struct redis_beat, publish);

    b->is_publishing = false;
    if (!reply || reply->type != REDIS_REPLY_INTEGER)
        b->is_owed = false;
}

static void publish(const struct redis_wakeups *w, struct redis_beat *b)
{
    const char *argv[] = {"PUBLISH", w->channel, b->word};
    size_t lens[] = {7, strlen(w->channel), strlen(b->word)};

    if (b->is_publishing || !redis_link_is_open(b->commands))
        return;
    b->is_publishing = true;
    b->is_owed = true;
    b->publish.on_reply = on_published;
    redis_link_send(b->commands, &b->publish, 3, argv, lens);
}

static void give_up(struct redis_wakeups *w, const struct redis_beat *b)
{
    char where[REDIS_ADDRESS_CHARS], why[REDIS_ADDRESS_CHARS + 64];
    bool is_only = w->beats.next == w->beats.prev;

    redis_address_print(redis_link_address(b->commands), where);
    snprintf(why, sizeof(why), "what is published%s%s is not heard", is_only ? "" : " at ",
             is_only ? "" : where);
    redis_link_reset(w->link, why);
}

/* A beat that is not answered waits for its command link, which has deadlines of its own. */
static void on_timer(struct timer *timer)
{
    struct redis_wakeups *w = CONTAINER_OF(timer, struct redis_wakeups, timer);

    if (!w->is_up) {
        redis_link_reset(w->link, "no answer to SUBSCRIBE");
        return;
    }
    LIST_EACH (link, &w->beats) {
        if (beat_of(link)->is_owed && !beat_of(link)->is_publishing) {
            give_up(w, beat_of(link));
            return;
        }
    }
    LIST_EACH (link, &w->beats)
        publish(w, beat_of(link));
    beat_later(w);
}

/* ---- what the link says ---- */

static void on_look(void *arg)
{
    struct redis_wakeups *w = arg;

    w->options.on_look(w->options.arg);
}

static void on_open(void *arg)
{
    struct redis_wakeups *w = arg;

    beat_later(w);
    redis_link_subscribe(w->link, w->channel);
}

static void on_subscribed(void *arg)
{
    struct redis_wakeups *w = arg;

    w->is_up = true;
    redis_link_settled(w->link);
    w->options.on_up(w->options.arg);
}

static void on_close(void *arg)
{
    struct redis_wakeups *w = arg;
    bool was_up = w->is_up;

    w->is_up = false;
    LIST_EACH (link, &w->beats)
        beat_of(link)->is_owed = false;
    timer_disarm(&w->loop->timers, &w->timer);
    if (was_up)
        w->options.on_down(w->options.arg);
}

static void take_beat(struct redis_wakeups *w, struct bytes payload)
{
    LIST_EACH (link, &w->beats) {
        if (bytes_equal(payload, bytes_of_text(beat_of(link)->word)))
            beat_of(link)->is_owed = false;
    }
}

/* ">bucket share ms"; anything else is nobody's. */
static void take_hint(struct redis_wakeups *w, struct bytes payload)
{
    char text[HINT_BYTES];
    unsigned bucket, share;
    int64_t wait_ms;
    int end = 0;

    if (payload.len >= sizeof(text))
        return;
    snprintf(text, sizeof(text), "%.*s", BYTES_ARG(payload));
    if (sscanf(text, ">%4u %4u %10" SCNd64 "%n", &bucket, &share, &wait_ms, &end) == 3 &&
        !text[end] && wait_ms >= 0)
        w->options.on_hint(w->options.arg, bucket, share, wait_ms);
}

static void on_message(void *arg, struct bytes payload)
{
    struct redis_wakeups *w = arg;

    if (payload.len && payload.at[0] == '-')
        take_beat(w, payload);
    else if (payload.len && payload.at[0] == '=')
        w->options.on_settings(w->options.arg, bytes_of(payload.at + 1, payload.len - 1));
    else if (payload.len && payload.at[0] == '>')
        take_hint(w, payload);
    else if (payload.len)
        w->options.on_ready(w->options.arg, payload);
}

static void on_stopped(void *arg)
{
    struct redis_wakeups *w = arg;

    w->options.on_stopped(w->options.arg);
}

/* ---- for the owner ---- */

struct redis_wakeups *redis_wakeups_new(struct loop *loop,
                                        const struct redis_wakeups_options *options)
{
    struct redis_wakeups *w = calloc(1, sizeof(*w));
    struct redis_link_options link = {
        .name = "wake-up link",
        .address = options->address,
        .password = options->password,
        .timeout_ms = options->timeout_ms,
        .backoff_max_ms = options->backoff_max_ms,
        .on_look = options->on_look ? on_look : NULL,
        .on_open = on_open,
        .on_close = on_close,
        .on_message = on_message,
        .on_subscribed = on_subscribed,
        .on_stopped = on_stopped,
        .arg = w,
    };

    if (!w)
        abort();
    w->options = *options;
    w->loop = loop;
    list_init(&w->beats);
    w->link = redis_link_new(loop, &link);
    timer_init(&w->timer, on_timer);
    snprintf(w->channel, sizeof(w->channel), "%s:ready", options->prefix);
    snprintf(w->word, sizeof(w->word), "-%08x%08x", arc4random(), arc4random());
    return w;
}

void redis_wakeups_free(struct redis_wakeups *w)
{
    if (!w)
        return;
    timer_disarm(&w->loop->timers, &w->timer);
    redis_link_free(w->link);
    free(w);
}

void redis_wakeups_add(struct redis_wakeups *w, struct redis_beat *beat,
                       struct redis_link *commands)
{
    *beat = (struct redis_beat){.commands = commands};
    snprintf(beat->word, sizeof(beat->word), "%s%x", w->word, w->beat_count++);
    list_append(&w->beats, &beat->link);
}

void redis_wakeups_prove(struct redis_wakeups *w, struct redis_beat *beat)
{
    int64_t ms = w->options.timeout_ms / 4;

    if (!w->is_up)
        return;
    publish(w, beat);
    timer_arm(&w->loop->timers, &w->timer, ms > PROVE_MIN_MS ? ms : PROVE_MIN_MS);
}

void redis_wakeups_remove(struct redis_wakeups *w, struct redis_beat *beat)
{
    list_remove(&beat->link);
}

void redis_wakeups_start(struct redis_wakeups *w)
{
    redis_link_start(w->link);
}

void redis_wakeups_stop(struct redis_wakeups *w)
{
    redis_link_stop(w->link);
}

void redis_wakeups_aim(struct redis_wakeups *w, const struct redis_address *address)
{
    redis_link_aim(w->link, address);
}

const struct redis_address *redis_wakeups_address(const struct redis_wakeups *w)
{
    return redis_link_address(w->link);
}

void redis_wakeups_leave(struct redis_wakeups *w, const struct redis_address *address)
{
    if (redis_address_equal(redis_link_address(w->link), address))
        redis_link_reset(w->link, "this Redis is left");
}

static void on_hinted(struct redis_call *call, const redisReply *reply)
{
    free(call);
}

static struct redis_link *open_link(const struct redis_wakeups *w)
{
    LIST_EACH (link, &w->beats) {
        if (redis_link_is_open(beat_of(link)->commands))
            return beat_of(link)->commands;
    }
    return NULL;
}

void redis_wakeups_hint(struct redis_wakeups *w, unsigned bucket, unsigned share,
                        int64_t wait_ms)
{
    struct redis_link *commands = open_link(w);
    struct redis_call *call;
    char text[HINT_BYTES];
    const char *argv[] = {"PUBLISH", w->channel, text};
    size_t lens[] = {7, strlen(w->channel), 0};

    if (!commands)
        return;
    call = calloc(1, sizeof(*call));
    if (!call)
        abort();
    call->on_reply = on_hinted;
    lens[2] = (size_t)snprintf(text, sizeof(text), ">%u %u %" PRId64, bucket, share, wait_ms);
    redis_link_send(commands, call, 3, argv, lens);
}

bool redis_wakeups_are_up(const struct redis_wakeups *w)
{
    return w->is_up;
}

const char *redis_wakeups_why(const struct redis_wakeups *w)
{
    return redis_link_why(w->link);
}
