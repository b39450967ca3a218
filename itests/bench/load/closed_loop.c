/* Connections that ask, wait for the answer, and ask again: what unmodified clients do. */
#include "itests/bench/load/gmq.h"
#include "itests/bench/load/modes.h"
#include "itests/bench/load/report.h"

enum step { STEP_PUSH, STEP_POP, STEP_ACK };

static struct {
    const struct options *o;
    struct clients clients;
    struct report report;
    int64_t next_id;
    unsigned busy; /* connections with a request under way */
} run;

static unsigned topic_of(const struct client *c)
{
    return c->number % (unsigned)run.o->topics;
}

static void ask(struct client *c, enum step step)
{
    c->step = step;
    if (step == STEP_PUSH)
        gmq_push(c, run.next_id++, topic_of(c), run.o->delay_s);
    else if (step == STEP_POP)
        gmq_pop(c, topic_of(c));
    else
        gmq_ack(c, c->id);
}

/* What is counted begins: a push, a pop with its ack, or a whole cycle. */
static void begin(struct client *c, enum step step)
{
    if (report_is_over(&run.report, run.clients.now_us)) {
        run.busy--;
        return;
    }
    c->sent_us = run.clients.now_us;
    ask(c, step);
}

static void end(struct client *c, enum step next)
{
    report_add(&run.report, c->sent_us, run.clients.now_us);
    begin(c, next);
}

static void on_push_reply(struct client *c, struct bytes line)
{
    gmq_expect_success(line);
    end(c, STEP_PUSH);
}

static void on_cycle_reply(struct client *c, struct bytes line)
{
    gmq_expect_success(line);
    if (c->step == STEP_ACK) {
        end(c, STEP_PUSH);
        return;
    }
    if (c->step == STEP_POP)
        gmq_popped_id(line, c->id, sizeof(c->id));
    ask(c, c->step == STEP_PUSH ? STEP_POP : STEP_ACK);
}

static void on_pop_ack_reply(struct client *c, struct bytes line)
{
    gmq_expect_success(line);
    if (c->step == STEP_ACK) {
        end(c, STEP_POP);
        return;
    }
    gmq_popped_id(line, c->id, sizeof(c->id));
    ask(c, STEP_ACK);
}

static void run_all(const struct options *o, const char *mode, enum step first,
                    void (*on_reply)(struct client *, struct bytes))
{
    run.o = o;
    run.next_id = o->first_id;
    gmq_init(o);
    clients_open(&run.clients, o->port, (unsigned)o->connections);
    report_init(&run.report, mode, o->seconds);
    run.busy = run.clients.count;
    for (unsigned i = 0; i < run.clients.count; i++) {
        run.clients.all[i].on_reply = on_reply;
        begin(&run.clients.all[i], first);
    }
    while (run.busy > 0)
        clients_turn(&run.clients, 1000);
    report_print(&run.report);
    clients_close(&run.clients);
}

void mode_push(const struct options *o)
{
    run_all(o, "push", STEP_PUSH, on_push_reply);
}

void mode_cycle(const struct options *o)
{
    run_all(o, "cycle", STEP_PUSH, on_cycle_reply);
}

void mode_pop_ack(const struct options *o)
{
    run_all(o, "pop_ack", STEP_POP, on_pop_ack_reply);
}
