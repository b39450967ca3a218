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

struct sweep;

/* Checks that the body is JSON; `value` is the body without the space around it, for the calls
 * below. On refusal all of them leave their outputs untouched, and `why` says why. */
enum status api_decode(struct bytes body, struct bytes *value, struct api_why *why) MUST_CHECK;

/* Checks that the body is empty, or an empty object. */
enum status api_decode_nothing(struct bytes body, struct api_why *why) MUST_CHECK;

/* How many items a list has: 1 to API_ITEMS_MAX, else OUT_OF_RANGE. They are not checked;
 * `what` they are is for `why`. And the same of {"leases"}, with that list. */
enum status api_count(struct bytes list, const char *what, unsigned *count,
                      struct api_why *why) MUST_CHECK;
enum status api_decode_leases(struct bytes object, struct bytes *list, unsigned *count,
                              struct api_why *why) MUST_CHECK;

/* ---- the inputs of an operation, set in `op`; its other fields stay as they are ---- */

/* PUSH: BAD_REQUEST, OUT_OF_RANGE or BAD_ID. BAD_ID is for an empty id; the queue checks the
 * id's form. */
enum status api_decode_push(struct bytes object, struct op *op, struct api_why *why) MUST_CHECK;

/* {"lease"} for ACK and BURY; with "delay_ms" for RELEASE, with "ttr_ms" for TOUCH. */
enum status api_decode_lease(struct bytes object, struct op *op,
                             struct api_why *why) MUST_CHECK;

/* {"id", "lease"}: an ACK among several. */
enum status api_decode_one_lease(struct bytes object, struct op *op,
                                 struct api_why *why) MUST_CHECK;

/* MOVE: {"delay_ms"} or {"at_ms"}; `states` is left alone. */
enum status api_decode_move(struct bytes object, struct op *op, struct api_why *why) MUST_CHECK;

/* CONFIGURE: a pause, for ever where the object says nothing; or settings. */
enum status api_decode_pause(struct bytes object, struct op *op,
                             struct api_why *why) MUST_CHECK;
enum status api_decode_settings(struct bytes object, struct op *op,
                                struct api_why *why) MUST_CHECK;

/* The same of a KICK or PURGE, as its verb says. */
enum status api_decode_sweep(struct bytes object, struct sweep *sweep,
                             struct api_why *why) MUST_CHECK;

/* The words of the states, by enum job_state. */
extern const char *const api_states[JOB_DEAD + 1];

#endif
