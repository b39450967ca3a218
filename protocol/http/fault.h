/* What the server itself has against a request: status code, word for programs, text for
 * people. A handler's own errors are not here.
 *
 * To add one: a line below, in the order of the codes.
 */
#ifndef DUEQ_PROTOCOL_HTTP_FAULT_H
#define DUEQ_PROTOCOL_HTTP_FAULT_H

/*    name          code  word               text */
#define HTTP_FAULT_LIST(X)                                                                    \
    X(LINE_END, 400, "bad_request", "a line does not end with CR LF")                         \
    X(REQUEST_LINE, 400, "bad_request", "the first line is not 'METHOD /path HTTP/1.1'")      \
    X(FIELD, 400, "bad_request", "a header is not 'Name: value'")                             \
    X(LENGTH, 400, "bad_request", "the length of the body is no number, or given twice")      \
    X(CHUNK, 400, "bad_request", "a chunk of the body is malformed")                          \
    X(NO_PATH, 404, "no_such_path", "there is nothing under this path")                       \
    X(METHOD, 405, "method_not_allowed", "this path does not answer to this method")          \
    X(SLOW, 408, "request_timeout", "the request took too long to arrive")                    \
    X(TOO_LARGE, 413, "too_large", "the body is larger than this path takes")                 \
    X(EXPECTATION, 417, "expectation_failed", "only 'Expect: 100-continue' is understood")    \
    X(HEAD, 431, "headers_too_large", "more than 16 KiB, or 100 lines, of headers")           \
    X(CODING, 501, "not_implemented", "the only transfer coding understood is 'chunked'")     \
    X(STOPPING, 503, "shutting_down", "the node is stopping")                                 \
    X(CROWDED, 503, "too_many", "too many connections (limits.connections); try again later") \
    X(VERSION, 505, "version_not_supported", "HTTP/1.0 and HTTP/1.1 are understood")

enum http_fault {
    HTTP_FAULT_NONE,
#define X(name, code, word, text) HTTP_FAULT_##name,
    HTTP_FAULT_LIST(X)
#undef X
};

struct http_fault_text {
    int code;
    const char *word;
    const char *text;
};

/* Static. */
const struct http_fault_text *http_fault_text(enum http_fault fault);

#endif
