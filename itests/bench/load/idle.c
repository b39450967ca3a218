/* Connections that do nothing, or have said one thing, or wait for a job: what does each cost
 * the server? They are held until standard input ends. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "itests/bench/load/clients.h"
#include "itests/bench/load/die.h"
#include "itests/bench/load/modes.h"
#include "itests/bench/load/supply.h"

#define TURN_US    1000000
#define POP_WAIT_S 3600

static struct {
    const struct options *o;
    struct clients clients;
    struct watch input;
    int64_t answers;
    bool is_over;
} run;

static void on_input(struct watch *w, uint32_t events)
{
    char unused[64];

    run.is_over = read(w->fd, unused, sizeof(unused)) <= 0;
}

/* A pop is asked again when the server's patience has ended, and when there was a job. */
static void on_answer(struct place *p, const struct answer *a)
{
    if (a->kind == ANSWER_ERROR)
        die("the server says %.*s", BYTES_ARG(a->text));
    run.answers++;
    if (p->question.verb == VERB_POP)
        place_ask(p);
}

static void say(struct place *p, int64_t number, enum verb verb)
{
    p->question = (struct question){.verb = verb,
                                    .number = run.o->first_id + number,
                                    .topic = (unsigned)(number % run.o->topics),
                                    .topics = 1,
                                    .wait_s = POP_WAIT_S,
                                    .delay_s = run.o->delay_s,
                                    .ttr_s = run.o->ttr_s};
    place_ask(p);
}

static void say_all(void)
{
    bool is_request = !strcmp(run.o->say, "request");

    if (!strcmp(run.o->say, "nothing"))
        return;
    for (unsigned i = 0; i < run.clients.count; i++)
        say(&run.clients.places[i], i, is_request ? VERB_PUSH : VERB_POP);
    do {
        clients_turn(&run.clients, is_request ? TURN_US : 0);
    } while (is_request && run.answers < run.clients.count);
}

void mode_idle(const struct options *o)
{
    run.o = o;
    supply_init(o);
    run.clients.protocol = protocol_find(o->protocol);
    run.clients.is_secure = o->tls;
    run.clients.on_answer = on_answer;
    clients_open(&run.clients, o->port, (unsigned)o->connections, 1);
    say_all();
    printf("{\"mode\":\"idle\",\"protocol\":\"%s\",\"connections\":%u,\"say\":\"%s\"}\n",
           o->protocol, run.clients.count, o->say);
    fflush(stdout);
    run.input = (struct watch){STDIN_FILENO, on_input};
    run.is_over = !clients_watch(&run.clients, &run.input);
    while (!run.is_over)
        clients_turn(&run.clients, TURN_US);
    clients_close(&run.clients);
    supply_fini();
}
