/* Timeouts use the monotonic clock. Leases use the clock since boot, which goes on while the
 * machine sleeps. The wall clock is for what people read or write: Redis's clock decides which
 * jobs are due, never the node's.
 */
#ifndef DUEQ_BASE_CLOCK_H
#define DUEQ_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
int64_t clock_wall_ms(void);
int64_t clock_boot_ms(void);

#endif
