/* The audit log: who did what only operators may do, and with which result; what was refused,
 * too. (The reconciler's audits of the store are another thing.)
 *
 * A file of its own, one JSON object a line:
 *
 *   {"time":"2026-11-28T12:00:00.123Z","who":null,"from":"http 10.0.0.7:40712",
 *    "operation":"purge","role":"operate","topic":"orders","id":null,
 *    "body":"{\"states\": [\"dead\"]}","request":"a1b2-7","status":200,"error":null,
 *    "count":12}
 *
 * Text comes from clients: it is escaped, and bytes that are no UTF-8 are replaced. A line is
 * one write(2) of at most PIPE_BUF bytes: lines of several processes do not mix in a file, and
 * a pipe takes a line as a whole or not at all. A pipe whose reader does not keep up, or has
 * gone, loses lines: nobody waits for it.
 *
 * The warden opens the file before its first worker is forked, and keeps it open: a worker
 * inherits it as it is. So a pipe's reader sees no end where a worker is replaced, and the next
 * worker needs no reader that waits. After a SIGHUP each of the two opens what is another file
 * then; the same one, by device and inode, stays open.
 */
#ifndef DUEQ_PROTOCOL_ACCESS_AUDIT_H
#define DUEQ_PROTOCOL_ACCESS_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

struct audit;

/* Empty text is written as null. The caller bounds what clients have sent. */
struct audit_entry {
    struct bytes who;  /* the name of an identity; empty: not known */
    struct bytes from; /* protocol and address */
    struct bytes operation, role;
    struct bytes topic, id; /* on what */
    struct bytes body;      /* what was asked for */
    struct bytes request;   /* X-Request-Id */
    int status;
    struct bytes error; /* its word; empty: it went well */
    int64_t count;      /* of jobs that it changed; negative: not known */
};

/* Never NULL; without a file until audit_use(). */
struct audit *audit_new(void);
void audit_free(struct audit *a); /* NULL is fine */

/* Appends to what has this name now (after a rotation: another file). "": no audit log.
 * IO_ERROR (errno says why): the file that is open stays in use. Where none is, lines are lost
 * until this one can be opened: audit_write() tries again, once a second at most. */
enum status audit_use(struct audit *a, const char *file) MUST_CHECK;
bool audit_is_wanted(const struct audit *a); /* it has a name */
bool audit_is_open(const struct audit *a);

/* Waits for no reader of a pipe; for a disk as any write does. False: the line is lost, which
 * the node's log says once a minute. */
bool audit_write(struct audit *a, const struct audit_entry *entry) MUST_CHECK;

#endif
