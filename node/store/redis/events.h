/* hiredis on our event loop, with as few system calls as a round trip needs.
 *
 * hiredis asks to be told when it may write. As long as the kernel takes what is written,
 * nobody needs to ask the kernel first: commands are written at the end of the turn of the
 * loop in which they were issued, all of one turn together. Only when the socket is full, or
 * not connected yet, is it watched. (hiredis's own adapter watches for every command and
 * every answer: four system calls and a turn of the loop more for a lone request.)
 */
#ifndef DUEQ_NODE_STORE_REDIS_EVENTS_H
#define DUEQ_NODE_STORE_REDIS_EVENTS_H

struct event_base;
struct redisAsyncContext;

/* For a context that is connecting, before its callbacks are set. Freed with the context. */
void redis_events_attach(struct redisAsyncContext *redis, struct event_base *base);

#endif
