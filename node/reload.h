/* Reading the configuration again while the node runs: the same for warden and worker.
 */
#ifndef DUEQ_NODE_RELOAD_H
#define DUEQ_NODE_RELOAD_H

#include "conf/conf.h"

struct audit;

/* Reopens the log and the audit log, and moves into `running` what can change without a
 * restart; a configuration with mistakes changes nothing. With `aloud` the log says what
 * changed or what is wrong: one process is enough for that. */
void reload_conf(struct conf *running, const struct conf_request *request, struct audit *audit,
                 bool aloud);

#endif
