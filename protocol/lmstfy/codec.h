/* What lmstfy's clients send and get, as bytes. Pure.
 *
 * Where a function returns a text, it is what is wrong, in lmstfy's words; NULL: nothing is.
 */
#ifndef DUEQ_PROTOCOL_LMSTFY_CODEC_H
#define DUEQ_PROTOCOL_LMSTFY_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "node/store/job.h"

#define LMSTFY_BULK_MAX   64  /* jobs */
#define LMSTFY_COUNT_MAX  100 /* of a consume */
#define LMSTFY_BODY_MAX   (1u << 20)
#define LMSTFY_ATTRIBUTES 16 /* of a job, */
#define LMSTFY_ATTR_NAME  32 /* with so many bytes */
#define LMSTFY_ATTR_VALUE 128

/* ---- ids ----
 *
 * The store's own id is a decimal number, `n * buckets + bucket`, with 32 numbers `n` for each
 * millisecond since 2026 (doc/store.md). Clients know it as a ULID: 26 characters of
 * Crockford's base 32, for 48 bits of that time, 64 of the number and 16 that check it. A ULID
 * of somebody else, which has not this time and this check, is taken for an id that a producer
 * chose itself, and so are all other texts.
 */

#define LMSTFY_ULID_CHARS 26
#define LMSTFY_ID_ROOM    20 /* a number in decimal */

/* Adds the id as clients know it. */
void lmstfy_add_id(struct buf *to, struct bytes id, unsigned buckets);

/* The store's id for what a client sent: `given` itself, or a number, printed into `room`. */
struct bytes lmstfy_read_id(struct bytes given, unsigned buckets, char room[LMSTFY_ID_ROOM]);

/* When the store gave the id, on its clock; -1: it did not, so nobody knows. */
int64_t lmstfy_id_time_ms(struct bytes id, unsigned buckets);

/* ---- names ---- */

/* Is it ASCII without white space, as clients can send it in a header? */
bool lmstfy_is_printable(struct bytes text);

/* A namespace and one queue, or with `is_list` several queues with commas between. */
const char *lmstfy_check_names(struct bytes space, struct bytes queue, bool is_list);

/* The next of several queues, empty ones left out; false at the end. */
bool lmstfy_next_queue(struct bytes *rest, struct bytes *queue);

/* Adds "space/queue". False: no topic may be called so, or is that long. */
bool lmstfy_add_topic(struct buf *to, struct bytes space, struct bytes queue);

/* The part of a topic in front of its first '/', and the part behind it. A topic without one is
 * all queue. */
struct bytes lmstfy_space_of(struct bytes topic);
struct bytes lmstfy_queue_of(struct bytes topic);

/* ---- options ---- */

/* Digits and nothing else, at most `max`. `at` of the text is NULL: it was not given, and
 * `fallback` counts. False: it is no such number; `*out` is untouched. */
bool lmstfy_read_number(struct bytes text, int64_t max, int64_t fallback, int64_t *out);

/* The same in seconds; 0, and more than the engine can count, is for ever: 0. */
bool lmstfy_read_ttl(struct bytes text, int64_t max, int64_t *ttl_ms);

struct lmstfy_publish {
    int64_t delay_ms;
    int64_t ttl_ms; /* 0: never */
    unsigned tries; /* 1 or more */
};

const char *lmstfy_read_publish(struct bytes delay, struct bytes ttl, struct bytes tries,
                                struct lmstfy_publish *out);

struct lmstfy_consume {
    int64_t ttr_ms; /* not 0 */
    int64_t wait_ms;
    unsigned count; /* 1 to LMSTFY_COUNT_MAX */
};

const char *lmstfy_read_consume(struct bytes ttr, struct bytes timeout, struct bytes count,
                                struct bytes freeze_tries, struct lmstfy_consume *out);

/* {"read": number, "write": number, "interval": seconds} as requests a second of both together;
 * 1 or more. `body` is read once. */
const char *lmstfy_read_limit(struct bytes body, unsigned *rate);

/* ---- attributes ---- */

/* A header "Job-Attr-NAME: value" is an attribute of the job, with its name in lower case; of
 * two of a name the first one counts, other headers mean nothing. */
const char *lmstfy_take_header(struct attributes *attributes, struct bytes name,
                               struct bytes value);

/* ---- bulk ---- */

/* The jobs of a body, each as its raw JSON where it lies. `out` has room for LMSTFY_BULK_MAX.
 */
const char *lmstfy_read_bulk(struct bytes body, struct bytes *out, unsigned *count);

/* ---- replies ---- */

/* Members are in the order of the alphabet, as lmstfy's are. */

void lmstfy_add_error(struct buf *to, struct bytes text);

/* The job as a consumer gets it, or (without `is_new`) as somebody sees it who looks. `now_ms`
 * is on the store's clock. */
struct lmstfy_job {
    struct bytes topic;
    const struct job *job;
    int64_t now_ms;
    unsigned buckets;
    bool is_new;
};

void lmstfy_add_job(struct buf *to, const struct lmstfy_job *job);

void lmstfy_add_size(struct buf *to, struct bytes topic, int64_t size);

#endif
