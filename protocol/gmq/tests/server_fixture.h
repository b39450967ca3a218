/* A gmq server on a real socket, the engine and the memory store, for the tests of this folder;
 * with client_fixture.h, which has the rest.
 * Include after cmocka's headers. */
#ifndef DUEQ_PROTOCOL_GMQ_TESTS_SERVER_FIXTURE_H
#define DUEQ_PROTOCOL_GMQ_TESTS_SERVER_FIXTURE_H

#include "base/loop.h"
#include "node/queue/queue.h"
#include "node/store/memory/store.h"
#include "protocol/conn/tests/client_fixture.h"
#include "protocol/gmq/gmq.h"

#define BODY_MAX 1024

struct fixture {
    struct loop *loop;
    struct memory_store *ms;
    struct queue *queue;
    struct port *gmq;
    struct tls *tls; /* see client_fixture.h */
    struct gmq_options options;
    uint16_t port;
    bool is_gmq_stopping;
    bool is_gmq_stopped;
    bool is_queue_stopped;
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
    return f->gmq->stats.connections;
}

struct client connect_client(struct fixture *f);
struct client connect_from(struct fixture *f, unsigned host); /* 127.0.0.`host` */

/* Exactly this comes next, as one piece that recv() returns by itself. */
void expect(struct client *c, const char *reply);

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
