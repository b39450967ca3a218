/* What the tests of the API have in common: replies taken apart, on the
 * server of server_fixture.h.
 * Include after cmocka's headers. */
#ifndef DUEQ_PROTOCOL_API_TESTS_API_FIXTURE_H
#define DUEQ_PROTOCOL_API_TESTS_API_FIXTURE_H

#include "protocol/http/tests/server_fixture.h"

/* A request whose client breaks off, which is noticed, while the store has its first operation,
 * of this verb; until that, and all that follows, is done, also what would follow a rest. */
void call_and_break_off(struct fixture *f, const char *method, const char *path,
                        const char *body, enum op_verb verb);

/* This code, and this word for it. */
void assert_error(const char *reply, int code, const char *word);

/* The value of a member that is a string or a number, its first in the reply; borrowed until
 * the next call of this one. */
const char *member_of(const char *reply, const char *name);

/* A member that is a time on the store's clock, which goes on since it was set: not before it,
 * and not long behind. */
void assert_time(const char *reply, const char *name, int64_t time_ms);

/* Pushes, and fails when that fails. */
void push(struct fixture *f, const char *topic, const char *job);

/* The lease of the topic's next job. */
const char *pop_lease(struct fixture *f, const char *topic);

/* {"lease":lease} and what is to stand behind it; borrowed until the next call. */
const char *with_lease(const char *lease, const char *more);

/* "delayed" or so; "" when there is no such job. */
const char *state_of(struct fixture *f, const char *topic, const char *id);

#endif
