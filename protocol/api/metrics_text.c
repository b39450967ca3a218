#include "protocol/api/metrics_text.h"

#include <inttypes.h>
#include <stdio.h>

#define DECADES 5 /* of bounds in a histogram */

void metrics_text_family(struct metrics_text *t, const char *name, const char *type,
                         const char *help)
{
    t->family = name;
    buf_printf(t->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static bool is_plain(char c)
{
    return c != '\\' && c != '"' && c != '\n';
}

static void add_escaped(struct buf *out, struct bytes value)
{
    size_t from = 0;

    for (size_t i = 0; i < value.len; i++) {
        if (is_plain(value.at[i]))
            continue;
        buf_add(out, value.at + from, i - from);
        buf_add_char(out, '\\');
        buf_add_char(out, value.at[i] == '\n' ? 'n' : value.at[i]);
        from = i + 1;
    }
    buf_add(out, value.at + from, value.len - from);
}

/* Up to the space before the value. */
static void start_sample(struct metrics_text *t, const char *suffix,
                         const struct metrics_label *labels)
{
    char before = '{';

    buf_add_text(t->out, t->family);
    buf_add_text(t->out, suffix);
    for (; labels && labels->name; labels++) {
        buf_add_char(t->out, before);
        buf_add_text(t->out, labels->name);
        buf_add_text(t->out, "=\"");
        add_escaped(t->out, labels->value);
        buf_add_char(t->out, '"');
        before = ',';
    }
    buf_add_text(t->out, before == ',' ? "} " : " ");
}

static void add_whole(struct buf *out, uint64_t value)
{
    buf_add_number(out, (int64_t)value);
    buf_add_char(out, '\n');
}

void metrics_text_whole(struct metrics_text *t, const struct metrics_label *labels,
                        uint64_t value)
{
    start_sample(t, "", labels);
    add_whole(t->out, value);
}

void metrics_text_ms(struct metrics_text *t, const struct metrics_label *labels,
                     int64_t value_ms)
{
    start_sample(t, "", labels);
    buf_printf(t->out, "%" PRId64 ".%03" PRId64 "\n", value_ms / 1000, value_ms % 1000);
}

/* ---- histograms ---- */

struct scale {
    double per_second; /* how many of the histogram's units make one */
    int64_t first;     /* the smallest bound */
};

static const struct scale scales[] = {[METRICS_OF_MS] = {1e3, 1}, [METRICS_OF_US] = {1e6, 100}};

static void add_bucket(struct metrics_text *t, const struct histogram *h,
                       const struct scale *scale, int64_t bound)
{
    char le[24];

    snprintf(le, sizeof(le), "%g", (double)bound / scale->per_second);
    start_sample(t, "_bucket", METRICS_LABELS({"le", bytes_of_text(le)}));
    add_whole(t->out, histogram_count_up_to(h, bound));
}

static void add_whole_bucket(struct metrics_text *t, const struct histogram *h)
{
    start_sample(t, "_bucket", METRICS_LABELS({"le", BYTES("+Inf")}));
    add_whole(t->out, h->total);
}

void metrics_text_histogram(struct metrics_text *t, const char *name, const char *help,
                            const struct histogram *h, enum metrics_scale scale)
{
    static const int64_t steps[] = {1, 2, 5};
    const struct scale *s = &scales[scale];
    int64_t decade = s->first;

    metrics_text_family(t, name, METRICS_HISTOGRAM, help);
    for (unsigned i = 0; i < DECADES; i++, decade *= 10)
        for (size_t j = 0; j < METRICS_COUNT(steps); j++)
            add_bucket(t, h, s, steps[j] * decade);
    add_whole_bucket(t, h);
    start_sample(t, "_sum", NULL);
    buf_printf(t->out, "%.6f\n", (double)h->sum / s->per_second);
    start_sample(t, "_count", NULL);
    add_whole(t->out, h->total);
}

/* ---- tables ---- */

void metrics_text_number(struct metrics_text *t, const struct metrics_number *number,
                         const struct metrics_label *labels, const void *values)
{
    const void *at = (const char *)values + number->offset;

    if (number->unit == METRICS_MS)
        metrics_text_ms(t, labels, *(const int64_t *)at);
    else
        metrics_text_whole(t, labels, *(const uint64_t *)at);
}

void metrics_text_numbers(struct metrics_text *t, const struct metrics_number *numbers,
                          size_t count, const void *values)
{
    for (size_t i = 0; i < count; i++) {
        metrics_text_family(t, numbers[i].name, numbers[i].type, numbers[i].help);
        metrics_text_number(t, &numbers[i], NULL, values);
    }
}
