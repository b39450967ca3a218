#include "ha/sim_store.h"

#include <stdlib.h>
#include <string.h>

#include "ha/sim_plant.h"

#define TTR_MS 800

enum job_state { JOB_DELAYED, JOB_READY, JOB_RESERVED };

struct job {
    struct list link;
    enum job_state state;
    unsigned bucket;
    unsigned id;
    int64_t due_ms;
    int64_t ttr_end_ms; /* RESERVED */
};

static struct store {
    struct timers timers;
    struct timer clients;
    struct fake_wire from[SIM_NODES];
    struct fake_wire *back[SIM_NODES];
    struct token fence[SIM_BUCKETS];
    struct token effect[SIM_BUCKETS]; /* newest, as the judge has seen it */
    struct token scanned;             /* highest that has scanned */
    struct list jobs;
    unsigned pushed, acked, fenced;
    bool is_stopped;
} store;

/* ---- the judge's part ---- */

static void judge_effect(const struct sim_note *n)
{
    struct token *newest = &store.effect[n->bucket];

    if (n->token.epoch < newest->epoch)
        sim_fail("bucket %u: an effect of epoch %llu after one of %llu", n->bucket,
                 (unsigned long long)n->token.epoch, (unsigned long long)newest->epoch);
    if (n->token.epoch < store.scanned.epoch)
        sim_fail("bucket %u: an effect of epoch %llu, and %llu scans already", n->bucket,
                 (unsigned long long)n->token.epoch, (unsigned long long)store.scanned.epoch);
    *newest = n->token;
    if (n->kind == SIM_SCAN && n->token.epoch > store.scanned.epoch)
        store.scanned = n->token;
}

static void judge_hand_over(const struct job *j)
{
    if (sim_now < j->due_ms)
        sim_fail("job %u is handed out %lld ms early", j->id, (long long)(j->due_ms - sim_now));
    if (j->state != JOB_READY)
        sim_fail("job %u is handed out twice", j->id);
}

/* ---- scripts ---- */

static bool is_ended(const struct job *j)
{
    return j->state == JOB_RESERVED && sim_now >= j->ttr_end_ms;
}

static void scan(unsigned bucket)
{
    LIST_EACH (link, &store.jobs) {
        struct job *j = CONTAINER_OF(link, struct job, link);

        if (j->bucket != bucket)
            continue;
        if ((j->state == JOB_DELAYED && sim_now >= j->due_ms) || is_ended(j))
            j->state = JOB_READY;
    }
}

static bool is_fenced(const struct sim_note *n)
{
    const struct token *fence = &store.fence[n->bucket];

    return n->token.epoch < fence->epoch && !sim_is_planted(PLANT_NO_FENCE);
}

static void on_script(struct fake_wire *w, struct fake_message *m)
{
    struct sim_note *n = sim_note_of(m);
    struct fake_wire *back = store.back[n->from];

    if (is_fenced(n)) {
        sim_trace("store: bucket %u fences epoch %llu: %llu", n->bucket,
                  (unsigned long long)n->token.epoch,
                  (unsigned long long)store.fence[n->bucket].epoch);
        n->kind = SIM_FENCED;
        n->token = store.fence[n->bucket];
        store.fenced++;
    } else {
        judge_effect(n);
        store.fence[n->bucket] = n->token;
        if (n->kind == SIM_SCAN)
            scan(n->bucket);
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
    sim_send(&store.from[n->from], n);
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
    struct job *j = calloc(1, sizeof(*j));

    if (!j)
        abort();
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
    list_remove(&j->link);
    free(j);
    store.acked++;
}

static void on_clients(struct timer *timer)
{
    if (!store.is_stopped)
        push();
    LIST_EACH_SAFE (link, &store.jobs) {
        struct job *j = CONTAINER_OF(link, struct job, link);

        if (j->state == JOB_READY)
            pop(j);
        else if (j->state == JOB_RESERVED && sim_chance(40))
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
    return list_is_empty(&store.jobs) && store.acked == store.pushed;
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
