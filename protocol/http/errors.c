#include "protocol/http/errors.h"

#include <assert.h>

const struct http_error_row *http_error_row(enum http_error error)
{
    static const struct http_error_row rows[HTTP_ERROR_COUNT] = {
        [HTTP_ERROR_NONE] = {200, "ok", "nothing is wrong"},
#define X(name, code, word, text) [HTTP_ERROR_##name] = {code, word, text},
        HTTP_ERROR_LIST(X)
#undef X
    };

    assert(error < HTTP_ERROR_COUNT);
    return &rows[error];
}

enum http_error http_error_of(enum status status)
{
    static const enum http_error errors[STATUS_COUNT] = {
        [STATUS_BAD_REQUEST] = HTTP_ERROR_BAD_REQUEST,
        [STATUS_BAD_TOPIC] = HTTP_ERROR_BAD_TOPIC,
        [STATUS_BAD_ID] = HTTP_ERROR_BAD_ID,
        [STATUS_OUT_OF_RANGE] = HTTP_ERROR_OUT_OF_RANGE,
        [STATUS_TOO_LARGE] = HTTP_ERROR_JOB_TOO_LARGE,
        [STATUS_TOO_MANY] = HTTP_ERROR_TOO_MANY,
        [STATUS_TOO_MANY_WAITERS] = HTTP_ERROR_WAITERS,
        [STATUS_TOO_MANY_POPS] = HTTP_ERROR_POPS,
        [STATUS_TOO_MANY_FOLLOWERS] = HTTP_ERROR_FOLLOWERS,
        [STATUS_TOO_MANY_SWEEPS] = HTTP_ERROR_SWEEPS,
        [STATUS_TOO_MANY_TRACES] = HTTP_ERROR_TRACES,
        [STATUS_DUPLICATE] = HTTP_ERROR_DUPLICATE,
        [STATUS_NOT_FOUND] = HTTP_ERROR_NOT_FOUND,
        [STATUS_NOT_RESERVED] = HTTP_ERROR_NOT_RESERVED,
        [STATUS_NOT_OWNER] = HTTP_ERROR_NOT_OWNER,
        [STATUS_WRONG_STATE] = HTTP_ERROR_WRONG_STATE,
        [STATUS_TOO_MANY_IDENTITIES] = HTTP_ERROR_TOO_MANY_IDENTITIES,
        [STATUS_FORBIDDEN] = HTTP_ERROR_FORBIDDEN,
        [STATUS_TOPIC_FULL] = HTTP_ERROR_TOPIC_FULL,
        [STATUS_TOPIC_FULL_BYTES] = HTTP_ERROR_TOPIC_FULL_BYTES,
        [STATUS_CANCELLED] = HTTP_ERROR_STOPPING,
        [STATUS_SHUTTING_DOWN] = HTTP_ERROR_STOPPING,
        [STATUS_UNAVAILABLE] = HTTP_ERROR_UNAVAILABLE,
        [STATUS_UNKNOWN] = HTTP_ERROR_UNKNOWN,
        [STATUS_NOT_REPLICATED] = HTTP_ERROR_NOT_REPLICATED,
        [STATUS_WRONG_STORE] = HTTP_ERROR_UNAVAILABLE,
    };

    assert(status != STATUS_OK && status < STATUS_COUNT);
    return errors[status] ? errors[status] : HTTP_ERROR_STORE_ERROR;
}

void http_error_add(struct buf *out, enum http_error error, struct bytes message)
{
    const struct http_error_row *row = http_error_row(error);

    if (bytes_equal(message, bytes_of_text(row->text)))
        buf_printf(out, "%s: ", row->word);
    buf_add_bytes(out, message);
}

bool http_error_is_of_jobs(enum http_error error)
{
    switch (error) {
    case HTTP_ERROR_BAD_TOPIC:
    case HTTP_ERROR_BAD_ID:
    case HTTP_ERROR_OUT_OF_RANGE:
    case HTTP_ERROR_NOT_FOUND:
    case HTTP_ERROR_DUPLICATE:
    case HTTP_ERROR_NOT_RESERVED:
    case HTTP_ERROR_NOT_OWNER:
    case HTTP_ERROR_WRONG_STATE:
    case HTTP_ERROR_JOB_TOO_LARGE:
    case HTTP_ERROR_TOPIC_FULL:
    case HTTP_ERROR_TOPIC_FULL_BYTES:
    case HTTP_ERROR_STORE_ERROR:
    case HTTP_ERROR_UNAVAILABLE:
    case HTTP_ERROR_TOO_MANY:
    case HTTP_ERROR_WAITERS:
    case HTTP_ERROR_POPS:
    case HTTP_ERROR_SWEEPS:
    case HTTP_ERROR_UNKNOWN:
    case HTTP_ERROR_NOT_REPLICATED:
        return true;
    default:
        return false;
    }
}
