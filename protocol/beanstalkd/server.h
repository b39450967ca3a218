/* The server, its clients and their requests, for the files of this folder.
 *
 * A connection has one request at a time: the next command is read when it is answered, so
 * answers are in the order of commands. A request lives from its line (a put: from its body) to
 * its answer. A command that needs nothing of the queue is answered at once.
 */
#ifndef DUEQ_PROTOCOL_BEANSTALKD_SERVER_H
#define DUEQ_PROTOCOL_BEANSTALKD_SERVER_H

#include "base/buf.h"
#include "node/queue/queue.h"
#include "protocol/beanstalkd/beanstalkd.h"
#include "protocol/beanstalkd/codec.h"
#include "protocol/beanstalkd/held.h"
#include "protocol/beanstalkd/numbers.h"
#include "protocol/beanstalkd/tubes.h"
#include "protocol/conn/turns.h"

/* Of this process, as `stats` shows them. Counters begin at 0. */
struct counters {
    uint64_t commands[BEANSTALKD_VERBS];
    uint64_t jobs;               /* put */
    unsigned producers, workers; /* gauges: clients that have put, or reserved */
    unsigned waiting;            /* gauge: clients whose reserve waits */
};

struct beanstalkd {
    struct port port;
    struct beanstalkd_options options;
    struct tubes tubes;
    struct held_all held;
    struct numbers numbers;
    struct counters counters;
    bool is_draining; /* SIGUSR1: no job is taken any more */
    int64_t start_mono_ms;
    char id[17]; /* random, of this process */
    struct buf reply;
    struct buf yaml;
};

struct request;

/* A connection. Freed when it is closed and has nothing in work. */
struct beanstalkd_client {
    struct port_client base;
    struct beanstalkd *server;

    /* What it sends. */
    struct beanstalkd_lines lines;
    struct beanstalkd_command put; /* whose body is awaited */
    bool awaits_body;
    uint64_t skipped_bytes; /* of a body that is of no use: so many are still to come, */
    const char *skipped;    /* and then this is answered */
    size_t line_bytes;      /* of the put's line */
    struct port_turn turn;

    /* What it has said so far. */
    struct tube *used;
    struct watch watch;
    struct holder holder;
    bool is_producer, is_worker;

    struct request *request; /* in work; NULL: none */
    bool has_ended;          /* it has ended its side: nothing waits for it any more */
    bool is_closed;
};

/* A command in work. The parts are its handler's. */
struct request {
    struct beanstalkd_client *client;
    struct beanstalkd_command command; /* its tube borrows from `text` */
    struct identity *who; /* as whom it acts; NULL where everybody may do everything */
    bool is_ports;        /* that is beanstalkd.as */
    bool is_refused;      /* or has failed */
    size_t bytes;         /* of its line and body */
    int64_t count;        /* of jobs that it changed, for the audit log; -1: not known */
    struct bytes body;    /* PUT; borrows from `text` */

    struct held *held;      /* its connection's reservation that it is about; NULL: of none */
    struct bytes topic, id; /* of the job that it is about; in `name`, or the held's */
    char name[2 * NAME_MAX_BYTES];
    /* What is done with that job once it is found. */
    void (*on_found)(struct request *r);
    unsigned tries; /* of a look that was overtaken */

    union {
        struct op op;
        struct id_find find;
        struct sweep sweep;
    } asked;
    struct reserve *reserve; /* reserve.c's */
    struct walk *walk;       /* stats.c's */
    char text[];
};

/* ---- server.c ---- */

/* The answer, which is in server->reply, or where `answer` is NULL that word; the request is
 * over, and freed. */
void command_answer(struct request *r, const char *answer);

/* The same with a job in it, whose delivery the answer carries. */
void command_hand_over(struct request *r, struct delivery *delivery);

/* No answer: the connection ends. Of what may have happened, as if the server had crashed. */
void command_lose(struct request *r, const char *why);

/* The answer to a request that did not succeed. */
void command_fail(struct request *r, enum status status);

/* False: its identity is gone, has changed or is over since the request came. */
bool command_may_go_on(const struct request *r);

/* May the request's identity have jobs of the topic? */
bool command_has_topic(const struct request *r, struct bytes topic);

/* ---- commands.c ---- */

/* Begins the command: the request is answered now or later. */
void command_begin(struct request *r);

/* "kick". Static. */
const char *command_word(enum beanstalkd_verb verb);

/* The roles, any of which is enough; 0: everybody may. */
unsigned command_roles(enum beanstalkd_verb verb);

/* Finds the job of command.id: then topic and id are set, and on_found() is called; else
 * NOT_FOUND is answered. */
void command_find(struct request *r, void (*on_found)(struct request *r));

/* ---- reserve.c ---- */

void reserve_begin(struct request *r);     /* reserve, reserve-with-timeout */
void reserve_job_begin(struct request *r); /* reserve-job */

/* A waiting reserve waits no longer. */
enum reserve_end { RESERVE_TIMED_OUT, RESERVE_DEADLINE_SOON, RESERVE_FORBIDDEN, RESERVE_LOST };
void reserve_cancel(struct request *r, enum reserve_end why);

/* ---- stats.c ---- */

void stats_begin(struct request *r);                  /* stats */
void stats_tube_begin(struct request *r);             /* stats-tube */
void stats_job_begin(struct request *r);              /* stats-job */
void list_tubes_begin(struct request *r);             /* list-tubes */
void stats_watched(struct beanstalkd_client *client); /* its list, to server->reply */

#endif
