/* What the tests of settings have in common: two nodes on one store, and words to set them.
 * Include after cmocka's headers. */
#ifndef DUEQ_NODE_QUEUE_TESTS_SETTINGS_FIXTURE_H
#define DUEQ_NODE_QUEUE_TESTS_SETTINGS_FIXTURE_H

#include "node/queue/tests/queue_fixture.h"

extern struct fixture f, other;

int set_up(void **state); /* neither has heard of the store yet */
int tear_down(void **state);

struct queue_options with_rules(const struct settings_rule *rules, unsigned count);
struct topic_settings settings_at(struct fixture *node, const char *topic);

/* At once, and well. */
void configure(struct fixture *node, const char *topic, const struct topic_settings *settings,
               unsigned mask);
void set_ttr(struct fixture *node, const char *topic, int64_t ttr_ms);
void unset_ttr(struct fixture *node, const char *topic);
void pause_for(struct fixture *node, const char *topic, int64_t ms);

/* Both nodes' timers at the same time. */
void turn_both(void);

#endif
