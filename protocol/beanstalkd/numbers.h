/* The numbers by which beanstalkd's clients know jobs.
 *
 * A job whose id the store made goes by that: a decimal number below 2^52. Any other id (text,
 * from a client of another dialect) is shown as 2^52 + a hash of topic and id, and the node
 * remembers whose number that is, so that later commands find the job. All numbers are below
 * 2^53, which clients in JavaScript need. Only the last NUMBERS_MAX are remembered, and only by
 * this node: a job whose number is forgotten is reserved again, or peeked at, and known anew.
 *
 * The hash is SHA-256, cut: nobody finds an id with the number of somebody else's job.
 */
#ifndef DUEQ_PROTOCOL_BEANSTALKD_NUMBERS_H
#define DUEQ_PROTOCOL_BEANSTALKD_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/list.h"

#define NUMBERS_OWN_MAX (UINT64_C(1) << 52) /* the store's own are below */
#define NUMBERS_MAX     65536
#define NUMBERS_SLOTS   8192

struct numbers {
    unsigned buckets; /* the store's */
    unsigned count;
    struct list slots[NUMBERS_SLOTS];
    struct list all; /* the last one asked for is last */
};

void numbers_init(struct numbers *n, unsigned buckets);
void numbers_fini(struct numbers *n);

/* The number of the job, which is remembered where it needs to be. */
uint64_t numbers_of(struct numbers *n, struct bytes topic, struct bytes id);

/* Whose number is it? For numbers from NUMBERS_OWN_MAX on. False: nobody's that is remembered.
 * Borrowed until the next numbers_of(). */
bool numbers_find(struct numbers *n, uint64_t number, struct bytes *topic, struct bytes *id);

#endif
