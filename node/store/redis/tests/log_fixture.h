/* For tests of what is logged: the log goes to a file, from a group's setup to its teardown. */
#ifndef DUEQ_NODE_STORE_REDIS_TESTS_LOG_FIXTURE_H
#define DUEQ_NODE_STORE_REDIS_TESTS_LOG_FIXTURE_H

extern char log_path[];

int log_begin(void **state);
int log_end(void **state);

#endif
