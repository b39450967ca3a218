/* uthash, as this house wants it: out of memory for our own small objects aborts. */
#ifndef DUEQ_NODE_QUEUE_HASH_H
#define DUEQ_NODE_QUEUE_HASH_H

#include <stdlib.h>

#define uthash_fatal(message) abort()
#include <uthash.h>

#endif
