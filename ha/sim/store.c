#include "ha/sim/store.h"

#include <stdlib.h>
#include <string.h>

#include "ha/sim/plant.h"

#define TTR_MS 800

enum job_state { JOB_DELAYED, JOB_READY, JOB_RESERVED, JOB_ACKED };

struct job {
    struct list link;
    enum job_state state;
    unsigned bucket;
    unsigned id;
    int64_t due_ms;
    int64_t ttr_end_ms; /* of the newest delivery; 0: none */
    bool is_acked;      /* in any state */
};

static struct store {
    struct timers timers;
    struct timer clients;
    struct fake_wire from[SIM_NODES];
    struct fake_wire *back[SIM_NODES];
    struct token fence[SIM_BUCKETS];
    struct token effect[SIM_BUCKETS]; /* the newest token with an effect */
    struct token moved;               /* the highest token that has moved a job */
    struct list jobs;
    unsigned pushed, acked, fenced;
    bool is_stopped;
    int64_t way_ms; /* a script's way; a longer way has more under way when a fault comes */
} store;

/* ---- the judge's part ---- */

static void judge_effect(const struct sim_note *n)
{
    struct token *newest = &store.effect[n->bucket];

    if (n->token.epoch < newest->epoch)
        sim_fail("bucket %u: an effect of epoch %llu after one of %llu", n->bucket,
                 (unsigned long long)n->token.epoch, (unsigned long long)newest->epoch);
    if (n->token.epoch < store.moved.epoch)
        sim_fail("bucket %u: an effect of epoch %llu, and %llu has moved already", n->bucket,
                 (unsigned long long)n->token.epoch, (unsigned long long)store.moved.epoch);
    *newest = n->token;
    if (n->kind == SIM_MOVE && n->token.epoch > store.moved.epoch)
        store.moved = n->token;
}

static void judge_hand_over(const struct job *j)
{
    if (sim_now < j->due_ms)
        sim_fail("job %u is handed out %lld ms early", j->id, (long long)(j->due_ms - sim_now));
    if (j->is_acked)
        sim_fail("job %u is handed out after it was acknowledged", j->id);
    if (sim_now < j->ttr_end_ms)
        sim_fail("job %u is handed out twice", j->id);
}

/* ---- scripts ---- */

static bool is_ended(const struct job *j)
{
    return j->state == JOB_RESERVED && sim_now >= j->ttr_end_ms;
}

static void look(struct sim_note *n)
{
    LIST_EACH (link, &store.jobs) {
        const struct job *j = CONTAINER_OF(link, struct job, link);

        if (j->bucket == n->bucket &&
            ((j->state == JOB_DELAYED && sim_now >= j->due_ms) || is_ended(j)))
            buf_add(&n->base.data, &j->id, sizeof(j->id));
    }
}

/* Moves the jobs of the note without looking at their state again. */
static void move(const struct sim_note *n)
{
    LIST_EACH (link, &store.jobs) {
        struct job *j = CONTAINER_OF(link, struct job, link);

        for (size_t at = 0; at < n->base.data.len; at += sizeof(j->id)) {
            if (!memcmp(n->base.data.at + at, &j->id, sizeof(j->id)))
                j->state = JOB_READY;
        }
    }
}

static bool is_fenced(const struct sim_note *n)
{
    const struct token *fence = &store.fence[n->bucket];

    return n->token.epoch < fence->epoch && !sim_is_planted(PLANT_NO_FENCE) &&
           !sim_is_planted(PLANT_NO_FENCE_JOBS);
}

static void on_script(struct fake_wire *w, struct fake_message *m)
{
    struct sim_note *n = sim_note_of(m);
    struct fake_wire *back = store.back[n->from];

    if (n->kind == SIM_LOOK) {
        look(n);
        n->kind = SIM_DUE;
    } else if (is_fenced(n)) {
        sim_trace("store: bucket %u fences epoch %llu: %llu", n->bucket,
                  (unsigned long long)n->token.epoch,
                  (unsigned long long)store.fence[n->bucket].epoch);
        n->kind = SIM_FENCED;
        n->token = store.fence[n->bucket];
        store.fenced++;
    } else {
        if (!sim_is_planted(PLANT_NO_FENCE_JOBS))
            judge_effect(n);
        store.fence[n->bucket] = n->token;
        if (n->kind == SIM_MOVE)
            move(n);
        n->kind = SIM_DONE;
    }
    if (back && back == n->back)
        sim_send(back, n);
    else
        sim_note_free(n);
}

void sim_store_send(struct sim_note *n, struct fake_wire *back)
{
    store.back[n->from] = n->back = back;
    fake_wire_send(&store.from[n->from], &n->base, sim_now + sim_delay() + store.way_ms);
}

void sim_store_forget(unsigned node)
{
    store.back[node] = NULL;
}

void sim_store_hold(unsigned node, bool is_held)
{
    fake_wire_hold(&store.from[node], is_held);
}

/* ---- producers and consumers ---- */

static void push(void)
{
    struct job *j = must(calloc(1, sizeof(*j)));

    j->id = ++store.pushed;
    j->bucket = sim_below(SIM_BUCKETS);
    j->due_ms = sim_now + sim_between(0, 3000);
    list_append(&store.jobs, &j->link);
}

static void pop(struct job *j)
{
    judge_hand_over(j);
    j->state = JOB_RESERVED;
    j->ttr_end_ms = sim_now + TTR_MS;
}

static void ack(struct job *j)
{
    j->state = JOB_ACKED;
    j->is_acked = true;
    store.acked++;
}

static void on_clients(struct timer *timer)
{
    if (!store.is_stopped)
        push();
    LIST_EACH (link, &store.jobs) {
        struct job *j = CONTAINER_OF(link, struct job, link);

        if (j->state == JOB_READY)
            pop(j);
        else if (j->state == JOB_RESERVED && !is_ended(j) && sim_chance(40))
            ack(j);
    }
    sim_arm(&store.timers, timer, sim_between(100, 500));
}

void sim_store_stop_pushing(void)
{
    store.is_stopped = true;
}

bool sim_store_is_empty(void)
{
    return store.acked == store.pushed;
}

unsigned sim_store_acked(void)
{
    return store.acked;
}

unsigned sim_store_fenced(void)
{
    return store.fenced;
}

/* ---- life ---- */

struct timers *sim_store_timers(void)
{
    return &store.timers;
}

void sim_store_init(void)
{
    memset(&store, 0, sizeof(store));
    timers_init(&store.timers, sim_now);
    timer_init(&store.clients, on_clients);
    sim_arm(&store.timers, &store.clients, 0);
    list_init(&store.jobs);
    store.way_ms = sim_chance(50) ? 0 : sim_between(1, 80);
    for (unsigned i = 0; i < SIM_NODES; i++)
        fake_wire_init(&store.from[i], &store.timers, on_script);
}

void sim_store_fini(void)
{
    struct list *link;

    for (unsigned i = 0; i < SIM_NODES; i++)
        fake_wire_fini(&store.from[i]);
    while ((link = list_pop(&store.jobs)))
        free(CONTAINER_OF(link, struct job, link));
    timers_fini(&store.timers);
}
