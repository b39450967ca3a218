/* Counts log lines, for tests. Include after cmocka's headers. */
#ifndef DUEQ_HA_VIP_TESTS_VIP_LOG_FIXTURE_H
#define DUEQ_HA_VIP_TESTS_VIP_LOG_FIXTURE_H

/* For the group's set-up and teardown: a file of its own instead of standard error. */
int log_catch(void **state);
int log_let_go(void **state);

void log_forget(void);                /* all lines until now */
unsigned log_count(const char *text); /* the number of lines with it */

#endif
