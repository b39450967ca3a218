/* What the twins do, one operation a step: steps_jobs.c with single jobs,
 * steps_topics.c with all of a topic, steps.c chooses. */
#ifndef DUEQ_NODE_STORE_CONTRACT_REDIS_STEPS_H
#define DUEQ_NODE_STORE_CONTRACT_REDIS_STEPS_H

#include "node/store/contract/redis/twins.h"

/* ---- single jobs ---- */

/* A random one of a few, so that steps meet. */
struct bytes any_topic(void);
struct bytes any_id(void);

void remember_lease(const struct job *job);

void step_push(enum op_verb verb, struct bytes topic);
void step_together(enum op_verb verb, struct bytes topic); /* pushes or acks of one turn */
void step_leases(enum op_verb verb, struct bytes topic);
void step_lease(enum op_verb verb, struct bytes topic);
void step_notes(enum op_verb verb, struct bytes topic); /* how many there are */
void step_take(enum op_verb verb, struct bytes topic);
void step_id(enum op_verb verb, struct bytes topic);

/* Cancels all jobs that may live in the topic; forgets what was remembered. */
void cancel_all(struct bytes topic);
void forget_jobs(void);

/* ---- all of a topic ---- */

void step_topics(enum op_verb verb, struct bytes topic);
void step_list(enum op_verb verb, struct bytes topic);
void step_chunk(enum op_verb verb, struct bytes topic);
void step_configure(enum op_verb verb, struct bytes topic);
void step_topic(enum op_verb verb, struct bytes topic); /* STATS, SETTINGS */
void step_scan(enum op_verb verb, struct bytes topic);
void step_record(enum op_verb verb, struct bytes topic);
void step_trace(enum op_verb verb, struct bytes topic);

/* ---- identities ---- */

void step_identify(enum op_verb verb, struct bytes topic);
void step_identities(enum op_verb verb, struct bytes topic);

/* The page of a list that would be next. */
void forget_list(void);

#endif
