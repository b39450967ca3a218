#include "protocol/http/exchange.h"
#include "protocol/http/object.h"
#include "protocol/http/routes.h"

#include <assert.h>
#include <stdio.h>

struct bytes exchange_query_text(const struct exchange *x, const char *name)
{
    for (unsigned i = 0; i < EXCHANGE_QUERY_MAX && x->route->query[i]; i++)
        if (strcmp(x->route->query[i], name) == 0)
            return x->query[i];
    assert(!"the route's list has the name");
    return BYTES("");
}

static bool is_number(struct bytes text)
{
    size_t digits = text.len && text.at[0] == '-' ? text.len - 1 : text.len;

    for (size_t i = text.len - digits; i < text.len; i++)
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
    return digits > 0;
}

/* What is_number() has passed; beyond the range of the type, its end. */
static int64_t value_of(struct bytes number)
{
    bool is_negative = number.at[0] == '-';
    int64_t value = 0;

    for (size_t i = is_negative; i < number.len; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, number.at[i] - '0', &value))
            return is_negative ? INT64_MIN : INT64_MAX;
    return is_negative ? -value : value;
}

static bool refuse(struct exchange *x, enum http_error error, const char *name, const char *why)
{
    exchange_reply_error_text(x, error, "query parameter %s: %s", name, why);
    return false;
}

bool exchange_query_int(struct exchange *x, const char *name, int64_t min, int64_t max,
                        int64_t fallback, int64_t *out)
{
    struct bytes text = exchange_query_text(x, name);
    int64_t value = fallback;
    char range[64];

    if (text.at && !is_number(text))
        return refuse(x, HTTP_ERROR_BAD_REQUEST, name, "not a whole number");
    if (text.at)
        value = value_of(text);
    if (text.at && (value < min || value > max)) {
        snprintf(range, sizeof(range), "from %lld to %lld", (long long)min, (long long)max);
        return refuse(x, HTTP_ERROR_OUT_OF_RANGE, name, range);
    }
    *out = value;
    return true;
}

bool exchange_query_word(struct exchange *x, const char *name, const char *const *words,
                         unsigned count, unsigned *out)
{
    struct api_why why;

    if (object_word(exchange_query_text(x, name), name, words, count, out, &why) == STATUS_OK)
        return true;
    exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "query parameter %s", why.text);
    return false;
}
