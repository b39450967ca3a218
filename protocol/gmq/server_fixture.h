/* A gmq server on a real socket, the engine and the memory store, for the tests of this folder.
 *
 * Everything runs in one thread: whoever waits turns the loop. Time passes only when a test
 * says so (beyond the real time that turns take).
 * Include after cmocka's headers. */
#ifndef DUEQ_PROTOCOL_GMQ_SERVER_FIXTURE_H
#define DUEQ_PROTOCOL_GMQ_SERVER_FIXTURE_H

#include "base/loop.h"
#include "node/queue/queue.h"
#include "node/store/memory_store.h"
#include "protocol/gmq/gmq.h"

#define BODY_MAX 1024

struct fixture {
    struct loop *loop;
    struct memory_store *ms;
    struct queue *queue;
    struct gmq *gmq;
    struct gmq_options options;
    uint16_t port;
    bool is_gmq_stopping;
    bool is_gmq_stopped;
    bool is_queue_stopped;
};

struct client {
    struct fixture *f;
    int fd;
};

/* cmocka's set-up and tear-down; the tear-down fails when something does not end. */
int fixture_up(void **state);
int fixture_up_strict(void **state);
int fixture_down(void **state);

/* Begins; is_gmq_stopped tells the end. */
void fixture_stop_gmq(struct fixture *f);

void fixture_turn(struct fixture *f);
void fixture_pass(struct fixture *f, int64_t ms);

static inline uint64_t waiting(struct fixture *f)
{
    return queue_stats(f->queue)->waiting;
}

static inline uint64_t connections(struct fixture *f)
{
    return gmq_stats(f->gmq)->connections;
}

/* Turns the loop until the expression is true; fails after some seconds. */
#define AWAIT(f, expression)                                                           \
    do {                                                                               \
        for (struct patience p_ = patience_start(f); !(expression); patience_try(&p_)) \
            ;                                                                          \
    } while (0)

struct patience {
    struct fixture *f;
    int64_t until_mono_ms;
};

struct patience patience_start(struct fixture *f);
void patience_try(struct patience *p);

struct client connect_client(struct fixture *f);
void leave(struct client *c);       /* closes */
void end_sending(struct client *c); /* half */
void say(struct client *c, const char *text);
void say_bytes(struct client *c, const char *at, size_t len);

/* Exactly this comes next, as one piece that recv() returns by itself. */
void expect(struct client *c, const char *reply);
/* Nothing comes until the server is at rest. */
void expect_silence(struct client *c);
/* The server closes, without a reset, and nothing comes before. */
void expect_end(struct client *c);

/* What one recv() gives; 0: the end. */
size_t receive_some(struct client *c, char *at, size_t room);

#define PUSH(id, topic, more)                                                                  \
    "{\"method\":\"Service.Push\",\"params\":[{\"id\":\"" id "\",\"topic\":\"" topic "\"" more \
    "}],\"id\":1}"
#define POP(topics) "{\"method\":\"Service.Pop\",\"params\":[[" topics "]],\"id\":2}"
#define ACK(id)     "{\"method\":\"Service.Ack\",\"params\":[\"" id "\"],\"id\":3}"

#define PUSHED "{\"id\":1,\"result\":\"success\",\"error\":null}\n"
#define ACKED  "{\"id\":3,\"result\":true,\"error\":null}\n"
#define EMPTY  "{\"id\":2,\"result\":null,\"error\":\"empty\"}\n"
#define POPPED(id, topic, ttr, tries)                                            \
    "{\"id\":2,\"result\":{\"TTR\":" ttr ",\"body\":\"\",\"consume_num\":" tries \
    ",\"delay\":0,\"id\":\"" id "\",\"status\":3,\"topic\":\"" topic "\"},\"error\":null}\n"

#endif
