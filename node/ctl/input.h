/* The input of commands: whole files, and lines as they come. */
#ifndef DUEQ_NODE_CTL_INPUT_H
#define DUEQ_NODE_CTL_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "node/ctl/ctl.h"

/* Ctrl-C and its like, where work is done in steps: the step under way is finished, what came
 * of it is said, and then the program ends by the signal after all. A second signal kills at
 * once. A signal that is ignored (nohup) stays so. */

/* From now on SIGINT and SIGTERM are noted. */
void interrupt_catch(void);
bool interrupt_is_caught(void);

/* Ends the program by the signal that was noted; returns when there was none. */
void interrupt_end(void);

/* stdin for NULL or "-". Says what is wrong; -1 then. */
int input_open(const char *path);

/* Closes what input_open() has opened. */
void input_close(int fd);

/* Adds all there is. Says what is wrong, and returns CTL_USAGE then. */
enum ctl_exit input_read_all(int fd, struct buf *to);

enum input_next {
    INPUT_LINE,
    INPUT_LATER, /* none yet, and `may_wait` is false */
    INPUT_END,
    INPUT_FAILED,      /* the message was printed */
    INPUT_INTERRUPTED, /* by a signal; lines that were read and not taken are left */
};

struct lines {
    int fd;
    struct buf read;
    size_t at;       /* in `read`: what was taken */
    size_t searched; /* behind that: no line ends there */
    bool is_end;
};

void lines_init(struct lines *lines, int fd);
void lines_fini(struct lines *lines);

/* The next line without its end; it lives until the next call. A last line needs no end.
 * stdout is flushed before a wait: the program that writes the lines may wait for the output.
 */
enum input_next lines_next(struct lines *lines, bool may_wait, struct bytes *line);

#endif
