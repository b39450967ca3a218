/* Ctrl-C and its like, where work is done in steps: the step under way is finished, what came
 * of it is said, and then the program ends by the signal after all. A second signal kills at
 * once. A signal that is ignored (nohup) stays so. */
#ifndef DUEQ_NODE_CTL_INTERRUPT_H
#define DUEQ_NODE_CTL_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT and SIGTERM are noted. */
void interrupt_catch(void);

bool interrupt_is_caught(void);

/* Readable once a signal was noted, to be waited for; -1 without interrupt_catch(). */
int interrupt_fd(void);

/* Ends the program by the signal that was noted; returns when there was none. */
void interrupt_end(void);

#endif
