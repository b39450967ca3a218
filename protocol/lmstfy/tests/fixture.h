/* lmstfy's app on the HTTP server of server_fixture.h, and its clients.
 * Include after cmocka's headers. */
#ifndef DUEQ_PROTOCOL_LMSTFY_TESTS_FIXTURE_H
#define DUEQ_PROTOCOL_LMSTFY_TESTS_FIXTURE_H

#include "protocol/http/tests/server_fixture.h"

int lmstfy_up(void **state); /* tear-down: fixture_down */

/* "PUT /api/ns/q?delay=1" on a connection of its own, and its reply, borrowed until the next
 * one. `headers`: lines with their ends; `body` may be NULL. */
const char *request_with(struct fixture *f, const char *line, const char *headers,
                         const char *body);
const char *request(struct fixture *f, const char *line, const char *body);

/* The same on a connection that stays. */
const char *request_on(struct client *c, const char *line, const char *body);

/* This code, and no body. */
void assert_nothing(const char *reply);

/* The text of a member of the reply, its first; borrowed until the next call of this one. */
const char *member_of(const char *reply, const char *name);

/* Publishes "body", and returns the new job's id, borrowed until the next call. */
const char *publish(struct fixture *f, const char *path);

/* From now on there is an audit log, whose lines so far are told, until its end: after
 * fixture_down(). */
void audit_begin(struct fixture *f);
const char *audit_lines(void);
void audit_end(void);

#endif
