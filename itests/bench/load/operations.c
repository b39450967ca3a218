/* Operations, counted: a push, a pop with its ack, or all three in turn.
 *
 * Closed loop: every place begins its next operation when the last one has ended, which is
 * what unmodified clients do; it says what the server can do at most; with --total it ends
 * after so many, so that what they took can be divided by them. Open loop (--rate):
 * the schedule says when an operation is due; it begins when a place is free and its latency
 * counts from when it was due (schedule.h says why). That says what a user would see.
 */
#include <inttypes.h>
#include <unistd.h>

#include "itests/bench/load/clients.h"
#include "itests/bench/load/die.h"
#include "itests/bench/load/modes.h"
#include "itests/bench/load/report.h"
#include "itests/bench/load/schedule.h"
#include "itests/bench/load/supply.h"

#define TURN_US    100000
#define POP_WAIT_S 2

static struct {
    const struct options *o;
    struct clients clients;
    struct report report;
    struct schedule schedule;
    enum verb first, last; /* what an operation consists of */
    int64_t begun;         /* operations; each has the next topic */
    int64_t answered_us;   /* the last answer */
    int64_t busy;          /* places with one under way */
    struct place *idle, *idle_last;
} run;

static void ask(struct place *p, enum verb verb)
{
    p->question.verb = verb;
    place_ask(p);
}

static void begin(struct place *p, int64_t since_us)
{
    int64_t n = run.begun++;

    p->since_us = since_us;
    p->question.number = run.o->first_id + n;
    p->question.topic = (unsigned)((run.o->first_topic + n) % run.o->topics);
    p->question.priority = run.o->priorities ? 1 + n % run.o->priorities : 0;
    ask(p, run.first);
}

/* ---- what follows an operation ---- */

static void rest(struct place *p)
{
    run.busy--;
    p->idle_us = run.clients.now_us;
    p->next = NULL;
    *(run.idle ? &run.idle_last->next : &run.idle) = p;
    run.idle_last = p;
}

static bool is_enough(void)
{
    if (run.o->total)
        return run.begun >= run.o->total;
    return run.o->rate || report_is_over(&run.report, run.clients.now_us);
}

static void go_on(struct place *p)
{
    if (is_enough())
        rest(p);
    else
        begin(p, run.clients.now_us);
}

static void on_empty(struct place *p)
{
    if (run.first == VERB_POP)
        die("nothing is ready any more: fill in more jobs or measure for fewer seconds");
    run.report.empty++;
    ask(p, VERB_POP);
}

static void on_error(struct place *p, const struct answer *a)
{
    if (!run.o->count_errors)
        die("the server says %.*s", BYTES_ARG(a->text));
    run.report.errors++;
    go_on(p);
}

static void on_done(struct place *p, const struct answer *a)
{
    enum verb verb = p->question.verb;

    if (verb == VERB_POP)
        place_keep_job(p, a);
    if (verb != run.last) {
        ask(p, verb + 1);
        return;
    }
    report_add(&run.report, p->since_us, run.clients.now_us);
    go_on(p);
}

static void on_answer(struct place *p, const struct answer *a)
{
    run.answered_us = run.clients.now_us;
    if (a->kind == ANSWER_ERROR)
        on_error(p, a);
    else if (a->kind == ANSWER_EMPTY)
        on_empty(p);
    else
        on_done(p, a);
}

/* ---- open loop ---- */

static void begin_what_is_due(void)
{
    int64_t now_us = run.clients.now_us, due_us;

    while (run.idle && schedule_take(&run.schedule, now_us, &due_us)) {
        struct place *p = run.idle;

        run.idle = p->next;
        run.busy++;
        if (p->idle_us <= due_us)
            distribution_add(&run.report.send_us, now_us - due_us);
        begin(p, due_us);
    }
}

/* Nothing is said there: it ends, and what is under way is waited for. */
static void on_input_end(struct watch *w, uint32_t events)
{
    run.report.end_us = run.clients.now_us;
    run.schedule.total = run.schedule.taken;
    clients_unwatch(&run.clients, w);
}

static bool is_done(void)
{
    return schedule_is_over(&run.schedule) && run.busy == 0;
}

/* What never ended counts with the age it has reached. */
static void count_unfinished(void)
{
    int64_t now_us = run.clients.now_us, due_us;
    int64_t places = (int64_t)run.clients.count * run.clients.places_each;

    while (schedule_take(&run.schedule, now_us, &due_us)) {
        run.report.unfinished++;
        report_add(&run.report, due_us, now_us);
    }
    for (int64_t i = 0; i < places; i++) {
        if (!run.clients.places[i].is_waiting)
            continue;
        run.report.unfinished++;
        report_add(&run.report, run.clients.places[i].since_us, now_us);
    }
}

static bool is_hopeless(void)
{
    int64_t since_us = run.o->total ? run.answered_us : run.report.end_us;

    return run.clients.now_us >= since_us + run.o->patience_s * 1000000;
}

static void run_open(void)
{
    static struct watch input = {.fd = STDIN_FILENO, .on_event = on_input_end};

    schedule_init(&run.schedule, run.report.born_us, run.report.end_us, run.o->rate);
    if (run.o->until_eof && !clients_watch(&run.clients, &input))
        die("--until-eof takes a pipe as standard input");
    while (!is_done() && !is_hopeless()) {
        int64_t wait_us = schedule_wait_us(&run.schedule, run.clients.now_us);

        clients_turn(&run.clients, run.idle && wait_us < TURN_US ? wait_us : TURN_US);
        begin_what_is_due();
    }
    count_unfinished();
}

/* ---- closed loop ---- */

static void run_closed(void)
{
    run.answered_us = run.clients.now_us;
    while (run.idle && !(run.o->total && is_enough())) {
        struct place *p = run.idle;

        run.idle = p->next;
        run.busy++;
        begin(p, run.clients.now_us);
    }
    while (run.busy > 0 && !is_hopeless())
        clients_turn(&run.clients, TURN_US);
    if (run.busy > 0)
        die("%" PRId64 " requests were never answered", run.busy);
}

/* ---- the run ---- */

static void open_all(const struct options *o)
{
    run.o = o;
    supply_init(o);
    run.clients.protocol = protocol_find(o->protocol);
    run.clients.is_secure = o->tls;
    if (o->priorities && !run.clients.protocol->has_priorities)
        die("jobs have no --priorities in %s", o->protocol);
    run.clients.on_answer = on_answer;
    clients_open(&run.clients, o->port, (unsigned)o->connections, (unsigned)o->pipeline);
    for (int64_t i = 0; i < o->connections * o->pipeline; i++) {
        /* The first place of every connection, then the second: load spreads evenly. */
        struct place *p =
            &run.clients.places[i % o->connections * o->pipeline + i / o->connections];

        p->question.delay_s = o->delay_s;
        p->question.ttr_s = o->ttr_s;
        p->question.topics = 1;
        p->question.wait_s = POP_WAIT_S;
        run.busy++;
        rest(p);
    }
}

static void run_all(const struct options *o, const char *mode, enum verb first, enum verb last)
{
    run.first = first;
    run.last = last;
    open_all(o);
    if (last == VERB_ACK && !protocol_acks(run.clients.protocol, o->ttr_s))
        run.last = VERB_POP;
    report_init(&run.report, mode, o);
    if (o->rate)
        run_open();
    else
        run_closed();
    if (o->total)
        run.report.end_us = run.clients.now_us + 1; /* the last one ended within */
    run.report.bytes_sent = run.clients.bytes_sent;
    run.report.bytes_received = run.clients.bytes_received;
    report_print(&run.report);
    clients_close(&run.clients);
    supply_fini();
}

void mode_push(const struct options *o)
{
    run_all(o, "push", VERB_PUSH, VERB_PUSH);
}

void mode_cycle(const struct options *o)
{
    run_all(o, "cycle", VERB_PUSH, VERB_ACK);
}

void mode_pop(const struct options *o)
{
    run_all(o, "pop", VERB_POP, VERB_POP);
}

void mode_pop_ack(const struct options *o)
{
    run_all(o, "pop_ack", VERB_POP, VERB_ACK);
}
