/* A record of the node's roles, and of the time until which it might act, to judge failovers
 * by.
 *
 * A file of JSON lines, `ha.journal` in node.data_dir, appended to by the worker (roles,
 * leases, fences) and by the warden (the end of a worker that died). Each line is one write,
 * made before the node acts on it, so the line survives kill -9. Times are milliseconds of
 * CLOCK_BOOTTIME.
 *
 *   {"event":"role","node":"n1","role":"leader","before":"standby","reason":"elected",
 *    "token":"...","boot_ms":1}
 *   {"event":"lease","node":"n1","token":"...","from_ms":1,"until_ms":900}
 *   {"event":"fenced","node":"n1","token":"...","seen":"...","boot_ms":1}
 *   {"event":"vip","node":"n1","state":"held","boot_ms":1}
 *
 * A lease counts until its until_ms, or the node's next role that is not leader. The virtual
 * address is at the node from "held" to "away", also while it is "leaving"; these lines are
 * written after the event.
 */
#ifndef DUEQ_NODE_JOURNAL_H
#define DUEQ_NODE_JOURNAL_H

#include <stdint.h>

struct ha_journal {
    int fd; /* -1: nothing is written */
    const char *node;
    int64_t until_ms; /* of the last lease written */
};

/* `node` is borrowed. Where the file cannot be opened the log says so, and nothing is written.
 */
void ha_journal_open(struct ha_journal *j, const char *data_dir, const char *node);
void ha_journal_close(
    struct ha_journal *j); /* harmless twice, and on a zeroed one with fd -1 */

/* Words and tokens need no escaping: they are of [A-Za-z0-9_.:-]. */
void ha_journal_role(struct ha_journal *j, const char *role, const char *before,
                     const char *reason, const char *token, int64_t boot_ms);

/* Writes nothing where `until_ms` is no later than in the last line. */
void ha_journal_lease(struct ha_journal *j, const char *token, int64_t from_ms,
                      int64_t until_ms);
void ha_journal_fenced(struct ha_journal *j, const char *token, const char *seen,
                       int64_t boot_ms);

/* The new state of the virtual address. */
void ha_journal_vip(struct ha_journal *j, const char *state, int64_t boot_ms);

/* For the warden: the worker of `node` has died, and cannot say so itself. Opens and closes the
 * file. Call before the dead worker's session is ended: after that another node may lead. */
void ha_journal_death(const char *data_dir, const char *node, int64_t boot_ms);

#endif
