#include "node/ctl/duration.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

struct unit {
    const char *name;
    int64_t ms;
};

/* From large to small. */
static const struct unit units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

#define UNITS (sizeof(units) / sizeof(units[0]))

/* Returns behind the digits, or NULL where there are none or too many. */
static const char *read_digits(const char *at, int64_t *value)
{
    const char *begin = at;
    int64_t v = 0;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *at - '0', &v))
            return NULL;
    }
    *value = v;
    return at == begin ? NULL : at;
}

/* The index of the unit whose name is all the letters here; UNITS: none. */
static size_t find_unit(const char *at, size_t *len)
{
    size_t i;

    *len = strcspn(at, "0123456789");
    for (i = 0; i < UNITS; i++) {
        if (strlen(units[i].name) == *len && !memcmp(at, units[i].name, *len))
            break;
    }
    return i;
}

bool duration_parse(const char *text, int64_t *ms)
{
    int64_t sum = 0;
    size_t next = 0; /* units get smaller, so that none comes twice */

    if (!strcmp(text, "0")) {
        *ms = 0;
        return true;
    }
    do {
        int64_t value = 0;
        size_t len;
        size_t unit;

        text = read_digits(text, &value);
        if (!text)
            return false;
        unit = find_unit(text, &len);
        if (unit == UNITS || unit < next ||
            __builtin_mul_overflow(value, units[unit].ms, &value) ||
            __builtin_add_overflow(sum, value, &sum))
            return false;
        next = unit + 1;
        text += len;
    } while (*text);
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
