/* For the tests of a whole configuration: a directory for each test, and short ways to load a
 * configuration. The environment has REDIS=10.0.0.5:6379 and PASSWORD=ssh, nothing else.
 */
#ifndef DUEQ_CONF_TESTS_CONF_FIXTURE_H
#define DUEQ_CONF_TESTS_CONF_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/types.h>

#include "conf/conf.h"

/* cmocka's setup and teardown; the test is in its directory, and may write files there. */
int fixture_enter(void **state);
int fixture_leave(void **state);

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, fixture_enter, fixture_leave)

void fixture_write(const char *name, const char *text, mode_t mode);
const char *fixture_get_env(const char *name);

/* Loads `yaml`, as c.yaml (NULL: no file), with NULL-terminated sets (NULL: none). */
struct conf *fixture_load(const char *yaml, const char *const *sets,
                          struct conf_errors *errors);

/* The same, and there must be no mistake. */
struct conf *fixture_load_well(const char *yaml, const char *const *sets);
struct conf *fixture_load_file(const char *file);

/* The same, and these must be all mistakes, a line each. */
void expect_errors(const char *yaml, const char *lines);
void expect(const char *yaml, const char *const *sets, const char *lines);
void expect_set(const char *yaml, const char *set, const char *lines);

#endif
