#include "node/ctl/times.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct unit {
    const char *name;
    int64_t ms;
};

/* From large to small. */
static const struct unit units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

#define UNITS (sizeof(units) / sizeof(units[0]))

/* The unit whose name is the whole run of letters here; UNITS: none. Takes it off. */
static size_t take_unit(struct bytes *text)
{
    size_t len = strcspn(text->at, "0123456789");
    size_t i = 0;

    while (i < UNITS && !bytes_equal(bytes_of_text(units[i].name), bytes_of(text->at, len)))
        i++;
    *text = bytes_of(text->at + len, text->len - len);
    return i;
}

bool duration_parse(const char *text, int64_t *ms)
{
    struct bytes rest = bytes_of_text(text);
    int64_t sum = 0;
    size_t next = 0; /* units get smaller, so that none comes twice */

    if (!strcmp(text, "0")) {
        *ms = 0;
        return true;
    }
    do {
        int64_t value;
        size_t unit;

        if (!bytes_take_digits(&rest, &value))
            return false;
        unit = take_unit(&rest);
        if (unit == UNITS || unit < next ||
            __builtin_mul_overflow(value, units[unit].ms, &value) ||
            __builtin_add_overflow(sum, value, &sum))
            return false;
        next = unit + 1;
    } while (rest.len);
    *ms = sum;
    return true;
}

static void add_units(struct buf *to, uint64_t ms, const struct unit *unit)
{
    assert(unit->ms > 0);
    buf_printf(to, "%llu%s", (unsigned long long)(ms / (uint64_t)unit->ms), unit->name);
}

/* With tenths, where there are any. */
static void print_seconds(struct buf *to, int ms)
{
    int tenths = ms % 1000 / 100;

    buf_printf(to, "%d", ms / 1000);
    if (tenths)
        buf_printf(to, ".%d", tenths);
    buf_add_char(to, 's');
}

void duration_print(struct buf *to, int64_t ms)
{
    uint64_t left = ms < 0 ? -(uint64_t)ms : (uint64_t)ms;
    size_t i = 0;

    if (ms < 0)
        buf_add_char(to, '-');
    if (left == 0) {
        buf_add_char(to, '0');
        return;
    }
    if (left < 1000) {
        buf_printf(to, "%dms", (int)left);
        return;
    }
    if (left < 60000) {
        print_seconds(to, (int)left);
        return;
    }
    while (left < (uint64_t)units[i].ms)
        i++;
    add_units(to, left, &units[i]);
    left %= (uint64_t)units[i].ms;
    if (left >= (uint64_t)units[i + 1].ms) {
        buf_add_char(to, ' ');
        add_units(to, left, &units[i + 1]);
    }
}

void duration_write(struct buf *to, int64_t ms)
{
    uint64_t left = (uint64_t)ms;

    if (left == 0)
        buf_add_char(to, '0');
    for (size_t i = 0; i < UNITS; i++) {
        if (left >= (uint64_t)units[i].ms)
            add_units(to, left, &units[i]);
        left %= (uint64_t)units[i].ms;
    }
}

/* ---- moment ---- */

#define FIRST_MS  978307200000 /* 2001-01-01 */
#define MS_DIGITS 16           /* the year 317,000 */

/* Reads exactly `digits` digits and moves on. */
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

/* Nothing: local time. "Z", "+02:00": the seconds ahead of UTC. */
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
    struct bytes rest = bytes_of_text(text);
    int64_t v;

    if (rest.len > MS_DIGITS || !bytes_take_digits(&rest, &v) || v < FIRST_MS)
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

/* ---- backoff ---- */

#define DURATION_ROOM 32

static const char *const kinds[] = {"none", "fixed", "exponential"};

/* The kind that the text begins with, and how long it is; NULL: none of them. */
static const char *find_kind(const char *text, size_t *len)
{
    *len = strcspn(text, ":");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strlen(kinds[i]) == *len && !memcmp(kinds[i], text, *len))
            return kinds[i];
    }
    return NULL;
}

/* Reads a rest of `len` bytes. */
static bool parse_rest(const char *text, size_t len, int64_t *ms)
{
    char copy[DURATION_ROOM];
    int64_t value;

    if (len >= sizeof(copy))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (!duration_parse(copy, &value) || value < 1 || value > BACKOFF_MAX_MS)
        return false;
    *ms = value;
    return true;
}

/* Behind the "~": "10%", up to 100. */
static bool parse_jitter(const char *text, int64_t *percent)
{
    size_t digits = strspn(text, "0123456789");
    int value = 0;

    if (digits < 1 || digits > 3 || strcmp(text + digits, "%") != 0)
        return false;
    sscanf(text, "%d", &value);
    *percent = value;
    return value <= 100;
}

static bool parse_cap(const char *text, size_t len, struct backoff *b)
{
    return b->kind != kinds[1] && parse_rest(text, len, &b->cap_ms) && b->cap_ms >= b->base_ms;
}

/* "1s..5m~10%" */
static bool parse_numbers(const char *text, struct backoff *b)
{
    size_t len = strcspn(text, "~");
    const char *dots = memmem(text, len, "..", 2);
    size_t base_len = dots ? (size_t)(dots - text) : len;

    if (!parse_rest(text, base_len, &b->base_ms))
        return false;
    if (dots && !parse_cap(dots + 2, len - base_len - 2, b))
        return false;
    return text[len] == '\0' || parse_jitter(text + len + 1, &b->jitter_percent);
}

bool backoff_parse(const char *text, struct backoff *b)
{
    size_t len;
    struct backoff read = {.kind = find_kind(text, &len)};
    bool has_numbers = text[len] == ':';

    if (!read.kind || has_numbers != (read.kind != kinds[0]))
        return false;
    if (has_numbers && !parse_numbers(text + len + 1, &read))
        return false;
    *b = read;
    return true;
}

void backoff_print(struct buf *to, const struct backoff *b)
{
    buf_add_text(to, b->kind);
    if (!b->base_ms)
        return;
    buf_add_char(to, ':');
    duration_write(to, b->base_ms);
    if (b->cap_ms) {
        buf_add_text(to, "..");
        duration_write(to, b->cap_ms);
    }
    if (b->jitter_percent)
        buf_printf(to, "~%lld%%", (long long)b->jitter_percent);
}
