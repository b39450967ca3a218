/* Decisions use the monotonic clock; the wall clock is for log lines only, because what is due
 * is judged by Redis's clock, never by the node's. Leases use the clock since boot, which goes
 * on while the machine sleeps. Milliseconds and microseconds.
 */
#ifndef DUEQ_BASE_CLOCK_H
#define DUEQ_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
int64_t clock_wall_ms(void);
int64_t clock_boot_ms(void);

#endif
