/* gmq's requests and replies, as far as the load generator needs them. */
#ifndef DUEQ_ITESTS_BENCH_LOAD_GMQ_H
#define DUEQ_ITESTS_BENCH_LOAD_GMQ_H

#include <stdint.h>

#include "itests/bench/load/clients.h"
#include "itests/bench/load/options.h"

/* Makes the body; call once. */
void gmq_init(const struct options *o);

/* The request's number is the job's id. */
void gmq_push(struct client *c, int64_t id, unsigned topic, int64_t delay_s);
void gmq_pop(struct client *c, unsigned topic);
void gmq_pop_any(struct client *c); /* of all the topics */
void gmq_ack(struct client *c, const char *id);

/* Ends the program when the reply is an error. */
void gmq_expect_success(struct bytes line);

/* The number of the request that this answers. */
int64_t gmq_reply_number(struct bytes line);

/* Is it "empty"? Any other error ends the program. */
bool gmq_is_empty(struct bytes line);

/* Copies the popped job's id. */
void gmq_popped_id(struct bytes line, char *id, size_t room);

#endif
