#include "ha/sim/base.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define TRACE_LINES 400
#define LINE_MAX    200

int64_t sim_now, sim_tick_ms;
bool sim_is_tracing;
static uint64_t dice;
static char lines[TRACE_LINES][LINE_MAX];
static unsigned line_count;
static char failure[LINE_MAX];
static bool is_unsafe;

/* ---- dice ---- */

void sim_dice_seed(uint64_t seed)
{
    dice = seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
}

/* Splitmix: any seed is as good as any other. */
static uint64_t roll(void)
{
    uint64_t x = dice += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

unsigned sim_below(unsigned limit)
{
    return (unsigned)(roll() % limit);
}

int64_t sim_between(int64_t a, int64_t b)
{
    return a + (int64_t)(roll() % (uint64_t)(b - a + 1));
}

bool sim_chance(unsigned percent)
{
    return sim_below(100) < percent;
}

/* ---- time ---- */

void sim_arm(struct timers *timers, struct timer *t, int64_t delay_ms)
{
    timer_arm(timers, t, sim_now - timers_now(timers) + delay_ms);
}

int64_t sim_delay(void)
{
    unsigned d = sim_below(1000);

    if (d < 900)
        return d % 2;
    if (d < 995)
        return sim_between(2, 6);
    return sim_between(7, 40);
}

/* ---- messages ---- */

struct sim_note *sim_note_new(enum sim_kind kind, unsigned from)
{
    struct sim_note *n = must(calloc(1, sizeof(*n)));

    list_init(&n->base.link);
    n->kind = kind;
    n->from = from;
    return n;
}

struct sim_note *sim_note_of(struct fake_message *m)
{
    return CONTAINER_OF(m, struct sim_note, base);
}

void sim_note_free(struct sim_note *n)
{
    fake_message_free(&n->base);
}

void sim_send(struct fake_wire *w, struct sim_note *n)
{
    fake_wire_send(w, &n->base, sim_now + sim_delay());
}

/* ---- trace ---- */

void sim_trace(const char *format, ...)
{
    char *line = lines[line_count++ % TRACE_LINES];
    int len = snprintf(line, LINE_MAX, "%9" PRId64 "  ", sim_now);
    va_list args;

    va_start(args, format);
    vsnprintf(line + len, (size_t)(LINE_MAX - len), format, args);
    va_end(args);
    if (sim_is_tracing)
        fprintf(stderr, "%s\n", line);
}

void sim_trace_clear(void)
{
    line_count = 0;
}

void sim_trace_dump(void)
{
    unsigned first = line_count > TRACE_LINES ? line_count - TRACE_LINES : 0;

    for (unsigned i = first; i < line_count; i++)
        fprintf(stderr, "%s\n", lines[i % TRACE_LINES]);
}

__attribute__((format(printf, 2, 0))) static void fail(bool unsafe, const char *format,
                                                       va_list args)
{
    if (sim_has_failed())
        return;
    vsnprintf(failure, sizeof(failure), format, args);
    is_unsafe = unsafe;
    sim_trace("BROKEN: %s", failure);
}

void sim_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fail(true, format, args);
    va_end(args);
}

void sim_miss(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fail(false, format, args);
    va_end(args);
}

bool sim_was_unsafe(void)
{
    return sim_has_failed() && is_unsafe;
}

bool sim_has_failed(void)
{
    return failure[0] != '\0';
}

const char *sim_failure(void)
{
    return failure;
}

void sim_failure_clear(void)
{
    failure[0] = '\0';
}
