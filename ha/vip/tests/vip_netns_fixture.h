/* For tests that change addresses and interfaces: a network namespace of the test program's
 * own, and in it a cable: what va sends comes out at vb. Nothing of the machine's own network
 * is touched. Include after cmocka's headers.
 */
#ifndef DUEQ_HA_VIP_TESTS_VIP_NETNS_FIXTURE_H
#define DUEQ_HA_VIP_TESTS_VIP_NETNS_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

#define VA_MAC "02:00:00:00:00:0a"
#define VB_MAC "02:00:00:00:00:0b"

/* Enters it. 0: go on; else main() returns this: the output says why not. Only a CI run fails.
 */
int netns_enter(void);

/* A fresh cable: va is up with 10.9.0.1/24 and fd09::1/64, vb is up and silent. For cmocka's
 * set-up and teardown. */
int netns_lay_cable(void **state);
int netns_take_cable(void **state);

/* A command that must succeed, as printf. */
void netns_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Does the output of the command have this text? */
bool netns_shows(const char *command, const char *text);

/* Turns the loop until the expression is true; fails after some seconds. */
#define AWAIT(loop, expression)                   \
    do {                                          \
        for (int left_ = 20000; !(expression);) { \
            assert_true(left_-- > 0);             \
            netns_turn(loop);                     \
        }                                         \
    } while (0)

void netns_turn(struct loop *loop);

/* All frames that reach an interface: a descriptor to be closed, not blocking. */
int netns_tap(const char *interface);

/* Turns the loop until this very frame has come; fails after some seconds. */
void netns_await_frame(struct loop *loop, int tap, const void *frame, size_t len);

/* Has it come until now? What came before it is forgotten. */
bool netns_has_frame(int tap, const void *frame, size_t len);

/* Sends a frame from an interface of the tap. */
void netns_send(int tap, const void *frame, size_t len);

#endif
