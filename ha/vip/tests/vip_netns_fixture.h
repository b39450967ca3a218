/* For tests that change addresses and interfaces: a network namespace of the test program's own
 * with a cable in it, so that frames sent at va come out at vb. The machine's own network is
 * not touched. Include after cmocka's headers.
 */
#ifndef DUEQ_HA_VIP_TESTS_VIP_NETNS_FIXTURE_H
#define DUEQ_HA_VIP_TESTS_VIP_NETNS_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "ha/vip/address.h"

/* The virtual addresses: 10.9.0.100 and fd09::64. */
extern struct vip_addresses both;
#define V4 (&both.at[0])
#define V6 (&both.at[1])

#define VA_MAC "02:00:00:00:00:0a"
#define VB_MAC "02:00:00:00:00:0b"
extern const unsigned char va_mac[6], vb_mac[6];

/* Enters the namespace. 0: go on. Else main() returns the result, and the output says why there
 * is no namespace; only in CI is that a failure. */
int netns_enter(void);

/* A fresh cable: va is up with 10.9.0.1/24 and fd09::1/64, vb is up and silent. For cmocka's
 * set-up and teardown. */
int netns_lay_cable(void **state);
int netns_take_cable(void **state);

/* Runs a command, formatted as by printf, which must succeed. */
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

/* A non-blocking descriptor for all frames that reach an interface; the caller closes it. */
int netns_tap(const char *interface);

/* Turns the loop until this very frame has come; fails after some seconds. */
void netns_await_frame(struct loop *loop, int tap, const void *frame, size_t len);

/* Has the frame come by now? Frames before it are dropped. */
bool netns_has_frame(int tap, const void *frame, size_t len);

/* Sends a frame from the tap's interface. */
void netns_send(int tap, const void *frame, size_t len);

#endif
