/* Columns of text that line up, for people: a heading, then rows.
 *
 * Cells are filled from left to right, row by row; a row that is not full when the next one
 * begins is our own bug. Texts from outside go through text_escape() on their way in. A long
 * table may be printed piece by piece: columns grow with the pieces, and never shrink.
 */
#ifndef DUEQ_NODE_CTL_TABLE_H
#define DUEQ_NODE_CTL_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/bytes.h"

struct table_column {
    const char *name; /* NULL in all of them: no heading */
    bool is_number;   /* lines up on the right */
};

struct table {
    const struct table_column *columns;
    size_t column_count;
    size_t *widths; /* so far; NULL: nothing was printed */
    char **cells;   /* row after row, that were not printed */
    size_t cell_count;
    size_t room;
    bool is_grouped; /* numbers with thousands separators */
};

/* `columns` is borrowed. */
void table_init(struct table *t, const struct table_column *columns, size_t column_count,
                bool is_grouped);
void table_fini(struct table *t);

/* Text from outside. */
void table_add(struct table *t, struct bytes text);

/* Text of our own making. */
void table_add_text(struct table *t, const char *text);

void table_add_number(struct table *t, int64_t n);

/* A duration; "-" where there is none: negative. */
void table_add_duration(struct table *t, int64_t ms);

/* A point in time; nothing where there is none: 0. */
void table_add_moment(struct table *t, int64_t ms);

/* The heading, the first time, and all rows that were added since the last time. No line ends
 * with blanks. */
void table_print(struct table *t, FILE *to);

#endif
