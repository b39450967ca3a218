/* The log in a file, for tests of what is said. */
#ifndef DUEQ_NODE_STORE_REDIS_TESTS_LOG_FIXTURE_H
#define DUEQ_NODE_STORE_REDIS_TESTS_LOG_FIXTURE_H

/* From now on the log goes to that file; NULL: to standard error again. */
void log_to(const char *path);

/* So many lines of the file have these words; "": all lines. */
unsigned lines_with(const char *path, const char *words);

/* cmocka's, of a group: it logs to this file. */
extern char log_path[];
int log_begin(void **state);
int log_end(void **state);

#endif
