/* How late jobs come: --rate jobs a second fall due, --connections consumers wait for them.
 *
 * Lateness is the moment a consumer has the reply in its hands minus the due time; both by
 * the machine's one real-time clock, which is Redis's clock too. The jobs are pushed in an
 * open loop through connections of their own, or (--prefill) lie in the store before the
 * first is due. A consumer waits on at most 64 topics; where there are more of them than the
 * consumers cover, the jobs of the others just pile up and are not counted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "itests/bench/load/clients.h"
#include "itests/bench/load/die.h"
#include "itests/bench/load/due.h"
#include "itests/bench/load/fill.h"
#include "itests/bench/load/modes.h"
#include "itests/bench/load/redis.h"
#include "itests/bench/load/report.h"
#include "itests/bench/load/schedule.h"
#include "itests/bench/load/supply.h"

#define PUSHERS     64
#define FILL_DEPTH  256
#define FILLS_A_MS  20 /* jobs, with room to spare; --delay gives more */
#define TURN_US     100000
#define WAIT_S      10
#define NAMED_EARLY 10

static struct {
    const struct options *o;
    struct clients clients; /* the pushers, then the consumers */
    struct report report;
    struct schedule schedule;
    struct place *idle; /* pushers with nothing under way */
    int64_t jobs, covered_topics;
    int64_t first_due_us;     /* of the clients' clock */
    int64_t expected, handed; /* own jobs of covered topics: due, and in a consumer's hands */
    int64_t acking;
    bool *is_handed; /* by the job's number */
} run;

static int64_t number_of(struct bytes id)
{
    return id.len ? strtoll(id.at, NULL, 10) - run.o->first_id : -1;
}

static void expect(int64_t n)
{
    run.expected += n % run.o->topics < run.covered_topics;
}

/* ---- pushing ---- */

static void push(struct place *p, int64_t n)
{
    int64_t due_at_us = due_real_now_us() + run.o->delay_s * 1000000;

    p->question.number = run.o->first_id + n;
    p->question.topic = (unsigned)(n % run.o->topics);
    if (run.clients.protocol->due_source == DUE_IS_SAID) {
        p->question.at_ms = due_at_us / 1000;
        due_at_us = p->question.at_ms * 1000;
    }
    if (run.clients.protocol->due_source != DUE_IS_STORED)
        due_set(n, due_at_us);
    expect(n);
    place_ask(p);
}

static void push_what_is_due(void)
{
    int64_t due_at_us;

    while (run.idle && schedule_take(&run.schedule, run.clients.now_us, &due_at_us)) {
        struct place *p = run.idle;

        run.idle = p->next;
        distribution_add(&run.report.send_us, run.clients.now_us - due_at_us);
        push(p, run.schedule.taken - 1);
    }
}

static void on_pushed(struct place *p)
{
    if (run.clients.protocol->due_source == DUE_IS_STORED)
        due_ask(p->question.number - run.o->first_id);
    p->next = run.idle;
    run.idle = p;
}

/* ---- consuming ---- */

static void pop(struct place *p)
{
    p->question.verb = VERB_POP;
    place_ask(p);
}

static void ack(struct place *p, const struct answer *a)
{
    run.acking++;
    place_keep_job(p, a);
    p->question.verb = VERB_ACK;
    place_ask(p);
}

static void count(struct bytes id, int64_t now_us)
{
    int64_t n = number_of(id), due_at_us = due_us(n), late_us = now_us - due_at_us;

    if (n >= 0 && n < run.jobs) {
        run.report.doubles += run.is_handed[n];
        run.handed += !run.is_handed[n];
        run.is_handed[n] = true;
    }
    if (due_at_us == 0) {
        run.report.unmatched++;
        return;
    }
    if (late_us < 0 && run.report.early++ < NAMED_EARLY)
        fprintf(stderr, "early by %" PRId64 " us: job %.24s\n", -late_us, id.at);
    report_add_value(&run.report, late_us);
}

static void on_popped(struct place *p, const struct answer *a)
{
    count(a->job.number, due_real_now_us());
    if (protocol_acks(run.clients.protocol, run.o->ttr_s))
        ack(p, a);
    else
        pop(p);
}

static void on_answer(struct place *p, const struct answer *a)
{
    if (a->kind == ANSWER_ERROR)
        die("the server says %.*s", BYTES_ARG(a->text));
    if (p->question.verb == VERB_PUSH) {
        on_pushed(p);
        return;
    }
    if (p->question.verb == VERB_POP && a->kind == ANSWER_DONE) {
        on_popped(p, a);
        return;
    }
    run.acking -= p->question.verb == VERB_ACK;
    pop(p);
}

/* ---- the run ---- */

/* Puts all jobs into the store; the first is due when that is done, and --delay after. */
static void prefill(void)
{
    const struct options *o = run.o;
    int64_t begin_ms = due_real_now_us() / 1000 + o->delay_s * 1000 + run.jobs / FILLS_A_MS;
    struct fill f = {.count = run.jobs,
                     .topics = o->topics,
                     .depth = FILL_DEPTH,
                     .first_id = o->first_id,
                     .at_ms = begin_ms,
                     .rate = o->rate};

    redis_open(o);
    fill(&f);
    redis_close();
    if (due_real_now_us() / 1000 >= begin_ms)
        die("filling in %" PRId64 " jobs took too long: choose a longer --delay", run.jobs);
    for (int64_t n = 0; n < run.jobs; n++) {
        due_set(n, (begin_ms + n * 1000 / o->rate) * 1000);
        expect(n);
    }
    run.first_due_us = clock_mono_us() + begin_ms * 1000 - due_real_now_us();
}

static void seat_pusher(struct place *p)
{
    p->question.delay_s = run.o->delay_s;
    p->question.ttr_s = run.o->ttr_s;
    p->next = run.idle;
    run.idle = p;
}

/* Consumers take turns with groups of as many topics as a pop may name. */
static void seat_consumer(struct place *p, unsigned number)
{
    unsigned topics = (unsigned)run.o->topics;
    unsigned groups = (topics + POP_TOPICS_MAX - 1) / POP_TOPICS_MAX;
    unsigned first = number % groups * POP_TOPICS_MAX, left = topics - first;

    p->question.wait_s = WAIT_S;
    p->question.topic = first;
    p->question.topics = left < POP_TOPICS_MAX ? left : POP_TOPICS_MAX;
    pop(p);
}

static void open_connections(void)
{
    const struct options *o = run.o;
    unsigned pushers = o->prefill ? 0 : PUSHERS, each = (unsigned)o->pipeline;
    unsigned all = pushers + (unsigned)o->connections;

    run.clients.on_answer = on_answer;
    clients_open(&run.clients, o->port, all, each);
    if (!o->prefill && run.clients.protocol->due_source == DUE_IS_STORED)
        due_open_store(&run.clients);
    for (unsigned i = 0; i < pushers * each; i++)
        seat_pusher(&run.clients.places[i]);
    for (unsigned i = pushers; i < all; i++)
        seat_consumer(&run.clients.places[i * each], i - pushers);
}

static bool is_done(void)
{
    return schedule_is_over(&run.schedule) && run.handed == run.expected && run.acking == 0;
}

static void run_to_the_end(void)
{
    int64_t give_up_us = run.report.end_us + (run.o->delay_s + run.o->patience_s) * 1000000;

    while (!is_done()) {
        int64_t wait_us = schedule_wait_us(&run.schedule, run.clients.now_us);

        clients_turn(&run.clients, run.idle && wait_us < TURN_US ? wait_us : TURN_US);
        push_what_is_due();
        due_send_questions();
        if (run.clients.now_us > give_up_us)
            die("%" PRId64 " jobs of %" PRId64 " never came", run.expected - run.handed,
                run.expected);
    }
}

void mode_lateness(const struct options *o)
{
    if (o->rate == 0)
        die("lateness needs a --rate");
    run.o = o;
    run.jobs = o->rate * o->seconds;
    run.covered_topics = o->connections * POP_TOPICS_MAX;
    run.clients.protocol = protocol_find(o->protocol);
    run.clients.is_secure = o->tls;
    supply_init(o);
    due_init(o, run.jobs);
    run.is_handed = must_calloc(run.jobs, sizeof(*run.is_handed));
    if (o->prefill)
        prefill();
    open_connections();
    report_init(&run.report, "lateness", o);
    if (!o->prefill) {
        run.first_due_us = run.report.born_us + o->delay_s * 1000000;
        schedule_init(&run.schedule, run.report.born_us,
                      run.report.born_us + o->seconds * 1000000, o->rate);
    }
    run_to_the_end();
    run.report.begin_us = run.first_due_us;
    run.report.end_us = run.clients.now_us + 1; /* the last one ended within */
    report_print(&run.report);
    clients_close(&run.clients);
    free(run.is_handed);
    due_fini();
    supply_fini();
}
