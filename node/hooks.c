/* The queue of runs: one at a time and in order. program.c runs each. */
#include "node/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "node/program.h"

enum { WHAT, TOKEN, REASON, WORDS };
enum result { DONE, FAILED, TIMEOUT, NOT_RUN, RESULTS };

static const char *const result_words[RESULTS] = {"done", "failed", "timeout", "not_run"};
static const char *const whats[] = {"promote", "demote", "fenced"};

#define WHATS (sizeof(whats) / sizeof(whats[0]))

struct call {
    struct list link;
    char *words[WORDS];
};

struct hooks {
    const char *program, *node;
    int64_t timeout_ms;
    struct list waiting; /* of struct call */
    unsigned waiting_count;
    uint64_t counts[WHATS][RESULTS];
    struct call *now; /* the one that runs; NULL: none */
    struct program run;
};

static char *copy_of(const char *text)
{
    return must(strdup(text));
}

static void call_free(struct call *c)
{
    for (unsigned i = 0; i < WORDS; i++)
        free(c->words[i]);
    free(c);
}

static void count(struct hooks *h, const struct call *c, enum result result)
{
    for (unsigned i = 0; i < WHATS; i++)
        h->counts[i][result] += !strcmp(whats[i], c->words[WHAT]);
}

/* ---- one after the other ---- */

static bool begin(struct hooks *h)
{
    char label[PROGRAM_LABEL_MAX];
    const char *argv[] = {h->program,           h->now->words[WHAT],   h->node,
                          h->now->words[TOKEN], h->now->words[REASON], NULL};

    snprintf(label, sizeof(label), "hook %s", h->now->words[WHAT]);
    return program_start(&h->run, &(struct program_run){.module = "ha",
                                                        .label = label,
                                                        .argv = argv,
                                                        .timeout_ms = h->timeout_ms});
}

static void end(struct hooks *h, enum result result)
{
    count(h, h->now, result);
    call_free(h->now);
    h->now = NULL;
}

static void run_next(struct hooks *h)
{
    while (!h->now && !list_is_empty(&h->waiting)) {
        h->now = CONTAINER_OF(h->waiting.next, struct call, link);
        list_remove(&h->now->link);
        h->waiting_count--;
        if (!begin(h))
            end(h, NOT_RUN);
    }
}

static void on_end(struct program *run, enum program_result result, const char *how)
{
    static const enum result results[] = {
        [PROGRAM_DONE] = DONE, [PROGRAM_FAILED] = FAILED, [PROGRAM_TIMEOUT] = TIMEOUT};
    struct hooks *h = CONTAINER_OF(run, struct hooks, run);

    end(h, results[result]);
    run_next(h);
}

/* ---- its owner ---- */

static void drop_first(struct hooks *h)
{
    struct call *c = CONTAINER_OF(h->waiting.next, struct call, link);

    LOG_WARN("ha", "hook %s %s: never run", c->words[WHAT], c->words[REASON]);
    list_remove(&c->link);
    h->waiting_count--;
    count(h, c, NOT_RUN);
    call_free(c);
}

struct hooks *hooks_new(struct loop *loop, const char *program, const char *node,
                        int64_t timeout_ms)
{
    struct hooks *h = must(calloc(1, sizeof(*h)));

    h->program = program;
    h->node = node;
    h->timeout_ms = timeout_ms;
    list_init(&h->waiting);
    program_init(&h->run, loop, on_end);
    return h;
}

void hooks_free(struct hooks *h)
{
    if (!h)
        return;
    while (h->waiting_count)
        drop_first(h);
    program_fini(&h->run);
    if (h->now)
        call_free(h->now);
    free(h);
}

void hooks_run(struct hooks *h, const char *what, const char *token, const char *reason)
{
    struct call *c;

    if (!*h->program)
        return;
    c = must(calloc(1, sizeof(*c)));
    c->words[WHAT] = copy_of(what);
    c->words[TOKEN] = copy_of(token);
    c->words[REASON] = copy_of(reason);
    if (h->waiting_count == HOOKS_QUEUE_MAX)
        drop_first(h);
    list_append(&h->waiting, &c->link);
    h->waiting_count++;
    run_next(h);
}

void hooks_count(const struct hooks *h, struct cluster_hook counts[HOOKS_COUNTS])
{
    _Static_assert(WHATS * RESULTS == HOOKS_COUNTS, "each word with each result");
    for (unsigned i = 0; i < HOOKS_COUNTS; i++)
        counts[i] = (struct cluster_hook){whats[i / RESULTS], result_words[i % RESULTS],
                                          h->counts[i / RESULTS][i % RESULTS]};
}

bool hooks_is_idle(const struct hooks *h)
{
    return !h->now && !h->waiting_count;
}
