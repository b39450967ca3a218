/* Decodes the bodies of the API's requests about jobs, leases and topics. Pure. As strict as
 * object.h; nothing is copied, and base64 is decoded where it lies.
 *
 * To add a member: a line in the table of its object in decode.c, and where it goes.
 */
#ifndef DUEQ_PROTOCOL_API_DECODE_H
#define DUEQ_PROTOCOL_API_DECODE_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "node/store/op.h"
#include "protocol/api/object.h"

#define API_ITEMS_MAX 1000 /* jobs or leases in one request */

/* One job to be pushed, as struct op wants it. */
struct api_push {
    struct bytes id; /* empty: the store gives one */
    struct bytes body;
    int64_t delay_ms;
    int64_t at_ms; /* 0: not given */
    int64_t ttr_ms;
    int64_t ttl_ms;
    struct job_rules rules;
    enum push_mode mode;
    unsigned given; /* SETTING_BITs of TTR, ttl and rules; the others' values mean nothing */
};

/* The inputs of ack, release, touch and bury. */
struct api_lease {
    struct bytes id; /* of one among several */
    int64_t stamp;
    int64_t delay_ms; /* release; -1: as the job's backoff says */
    int64_t ttr_ms;   /* touch; 0: the job's own */
};

/* Another time for a job, as struct op wants it. */
struct api_move {
    int64_t delay_ms;
    int64_t at_ms;
};

/* Checks that the body is JSON; `value` is the body without the space around it, for the calls
 * below. On refusal all of them leave their outputs untouched, and `why` says why. */
enum status api_decode(struct bytes body, struct bytes *value, struct api_why *why) MUST_CHECK;

/* Checks that the body is empty, or an empty object. */
enum status api_decode_nothing(struct bytes body, struct api_why *why) MUST_CHECK;

/* BAD_REQUEST, OUT_OF_RANGE or BAD_ID. BAD_ID is for an empty id; the queue checks the id's
 * form. */
enum status api_decode_push(struct bytes object, struct api_push *push,
                            struct api_why *why) MUST_CHECK;

/* Counts the jobs of a list: 1 to API_ITEMS_MAX, else OUT_OF_RANGE. The jobs are not checked.
 */
enum status api_count_jobs(struct bytes list, unsigned *count, struct api_why *why) MUST_CHECK;

/* {"lease"} for ACK and BURY; with "delay_ms" for RELEASE, with "ttr_ms" for TOUCH. */
enum status api_decode_lease(struct bytes object, enum op_verb verb, struct api_lease *lease,
                             struct api_why *why) MUST_CHECK;

/* {"leases"}: the list, and how many it has, as for jobs; and one of them: {"id", "lease"}. */
enum status api_decode_leases(struct bytes object, struct bytes *list, unsigned *count,
                              struct api_why *why) MUST_CHECK;
enum status api_decode_one_lease(struct bytes object, struct api_lease *lease,
                                 struct api_why *why) MUST_CHECK;

/* {"delay_ms"} or {"at_ms"} */
enum status api_decode_move(struct bytes object, struct api_move *move,
                            struct api_why *why) MUST_CHECK;

/* Requests about topics. */

/* A kick or purge of a whole state, as struct sweep wants it. */
struct api_sweep {
    unsigned states; /* PURGE: 1 << enum job_state of each */
    uint64_t limit;  /* 0: none */
    int64_t since_ms;
    int64_t before_ms; /* 0: none */
};

struct api_pause {
    int64_t until_ms; /* SETTINGS_FOREVER: until it is resumed */
    int64_t for_ms;   /* from now, in place of until_ms; 0: until_ms counts */
};

/* Changes the settings in `mask`: each gets its value, or none where it is not `set`. */
struct api_settings {
    struct topic_settings settings;
    unsigned mask;
};

/* Of KICK or PURGE. */
enum status api_decode_sweep(struct bytes object, enum op_verb verb, struct api_sweep *sweep,
                             struct api_why *why) MUST_CHECK;
enum status api_decode_pause(struct bytes object, struct api_pause *pause,
                             struct api_why *why) MUST_CHECK;
enum status api_decode_settings(struct bytes object, struct api_settings *settings,
                                struct api_why *why) MUST_CHECK;

/* The words of the states, by enum job_state. */
extern const char *const api_states[JOB_DEAD + 1];

#endif
