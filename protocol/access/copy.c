#include "protocol/access/copy.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "protocol/access/identity.h"

static void row_free(struct copy_row *row)
{
    free((char *)row->name.at);
    free((char *)row->line.at);
}

void copy_fini(struct copy *c)
{
    for (unsigned i = 0; i < c->count; i++)
        row_free(&c->rows[i]);
    free(c->rows);
    *c = (struct copy){0};
}

static int by_name(const void *a, const void *b)
{
    return bytes_compare(((const struct copy_row *)a)->name,
                         ((const struct copy_row *)b)->name);
}

static struct bytes own(struct bytes text)
{
    return bytes_of(bytes_copy(text), text.len);
}

static struct copy_row own_row(const struct identity_row *row)
{
    return (struct copy_row){
        .name = own(row->name), .line = own(row->line), .version = row->version};
}

/* What Redis has, as rows of our own. */
static struct copy copy_of(const struct identity_row *rows, unsigned count)
{
    struct copy theirs = {.rows = must(calloc(count + 1, sizeof(*theirs.rows))),
                          .count = count};

    for (unsigned i = 0; i < count; i++)
        theirs.rows[i] = own_row(&rows[i]);
    qsort(theirs.rows, count, sizeof(*theirs.rows), by_name);
    return theirs;
}

static bool is_newer(const struct copy_row *ours, const struct copy_row *theirs)
{
    if (ours->version != theirs->version)
        return ours->version > theirs->version;
    return !ours->line.len && theirs->line.len;
}

/* What others have written into Redis they may lose. */
static bool may_be_told(const struct copy_row *row)
{
    return row->version > 0 && identity_is_name(row->name) &&
           row->line.len <= IDENTITY_LINE_MAX;
}

/* Redis lacks it. */
static struct copy_row ahead(struct copy_row *ours)
{
    ours->is_ahead = may_be_told(ours);
    return *ours;
}

/* The row that counts; the other one is freed. */
static struct copy_row choose(struct copy_row *ours, struct copy_row *theirs)
{
    if (!is_newer(ours, theirs)) {
        row_free(ours);
        return *theirs;
    }
    row_free(theirs);
    return ahead(ours);
}

void copy_join(struct copy *c, const struct identity_row *rows, unsigned count, int64_t horizon)
{
    struct copy ours = *c, theirs = copy_of(rows, count);
    unsigned i = 0, k = 0;

    c->rows = must(calloc(ours.count + theirs.count + 1, sizeof(*c->rows)));
    c->count = 0;
    while (i < ours.count || k < theirs.count) {
        int order = i == ours.count     ? 1
                    : k == theirs.count ? -1
                                        : by_name(&ours.rows[i], &theirs.rows[k]);

        if (order > 0)
            c->rows[c->count++] = theirs.rows[k++];
        else if (order == 0)
            c->rows[c->count++] = choose(&ours.rows[i++], &theirs.rows[k++]);
        else if (ours.rows[i].version > horizon)
            c->rows[c->count++] = ahead(&ours.rows[i++]);
        else
            row_free(&ours.rows[i++]);
    }
    free(ours.rows);
    free(theirs.rows);
}

static struct copy_row *find(const struct copy *c, struct bytes name)
{
    const struct copy_row wanted = {.name = name};

    return c->count ? bsearch(&wanted, c->rows, c->count, sizeof(wanted), by_name) : NULL;
}

const struct copy_row *copy_find(const struct copy *c, struct bytes name)
{
    return find(c, name);
}

void copy_put(struct copy *c, const struct identity_row *row)
{
    struct copy_row *ours = find(c, row->name), theirs = own_row(row);

    if (ours && is_newer(ours, &theirs)) {
        row_free(&theirs);
    } else if (ours) {
        row_free(ours);
        *ours = theirs;
    } else {
        c->rows = must(realloc(c->rows, (c->count + 1) * sizeof(*c->rows)));
        c->rows[c->count++] = theirs;
        qsort(c->rows, c->count, sizeof(*c->rows), by_name);
    }
}

const struct copy_row *copy_ahead(const struct copy *c)
{
    const struct copy_row *first = NULL;

    for (unsigned i = 0; i < c->count; i++) {
        const struct copy_row *row = &c->rows[i];

        if (!row->is_ahead || row->is_deferred)
            continue;
        if (!row->line.len)
            return row;
        if (!first)
            first = row;
    }
    return first;
}

unsigned copy_ahead_count(const struct copy *c)
{
    unsigned count = 0;

    for (unsigned i = 0; i < c->count; i++)
        count += c->rows[i].is_ahead && !c->rows[i].is_deferred;
    return count;
}

void copy_defer(struct copy *c, struct bytes name)
{
    struct copy_row *row = find(c, name);

    if (row)
        row->is_deferred = true;
}

void copy_defer_none(struct copy *c)
{
    for (unsigned i = 0; i < c->count; i++)
        c->rows[i].is_deferred = false;
}

bool copy_is_good(struct bytes name, struct bytes line, int64_t version)
{
    return version > 0 && identity_is_name(name) && line.len > name.len &&
           !memcmp(line.at, name.at, name.len) && line.at[name.len] == ' ' &&
           !memchr(line.at, '\n', line.len);
}

int64_t copy_version(const struct copy *c)
{
    int64_t version = 0;

    for (unsigned i = 0; i < c->count; i++)
        if (c->rows[i].version > version)
            version = c->rows[i].version;
    return version;
}
