/* The handlers of both apps, for app.c; and what they have in common. Private to lmstfy/. */
#ifndef DUEQ_PROTOCOL_LMSTFY_HANDLERS_H
#define DUEQ_PROTOCOL_LMSTFY_HANDLERS_H

#include "protocol/http/exchange.h"

/* ---- app.c ---- */

/* Answers 400 with this text. */
void lmstfy_refuse(struct exchange *x, const char *why);

/* Looks at the names of a path with a namespace and one queue. `x->topic` becomes the topic,
 * `x->id` the store's id. False: they are none, or the pool is not ours; that was answered. */
bool lmstfy_take_path(struct exchange *x);

/* The same for a path with several queues, which stay as they are. */
bool lmstfy_take_queues(struct exchange *x);

/* Of "[pool:]token": is the pool the one there is? And the token alone. */
bool lmstfy_is_our_pool(struct bytes token);
struct bytes lmstfy_token_behind_pool(struct bytes token);

/* Adds the job to what is to be answered, as codec.h has it. */
struct job;
void lmstfy_tell_job(struct exchange *x, struct buf *json, struct bytes topic,
                     const struct job *job, int64_t now_ms, bool is_new);

/* ---- jobs.c ---- */

void lmstfy_publish(struct exchange *x); /* what: is it one of these below? */
void lmstfy_publish_bulk(struct exchange *x);
void lmstfy_consume(struct exchange *x);
void lmstfy_delete(struct exchange *x);
void lmstfy_peek_job(struct exchange *x);
void lmstfy_peek_queue(struct exchange *x);

enum { LMSTFY_REPLACES = 1, LMSTFY_BULK };

/* ---- admin.c ---- */

void lmstfy_version(struct exchange *x);
void lmstfy_pools(struct exchange *x);
void lmstfy_metrics(struct exchange *x);
void lmstfy_info(struct exchange *x);
void lmstfy_make_token(struct exchange *x);
void lmstfy_list_tokens(struct exchange *x);
void lmstfy_revoke_token(struct exchange *x);
void lmstfy_get_limit(struct exchange *x);
void lmstfy_set_limit(struct exchange *x);
void lmstfy_drop_limit(struct exchange *x);
void lmstfy_list_limits(struct exchange *x);

/* ---- queues.c ---- */

void lmstfy_size(struct exchange *x); /* what: the state that counts */
void lmstfy_peek_dead(struct exchange *x);
void lmstfy_respawn(struct exchange *x);
void lmstfy_delete_dead(struct exchange *x);
void lmstfy_destroy(struct exchange *x);

#endif
