/* A push gets from its topic's settings what it leaves open (in.push.given), and goes.
 *
 * Before all settings have been read for the first time nobody knows whether the topic has any,
 * and a job must not get wrong ones in silence. Such a push waits until its own topic's
 * settings have been read. So its time is bounded as that of any operation, by the store, and
 * so is the room for those that wait; lining them up here until all is read would need both
 * once more.
 */
#ifndef DUEQ_NODE_QUEUE_PUSHES_H
#define DUEQ_NODE_QUEUE_PUSHES_H

struct op;
struct settings_cache;

/* Of a checked PUSH, its bucket set. */
void pushes_send(struct settings_cache *cache, struct op *push);

#endif
