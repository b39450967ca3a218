#include "node/ctl/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "node/ctl/times.h"
#include "node/ctl/text.h"

#define GAP 2 /* blanks between columns */

void table_init(struct table *t, const struct table_column *columns, size_t column_count,
                bool is_grouped)
{
    *t = (struct table){
        .columns = columns, .column_count = column_count, .is_grouped = is_grouped};
}

static void drop_cells(struct table *t)
{
    for (size_t i = 0; i < t->cell_count; i++)
        free(t->cells[i]);
    t->cell_count = 0;
}

void table_fini(struct table *t)
{
    drop_cells(t);
    free(t->cells);
    free(t->widths);
    t->cells = NULL;
    t->widths = NULL;
}

/* Takes the buffer's memory. */
static void add_cell(struct table *t, struct buf *text)
{
    if (t->cell_count == t->room) {
        t->room = t->room ? t->room * 2 : 64;
        t->cells = reallocarray(t->cells, t->room, sizeof(*t->cells));
        if (!t->cells)
            abort();
    }
    buf_text(text);
    t->cells[t->cell_count++] = text->at;
}

void table_add(struct table *t, struct bytes text)
{
    struct buf cell = BUF_INIT;

    text_escape(&cell, text);
    add_cell(t, &cell);
}

void table_add_text(struct table *t, const char *text)
{
    struct buf cell = BUF_INIT;

    buf_add_text(&cell, text);
    add_cell(t, &cell);
}

void table_add_number(struct table *t, int64_t n)
{
    struct buf cell = BUF_INIT;

    text_number(&cell, n, t->is_grouped);
    add_cell(t, &cell);
}

void table_add_duration(struct table *t, int64_t ms)
{
    struct buf cell = BUF_INIT;

    if (ms < 0)
        buf_add_char(&cell, '-');
    else
        duration_print(&cell, ms);
    add_cell(t, &cell);
}

void table_add_moment(struct table *t, int64_t ms)
{
    struct buf cell = BUF_INIT;

    if (ms)
        moment_print(&cell, ms);
    add_cell(t, &cell);
}

static size_t width_of(const struct table *t, size_t column)
{
    const char *name = t->columns[column].name;
    size_t width = name ? text_width(name) : 0;

    for (size_t i = column; i < t->cell_count; i += t->column_count) {
        size_t w = text_width(t->cells[i]);

        width = w > width ? w : width;
    }
    return width;
}

static void widen(struct table *t)
{
    for (size_t c = 0; c < t->column_count; c++) {
        size_t width = width_of(t, c);

        t->widths[c] = width > t->widths[c] ? width : t->widths[c];
    }
}

static void print_blanks(FILE *to, size_t n)
{
    fprintf(to, "%*s", (int)n, "");
}

/* Blanks are printed in front of the next cell, so never at the end of a line. */
static void print_row(const struct table *t, FILE *to, const char *const *cells)
{
    size_t owed = 0;

    for (size_t c = 0; c < t->column_count; c++) {
        size_t rest = t->widths[c] - text_width(cells[c]);
        bool is_number = t->columns[c].is_number;

        if (*cells[c]) {
            print_blanks(to, owed + (is_number ? rest : 0));
            fputs(cells[c], to);
            owed = 0;
        }
        owed += GAP + (is_number && *cells[c] ? 0 : rest);
    }
    fputc('\n', to);
}

static void print_heading(const struct table *t, FILE *to)
{
    const char **names = calloc(t->column_count, sizeof(*names));

    if (!names)
        abort();
    for (size_t c = 0; c < t->column_count; c++)
        names[c] = t->columns[c].name;
    print_row(t, to, names);
    free(names);
}

/* The first time: makes the columns wide enough for the heading, and prints it. */
static void begin(struct table *t, FILE *to)
{
    t->widths = calloc(t->column_count, sizeof(*t->widths));
    if (!t->widths)
        abort();
    widen(t);
    if (t->columns[0].name)
        print_heading(t, to);
}

void table_print(struct table *t, FILE *to)
{
    assert(t->cell_count % t->column_count == 0);
    if (t->widths)
        widen(t);
    else
        begin(t, to);
    for (size_t i = 0; i < t->cell_count; i += t->column_count)
        print_row(t, to, (const char *const *)(t->cells + i));
    drop_cells(t);
}
