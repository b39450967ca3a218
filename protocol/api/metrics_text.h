/* Prometheus' text format, version 0.0.4: families, samples, labels. Pure, and ignorant of what
 * the numbers mean.
 *
 * A family is announced once and then gets its samples; their names come from it, so that a
 * sample cannot stand under another's HELP and TYPE.
 */
#ifndef DUEQ_PROTOCOL_API_METRICS_TEXT_H
#define DUEQ_PROTOCOL_API_METRICS_TEXT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/histogram.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metrics_text {
    struct buf *out;
    const char *family; /* static; the one announced last */
};

#define METRICS_COUNTER   "counter"
#define METRICS_GAUGE     "gauge"
#define METRICS_HISTOGRAM "histogram"

/* `name` is static; `help` is one line without backslashes. */
void metrics_text_family(struct metrics_text *t, const char *name, const char *type,
                         const char *help);

/* A label's value may be any UTF-8. */
struct metrics_label {
    const char *name;
    struct bytes value;
};

/* From one label or more, for one call. */
#define METRICS_LABELS(...) ((const struct metrics_label[]){__VA_ARGS__, {0}})

/* A sample of the family. `labels` ends with {0}; NULL: none. */
void metrics_text_whole(struct metrics_text *t, const struct metrics_label *labels,
                        uint64_t value);

/* The same; shown in seconds. */
void metrics_text_ms(struct metrics_text *t, const struct metrics_label *labels,
                     int64_t value_ms);

/* ---- histograms: family and samples at once ---- */

enum metrics_scale { METRICS_OF_MS, METRICS_OF_US }; /* what the histogram counts */

/* Cumulative, in seconds: from 1 ms to 50 s, or from 100 us to 5 s. Our own buckets are finer
 * and do not always end on a bound: a value within 3 % below one may be counted in the next,
 * so it reads too large rather than too small. */
void metrics_text_histogram(struct metrics_text *t, const char *name, const char *help,
                            const struct histogram *h, enum metrics_scale scale);

/* ---- tables: numbers that are fields of a struct ---- */

enum metrics_unit { METRICS_WHOLE, METRICS_MS };

struct metrics_number {
    const char *name;
    const char *type;
    const char *help;
    enum metrics_unit unit;
    size_t offset;
};

/* Unit and offset, by the field's type: a uint64_t is shown as it is, an int64_t is a time in
 * milliseconds and shown in seconds. Nothing else compiles. */
/* clang-format off */
#define METRICS_FIELD(type, field)                                                         \
    .unit = _Generic(((type *)0)->field, uint64_t: METRICS_WHOLE, int64_t: METRICS_MS),    \
    .offset = offsetof(type, field)
/* clang-format on */

/* Each number is a family of one sample, read from the struct at `values`. */
void metrics_text_numbers(struct metrics_text *t, const struct metrics_number *numbers,
                          size_t count, const void *values);

/* The same as one more sample of a family that is announced already. */
void metrics_text_number(struct metrics_text *t, const struct metrics_number *number,
                         const struct metrics_label *labels, const void *values);

#define METRICS_COUNT(array) (sizeof(array) / sizeof(*(array)))

#endif
