#include "node/ctl/moment.h"

#include <string.h>
#include <time.h>

#define FIRST_MS  978307200000 /* 2001-01-01 */
#define MS_DIGITS 16           /* the year 317,000 */

/* Reads exactly `digits` of them and moves on. */
static bool read_number(const char **at, int digits, int *value)
{
    int v = 0;

    for (int i = 0; i < digits; i++) {
        char c = (*at)[i];

        if (c < '0' || c > '9')
            return false;
        v = v * 10 + (c - '0');
    }
    *at += digits;
    *value = v;
    return true;
}

static bool read_char(const char **at, const char *any_of)
{
    if (!**at || !strchr(any_of, **at))
        return false;
    ++*at;
    return true;
}

/* ".5", ".123456": what is finer than a millisecond is dropped. */
static bool read_fraction(const char **at, int *ms)
{
    int digits = 0;

    *ms = 0;
    for (; **at >= '0' && **at <= '9'; ++*at, digits++) {
        if (digits < 3)
            *ms = *ms * 10 + (**at - '0');
    }
    for (int i = digits; i < 3; i++)
        *ms *= 10;
    return digits > 0 && digits <= 9;
}

static bool read_clock(const char **at, struct tm *tm, int *ms)
{
    if (!read_number(at, 2, &tm->tm_hour) || !read_char(at, ":") ||
        !read_number(at, 2, &tm->tm_min))
        return false;
    if (!read_char(at, ":"))
        return true;
    if (!read_number(at, 2, &tm->tm_sec))
        return false;
    return !read_char(at, ".") || read_fraction(at, ms);
}

static bool read_date(const char **at, struct tm *tm)
{
    if (!read_number(at, 4, &tm->tm_year) || !read_char(at, "-") ||
        !read_number(at, 2, &tm->tm_mon) || !read_char(at, "-") ||
        !read_number(at, 2, &tm->tm_mday))
        return false;
    tm->tm_year -= 1900;
    tm->tm_mon -= 1;
    return true;
}

/* Nothing: local. "Z", "+02:00": so many seconds ahead of UTC. */
static bool read_zone(const char **at, bool *is_local, int *ahead_s)
{
    const char *sign = *at;
    int hours;
    int minutes;

    *ahead_s = 0;
    *is_local = !**at;
    if (*is_local || read_char(at, "Zz"))
        return true;
    if (!read_char(at, "+-") || !read_number(at, 2, &hours) || !read_char(at, ":") ||
        !read_number(at, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *ahead_s = (hours * 60 + minutes) * 60 * (*sign == '-' ? -1 : 1);
    return true;
}

/* mktime() and timegm() move the 31st of a short month, or an hour that the clock leaves out,
 * to another time instead of refusing it. */
static bool to_seconds(const struct tm *tm, bool is_local, time_t *seconds)
{
    struct tm copy = *tm;
    time_t s;

    copy.tm_isdst = -1;
    s = is_local ? mktime(&copy) : timegm(&copy);
    if (copy.tm_year != tm->tm_year || copy.tm_mon != tm->tm_mon ||
        copy.tm_mday != tm->tm_mday || copy.tm_hour != tm->tm_hour ||
        copy.tm_min != tm->tm_min || copy.tm_sec != tm->tm_sec)
        return false;
    *seconds = s;
    return true;
}

static bool parse_calendar(const char *at, int64_t *ms)
{
    struct tm tm = {0};
    bool is_local;
    int ahead_s;
    int fraction_ms = 0;
    time_t seconds;

    if (!read_date(&at, &tm) || !read_char(&at, " Tt") || !read_clock(&at, &tm, &fraction_ms) ||
        !read_zone(&at, &is_local, &ahead_s) || *at || !to_seconds(&tm, is_local, &seconds))
        return false;
    *ms = ((int64_t)seconds - ahead_s) * 1000 + fraction_ms;
    return true;
}

static bool parse_ms(const char *text, int64_t *ms)
{
    int64_t v = 0;

    if (strlen(text) > MS_DIGITS)
        return false;
    for (; *text; text++)
        v = v * 10 + (*text - '0');
    if (v < FIRST_MS)
        return false;
    *ms = v;
    return true;
}

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

bool moment_is_in_seconds(const char *text)
{
    int64_t ms;

    return is_number(text) && strlen(text) <= MS_DIGITS && !parse_ms(text, &ms);
}

bool moment_parse(const char *text, int64_t *ms)
{
    return is_number(text) ? parse_ms(text, ms) : parse_calendar(text, ms);
}

void moment_print(struct buf *to, int64_t ms)
{
    int64_t fraction = (ms % 1000 + 1000) % 1000;
    time_t seconds = (time_t)((ms - fraction) / 1000);
    struct tm tm;
    char text[64];

    if (!localtime_r(&seconds, &tm) ||
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) == 0) {
        buf_printf(to, "%lldms", (long long)ms);
        return;
    }
    buf_printf(to, "%s.%03d", text, (int)fraction);
}
