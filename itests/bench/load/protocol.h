/* A protocol as the load generator needs it: requests out, replies in.
 *
 * As cheap as it gets, because it shares the machine with what it measures: a reply is found
 * by its end and searched for the few things that its owner wants; nothing else is parsed.
 * But every reply is judged: done, nothing there, or an error.
 *
 * To add a protocol: a file with its functions, and a line in protocol.c; then echo.c.
 */
#ifndef DUEQ_ITESTS_BENCH_LOAD_PROTOCOL_H
#define DUEQ_ITESTS_BENCH_LOAD_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define POP_TOPICS_MAX 64

/* In the order of a job's life. */
enum verb { VERB_PUSH, VERB_POP, VERB_ACK };

/* A job in a consumer's hands. Borrowed; what the protocol does not have is empty. */
struct handed {
    struct bytes id, topic, lease;
    struct bytes number; /* its pusher's: digits, and whatever follows */
};

struct question {
    enum verb verb;
    unsigned tag;      /* which of those under way on its connection */
    unsigned topic;    /* pop: the first */
    unsigned topics;   /* pop: 1 to POP_TOPICS_MAX */
    int64_t number;    /* push: the job's */
    int64_t delay_s;   /* push */
    int64_t at_ms;     /* push: due then, where that can be said; 0: delay_s counts */
    int64_t ttr_s;     /* push */
    int64_t priority;  /* push, where that can be said; 0: it says none */
    int64_t wait_s;    /* pop, where that can be said */
    struct handed job; /* ack */
};

enum answer_kind { ANSWER_DONE, ANSWER_EMPTY, ANSWER_ERROR };

struct answer {
    enum answer_kind kind;
    unsigned tag;      /* of its question; where answers come in order: 0 */
    struct bytes text; /* all of it, for people; borrowed from the input, as is the job */
    struct handed job; /* pop */
};

/* How it is known when a pushed job is due. */
enum due_source {
    DUE_IS_SAID,      /* the push says when */
    DUE_IS_STORED,    /* it stands in the store */
    DUE_FROM_SENDING, /* at most so much earlier than delay_s after the push was sent */
};

struct protocol {
    const char *name;
    int usual_port;
    bool is_in_order; /* answers come in the order of the questions */
    bool acks_always; /* with a TTR of 0, too */
    bool has_priorities;
    enum due_source due_source;
    void (*ask)(struct buf *out, const struct question *q);
    /* The first answer's length, or 0 when it is not all there; dies when it is none. */
    size_t (*take)(struct bytes in, struct answer *a);
};

/* Must a job be acknowledged, or is it gone once delivered? */
bool protocol_acks(const struct protocol *p, int64_t ttr_s);

/* By name; dies when there is none. */
const struct protocol *protocol_find(const char *name);

extern const struct protocol protocol_gmq, protocol_http, protocol_beanstalk;

/* What follows the first `mark` in `text`; empty when it is not there. */
struct bytes after(struct bytes text, struct bytes mark);

/* What follows the first `mark`, up to the next double quote; empty when it is not there. */
struct bytes quoted_after(struct bytes text, struct bytes mark);

bool starts_with(struct bytes text, struct bytes start);
bool ends_with(struct bytes text, struct bytes end);

#endif
