/* Everything that can be wrong, as the wire says it: status code, word for programs, text for
 * people. One table for the server's own refusals and for how the engine's operations end; in
 * the order of the codes. doc/errors.md explains each word, openapi.yaml lists them, and a
 * test holds the three together.
 *
 * A word may stand in several rows: programs act on the word, people read the row's text. Only
 * the word "unknown" means that the operation may have happened. Every 503 and 429 says
 * when to try again.
 *
 * To add one: a line here, one in doc/errors.md and, when the word is new, one in openapi.yaml.
 */
#ifndef DUEQ_PROTOCOL_HTTP_ERRORS_H
#define DUEQ_PROTOCOL_HTTP_ERRORS_H

#include "base/buf.h"
#include "base/status.h"

/* clang-format off */
/*    name          code  word                   text */
#define HTTP_ERROR_LIST(X)                                                                     \
    X(LINE_END,      400, "bad_request",         "a line does not end with CR LF")             \
    X(REQUEST_LINE,  400, "bad_request",         "the first line is not 'METHOD /path HTTP/1.1'") \
    X(PROXY,         400, "bad_request",         "a PROXY header from an address that is not in http.proxies") \
    X(FIELD,         400, "bad_request",         "a header is not 'Name: value'")              \
    X(LENGTH,        400, "bad_request",         "the length of the body is no number, or given twice or in two ways") \
    X(CHUNK,         400, "bad_request",         "a chunk of the body is malformed")           \
    X(NO_HOST,       400, "bad_request",         "HTTP/1.1 wants one 'Host' header, with a name or an address") \
    X(ESCAPE,        400, "bad_request",         "a '%' in the path is not followed by two hexadecimal digits") \
    X(BAD_REQUEST,   400, "bad_request",         "the request is malformed")                   \
    X(BAD_TOPIC,     400, "bad_topic",           "a topic is 1 to 200 characters of [A-Za-z0-9_.:/+;$()-], not starting with '-', and not '.' or '..'") \
    X(BAD_ID,        400, "bad_id",              "a job id is 1 to 200 printable ASCII characters without white space, and not '.' or '..'") \
    X(OUT_OF_RANGE,  400, "out_of_range",        "a number is out of its range")               \
    X(UNAUTHORIZED,  401, "unauthorized",        "this takes a valid token: 'Authorization: Bearer TOKEN'") \
    X(FORBIDDEN,     403, "forbidden",           "this identity may not do that")              \
    X(FOREIGN,       403, "forbidden_origin",    "a web page of somebody else asks (Origin, Sec-Fetch-Site)") \
    X(NO_PATH,       404, "no_such_path",        "there is nothing under this path")           \
    X(NOT_FOUND,     404, "not_found",           "no such job")                                \
    X(METHOD,        405, "method_not_allowed",  "this path does not answer to this method")   \
    X(SLOW,          408, "request_timeout",     "the request took too long to arrive (limits.request_time)") \
    X(DUPLICATE,     409, "duplicate",           "a job with this id is alive in the topic")   \
    X(NOT_RESERVED,  409, "not_reserved",        "the lease is over: its time to run (TTR) has run out, or the job was given back or moved; nobody holds it now")                    \
    X(NOT_OWNER,     409, "not_owner",           "the lease is over: its time to run (TTR) has run out, or the job was moved; another delivery has it now; stop working on it") \
    X(WRONG_STATE,   409, "wrong_state",         "the job is not in a state from which this is done") \
    X(TOO_MANY_IDENTITIES, 409, "too_many_identities", "there are 1000 identities, or their lines have 1 MiB together: revoke some") \
    X(TOO_LARGE,     413, "too_large",           "the request's body is larger than this path takes") \
    X(JOB_TOO_LARGE, 413, "too_large",           "the job's body is larger than limits.body_bytes") \
    X(EXPECTATION,   417, "expectation_failed",  "only 'Expect: 100-continue' is understood")  \
    X(WRONG_HOST,    421, "wrong_host",          "this node does not go by the name in 'Host': use its address, or add the name to http.hosts") \
    X(ATTEMPTS,      429, "too_many_attempts",   "too many requests without a valid token from this address; try again later, with one") \
    X(REQUESTS,      429, "too_many_requests",   "more requests in a second than one address may send (limits.requests_per_address); wait a second") \
    X(BYTES,         429, "too_many_requests",   "more bytes of requests at once than one address may have in work (limits.bytes_per_address); wait until some are answered") \
    X(IDENTITY_RATE, 429, "too_many_requests",   "more requests in a second than this identity may send (its rate); wait a second") \
    X(IDENTITY_CONNECTIONS, 429, "too_many_requests", "this identity has as many connections as it may (its connections); close some") \
    X(IDENTITY_BYTES, 429, "too_many_requests",  "more bytes of requests at once than this identity may have in work (its bytes); wait until some are answered") \
    X(TOPIC_FULL,    429, "topic_full",          "the topic has as many jobs as its max_jobs allows, dead ones counted: consume, purge the dead, or raise max_jobs") \
    X(TOPIC_FULL_BYTES, 429, "topic_full",       "with this body the topic would have more than its max_bytes, dead jobs counted: consume, purge the dead, or raise max_bytes") \
    X(HEAD,          431, "headers_too_large",   "more than 16 KiB, or 100 lines, of headers") \
    X(CODING,        501, "not_implemented",     "the only transfer coding understood is 'chunked'") \
    X(STORE_ERROR,   502, "store_error",         "the store refused the operation; nothing happened") \
    X(NOT_READY,     503, "not_ready",           "the store cannot be used")                   \
    X(IDENTITIES,    503, "not_ready",           "this node has not read the identities from Redis yet (access.in_redis), and knows none of this request's token, certificate or port; nothing happened: look at Redis, or try again later") \
    X(STOPPING,      503, "shutting_down",       "the node is stopping")                       \
    X(UNAVAILABLE,   503, "unavailable",         "the store is unavailable; nothing happened") \
    X(FULL,       503, "too_many",            "too many connections (limits.connections); try again later") \
    X(FULL_FOR_ADDRESS, 503, "too_many",          "too many connections from one address (limits.connections_per_address); try again later") \
    X(BODIES,        503, "too_many",            "too many bytes of requests at once (limits.http_bodies_bytes); try again later") \
    X(DISPLACED,     503, "too_many",            "others needed the room of this body: it came too slowly, or this address had too much (limits.http_bodies_bytes); try again later") \
    X(TOO_MANY,      503, "too_many",            "too many operations wait for the store (store.hold_max, or 256 MiB); try again later") \
    X(WAITERS,       503, "too_many",            "too many topics are waited for, by all or by this address (limits.waiting); try again later, or without waiting") \
    X(POPS,          503, "too_many",            "20000 topics are asked for jobs already; try again later") \
    X(FOLLOWERS,     503, "too_many",            "100 requests wait for deliveries already; try again later") \
    X(SWEEPS,        503, "too_many",            "16 kicks and purges of many go on already; try again when one has ended") \
    X(TRACES,        503, "too_many",            "16 histories are being read already; try again in a moment") \
    X(UNKNOWN,       504, "unknown",             "the store did not answer; the operation may have happened") \
    X(NOT_REPLICATED, 504, "unknown",            "too few replicas have it (store.min_replicas): lost if Redis fails over now") \
    X(VERSION,       505, "version_not_supported", "HTTP/1.0 and HTTP/1.1 are understood")
/* clang-format on */

enum http_error {
    HTTP_ERROR_NONE,
#define X(name, code, word, text) HTTP_ERROR_##name,
    HTTP_ERROR_LIST(X)
#undef X
        HTTP_ERROR_COUNT
};

struct http_error_row {
    int code;
    const char *word;
    const char *text;
};

/* Static. */
const struct http_error_row *http_error_row(enum http_error error);

/* The error of an operation that did not end OK. */
enum http_error http_error_of(enum status status);

/* Adds the message for people. A row's own text gets its word in front, which tells what is
 * refused from what may have happened; for dialects whose replies have no other place for it.
 */
void http_error_add(struct buf *out, enum http_error error, struct bytes message);

/* Is it about jobs, or about the store that has them? Dialects whose originals catch such
 * failures answer them with a status code of their own. What the server refuses before (a
 * malformed request, an identity, a limit) is not. */
bool http_error_is_of_jobs(enum http_error error);

#define HTTP_ERROR_NO_COUNT (-1)

#endif
