/* What commands read: whole files, and lines as they come. */
#ifndef DUEQ_NODE_CTL_INPUT_H
#define DUEQ_NODE_CTL_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "node/ctl/ctl.h"

#define INPUT_MAX      ((size_t)256 << 20) /* of a body */
#define INPUT_LINE_MAX ((size_t)64 << 20)

/* stdin for NULL or "-". Says what is wrong; -1 then. */
int input_open(const char *path);

/* Closes what input_open() has opened. */
void input_close(int fd);

/* Adds all there is. Says what is wrong, and returns CTL_USAGE then. */
enum ctl_exit input_read_all(int fd, struct buf *to);

enum input_next {
    INPUT_LINE,
    INPUT_LATER, /* none yet, and to wait was not wanted */
    INPUT_END,
    INPUT_FAILED,      /* which was said */
    INPUT_INTERRUPTED, /* interrupt.h: what was read and not taken is left */
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
 * Before it waits, stdout is flushed: who feeds it may wait for what was printed. */
enum input_next lines_next(struct lines *lines, bool may_wait, struct bytes *line);

#endif
