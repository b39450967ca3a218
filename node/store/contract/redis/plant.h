/* Damages planted by hand in Redis, and what an audit finds of them. All of TOPIC. */
#ifndef DUEQ_NODE_STORE_CONTRACT_REDIS_PLANT_H
#define DUEQ_NODE_STORE_CONTRACT_REDIS_PLANT_H

#include "node/store/contract/redis/redis.h"
#include "node/store/contract/whole.h"

#define SUSPECTS_MAX 256

extern const struct contract_part contract_mends;

/* ---- by hand ---- */

/* Runs a command whose key has this letter; `rest` is what comes behind it. */
long long plant(const char *verb, char letter, const char *rest);

/* `id` has this score in a sorted set. */
void plant_score(char letter, const char *id, int64_t score);

/* The command, whose key is %s and whose member is %b, with the job's entry in r or q. */
void plant_entry(const char *format, char letter, const struct job *job);

/* `id` has this value. */
void plant_value(const char *id, const char *value, size_t len);

/* No key of TOPIC is left, and none of its bucket but the counter. */
void assert_nothing_stays(void);

/* ---- looking and mending ---- */

/* What the last audit found. */
struct found {
    struct suspect items[SUSPECTS_MAX];
    unsigned count, looked_at, pages;
};

extern struct found found;

/* From the first page to the last. */
void audit(void);

void assert_suspect(const char *id, enum damage damage);

/* Repairs; returns the damage that was found. */
enum damage mend(const char *id);

/* The audit finds this damage, repair mends it, and then all is well. */
void assert_mended(const char *id, enum damage damage);

#endif
