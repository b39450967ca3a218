/* How operations end: one enum, each value with a text for people and a word for the wire.
 *
 * Two families must never be confused, from Redis to the client's socket:
 *   refused   it did not happen, and repeating it is safe;
 *   unknown   it may have happened (a connection or a deadline was lost on the way), or it has
 *             and may be lost again.
 * Only STATUS_UNKNOWN and STATUS_NOT_REPLICATED belong to the second.
 *
 * To add a status: one line in STATUS_LIST.
 */
#ifndef DUEQ_BASE_STATUS_H
#define DUEQ_BASE_STATUS_H

#include <stdbool.h>

/*    name            wire word          text for people */
#define STATUS_LIST(X)                                                                         \
    X(OK, "ok", "done")                                                                        \
    X(BAD_REQUEST, "bad_request", "the request is malformed")                                  \
    X(BAD_TOPIC, "bad_topic",                                                                  \
      "a topic is 1 to 200 characters of [A-Za-z0-9_.:/+;$()-], not starting with '-', and "   \
      "not '.' or '..'")                                                                       \
    X(BAD_ID, "bad_id",                                                                        \
      "a job id is 1 to 200 printable ASCII characters without white space, and not '.' or "   \
      "'..'")                                                                                  \
    X(OUT_OF_RANGE, "out_of_range", "a number is out of its range")                            \
    X(TOO_LARGE, "too_large", "the body is larger than limits.body_bytes")                     \
    X(TOO_MANY, "too_many",                                                                    \
      "too many operations wait for the store (store.hold_max, or 256 MiB); try again later")  \
    X(TOO_MANY_WAITERS, "too_many_waiters",                                                    \
      "too many topics are waited for, by all or by this address (limits.waiting); try again " \
      "later, or without waiting")                                                             \
    X(TOO_MANY_POPS, "too_many_pops",                                                          \
      "20000 topics are asked for jobs already; try again later")                              \
    X(TOO_MANY_FOLLOWERS, "too_many_followers",                                                \
      "100 requests wait for hand-overs already; try again later")                             \
    X(TOO_MANY_SWEEPS, "too_many_sweeps",                                                      \
      "16 kicks and purges of many go on already; try again when one has ended")               \
    X(TOO_MANY_TRACES, "too_many_traces",                                                      \
      "16 histories are being read already; try again in a moment")                            \
    X(DUPLICATE, "duplicate", "a job with this id is alive in the topic")                      \
    X(NOT_FOUND, "not_found", "no such job")                                                   \
    X(NOT_RESERVED, "not_reserved", "the job is not reserved")                                 \
    X(NOT_OWNER, "not_owner", "the lease has expired; the job belongs to another hand-over")   \
    X(WRONG_STATE, "wrong_state", "the job is not in a state from which this is done")         \
    X(FORBIDDEN, "forbidden", "this client may not do that")                                   \
    X(TOPIC_FULL, "topic_full",                                                                \
      "the topic has as many jobs as its max_jobs allows, dead ones counted: consume, purge "  \
      "the dead, or raise max_jobs")                                                           \
    X(TOPIC_FULL_BYTES, "topic_full_bytes",                                                    \
      "with this body the topic would have more than its max_bytes, dead jobs counted: "       \
      "consume, purge the dead, or raise max_bytes")                                           \
    X(TOO_MANY_IDENTITIES, "too_many_identities",                                              \
      "there are 1000 identities, or their lines have 1 MiB together: revoke some")            \
    X(FENCED, "fenced", "another leader is known to the store; nothing happened")              \
    X(CANCELLED, "cancelled", "the caller gave up")                                            \
    X(SHUTTING_DOWN, "shutting_down", "the node is stopping")                                  \
    X(UNAVAILABLE, "unavailable", "the store is unavailable; nothing happened")                \
    X(STORE_ERROR, "store_error", "the store refused the operation; nothing happened")         \
    X(UNKNOWN, "unknown", "the store did not answer; the operation may have happened")         \
    X(NOT_REPLICATED, "not_replicated",                                                        \
      "too few replicas have it (store.min_replicas): lost if Redis fails over now")           \
    X(WRONG_STORE, "wrong_store", "this Redis does not belong to this installation")           \
    X(IO_ERROR, "io_error", "the operating system refused")                                    \
    X(BAD_CONFIG, "bad_config", "the configuration is wrong")

enum status {
#define X(name, word, text) STATUS_##name,
    STATUS_LIST(X)
#undef X
        STATUS_COUNT
};

#define MUST_CHECK __attribute__((warn_unused_result))

/* For people. Never NULL, static. */
const char *status_text(enum status s);

/* For programs: a stable lower-case word. Never NULL, static. */
const char *status_word(enum status s);

/* May the operation have happened? With any other status but OK it surely did not. */
bool status_is_unknown(enum status s);

#endif
