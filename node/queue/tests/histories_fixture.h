/* What the tests of histories have in common: an engine that writes that of topic t.
 * Include after cmocka's headers. */
#ifndef DUEQ_NODE_QUEUE_TESTS_HISTORIES_FIXTURE_H
#define DUEQ_NODE_QUEUE_TESTS_HISTORIES_FIXTURE_H

#include "node/queue/tests/queue_fixture.h"

#define NOW   memory_store_now(f.ms)
#define LINES 80

extern struct fixture f;
extern struct consumer a;

/* What a trace told. */
struct told {
    struct trace trace;
    unsigned done;
    enum status status;
    bool is_on;
    unsigned count;
    struct history_item items[LINES];
    char node[LINES][OP_NODE_MAX + 1], client[LINES][JOB_HOLDER_MAX + 1];
};

extern struct told told; /* by the last one */

int set_up(void **state);
int tear_down(void **state);

extern const struct settings_rule on_for_t;
struct queue_options with_history(void);
void reload(struct queue_options options);

void on_traced(struct trace *trace);
void begin_trace(const char *topic, const char *id, unsigned limit);
void trace(const char *topic, const char *id, unsigned limit); /* and it is answered */

/* The words of what became of job "1" of topic t, oldest first. */
const char *story(void);

/* Of job "1" of topic t. */
enum status act(enum op_verb verb, struct call *call);
enum status with_lease(enum op_verb verb, int64_t delay_ms); /* that of `a` */
void get_one(void);                                          /* pushed, and handed to `a` */

#endif
