/* The operator's program that is told of changes of role: HOOK promote|demote|fenced NODE TOKEN
 * REASON. One at a time and in order; program.h says how it is run.
 */
#ifndef DUEQ_NODE_HOOKS_H
#define DUEQ_NODE_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/api/report.h"

#define HOOKS_TIMEOUT_MS 30000
#define HOOKS_QUEUE_MAX  16 /* waiting runs; with one more the oldest is dropped, and logged */
#define HOOKS_COUNTS     12 /* three words for what happened, four results */

struct hooks;
struct loop;

/* Texts are borrowed for its life; `program` "": nothing is ever run. Never NULL. */
struct hooks *hooks_new(struct loop *loop, const char *program, const char *node,
                        int64_t timeout_ms);
void hooks_free(struct hooks *h); /* NULL is fine */

/* Copies what it is given. */
void hooks_run(struct hooks *h, const char *what, const char *token, const char *reason);

/* Each of "promote", "demote" and "fenced" with "done", "failed", "timeout" and "not_run",
 * since start. Texts are static. */
void hooks_count(const struct hooks *h, struct cluster_hook counts[HOOKS_COUNTS]);

/* Nothing runs, and nothing waits. */
bool hooks_is_idle(const struct hooks *h);

#endif
