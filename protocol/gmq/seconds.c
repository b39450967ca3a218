#include "protocol/gmq/seconds.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct bytes trim(struct bytes text)
{
    while (text.len && is_space(text.at[0]))
        text = bytes_of(text.at + 1, text.len - 1);
    while (text.len && is_space(text.at[text.len - 1]))
        text.len--;
    return text;
}

static size_t count_digits(struct bytes text, size_t from)
{
    size_t i = from;

    while (i < text.len && text.at[i] >= '0' && text.at[i] <= '9')
        i++;
    return i - from;
}

static size_t count_sign(struct bytes text, size_t from)
{
    return from < text.len && (text.at[from] == '-' || text.at[from] == '+') ? 1 : 0;
}

/* What nearly everybody writes. */
static bool is_short_and_whole(struct bytes text)
{
    return text.len >= 1 && text.len <= 9 && count_digits(text, 0) == text.len;
}

static double read_short(struct bytes text)
{
    int seconds = 0;

    for (size_t i = 0; i < text.len; i++)
        seconds = seconds * 10 + (text.at[i] - '0');
    return seconds;
}

/* Decimal only: strtod would also take "inf", "nan" and "0x10". */
static bool is_decimal(struct bytes text)
{
    size_t i = count_sign(text, 0);
    size_t digits = count_digits(text, i);

    i += digits;
    if (i < text.len && text.at[i] == '.') {
        size_t fraction = count_digits(text, i + 1);

        i += 1 + fraction;
        digits += fraction;
    }
    if (digits && i < text.len && (text.at[i] == 'e' || text.at[i] == 'E')) {
        size_t sign = count_sign(text, i + 1);
        size_t exponent = count_digits(text, i + 1 + sign);

        if (exponent == 0)
            return false;
        i += 1 + sign + exponent;
    }
    return digits && i == text.len;
}

#define DIGITS_MAX 63 /* longer ones are no number of seconds that anybody means */

enum gmq_seconds gmq_seconds_read(struct bytes text, int64_t max_ms, int64_t *ms)
{
    char terminated[DIGITS_MAX + 1];
    double seconds = 0;

    text = trim(text);
    if (is_short_and_whole(text)) {
        seconds = read_short(text);
    } else if (is_decimal(text)) {
        if (text.len > DIGITS_MAX)
            return text.at[0] == '-' ? GMQ_SECONDS_NEGATIVE : GMQ_SECONDS_LARGE;
        memcpy(terminated, text.at, text.len);
        terminated[text.len] = '\0';
        seconds = strtod(terminated, NULL);
    }
    if (seconds < 0)
        return GMQ_SECONDS_NEGATIVE;
    if (seconds > (double)max_ms / 1000)
        return GMQ_SECONDS_LARGE;
    if (floor(seconds) != seconds)
        return GMQ_SECONDS_NOT_WHOLE;
    *ms = (int64_t)seconds * 1000;
    return GMQ_SECONDS_OK;
}
