/* What a topic is set to, and whether it is paused. */
#ifndef DUEQ_NODE_STORE_MEMORY_SETTINGS_H
#define DUEQ_NODE_STORE_MEMORY_SETTINGS_H

#include "node/store/memory/ops.h"

enum status memory_run_configure(struct call *c);
enum status memory_run_settings(struct call *c);

#endif
