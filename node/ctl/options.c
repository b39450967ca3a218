#include "node/ctl/options.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "node/ctl/duration.h"
#include "node/ctl/moment.h"

#define DAY_MS 86400000

const struct option_row options_front[] = {
    {"version", 'V', OPTION_FLAG, NULL, "print the version of this program and exit", 0, 0},
    {0},
};

const struct option_row options_common[] = {
    {"url", 'u', OPTION_TEXT, "URL", "the node; else $DUEQ_URL, else http://127.0.0.1:8000", 0,
     0},
    {"timeout", 0, OPTION_DURATION, "DURATION", "how long to wait for an answer; default: 15s",
     1, DAY_MS},
    {"json", 'j', OPTION_FLAG, NULL, "print one JSON document instead of text", 0, 0},
    {"help", 'h', OPTION_FLAG, NULL, "print this help and exit", 0, 0},
    {0},
};

#define ROWS_MAX (OPTIONS_MAX + COMMON_COUNT)

/* What getopt_long() wants to know. An option is reported as FIRST + its row. */
struct grammar {
    const struct option_row *rows[ROWS_MAX];
    struct option_value *values[ROWS_MAX];
    struct option longs[ROWS_MAX + 1];
    char shorts[2 * ROWS_MAX + 3];
    int count;
};

enum { FIRST = 256 };

static void add_rows(struct grammar *g, const struct option_row *rows,
                     struct option_value *values)
{
    char letter[] = {0, ':', 0};

    for (; rows && rows->name; rows++, values++) {
        assert(g->count < ROWS_MAX);
        g->rows[g->count] = rows;
        g->values[g->count] = values;
        g->longs[g->count] = (struct option){
            .name = rows->name, .has_arg = rows->value != NULL, .val = FIRST + g->count};
        letter[0] = rows->letter;
        letter[1] = rows->value ? ':' : '\0';
        strcat(g->shorts, letter);
        g->count++;
    }
}

/* getopt reports a short option by its letter. */
static int row_of(const struct grammar *g, int reported)
{
    for (int i = 0; i < g->count; i++) {
        if (reported == FIRST + i || reported == g->rows[i]->letter)
            return i;
    }
    abort(); /* it was asked for no other */
}

static bool parse_count(const char *text, int64_t *number)
{
    int64_t v = 0;

    if (!*text || strlen(text) > 15 || text[strspn(text, "0123456789")])
        return false;
    for (; *text; text++)
        v = v * 10 + (*text - '0');
    *number = v;
    return true;
}

static bool parse_value(const struct option_row *row, struct option_value *value)
{
    switch (row->kind) {
    case OPTION_COUNT:
        return parse_count(value->text, &value->number);
    case OPTION_DURATION:
        return duration_parse(value->text, &value->number);
    case OPTION_MOMENT:
        return moment_parse(value->text, &value->number);
    case OPTION_FLAG:
    case OPTION_TEXT:
    case OPTION_FILE:
        break;
    }
    return true;
}

static const char *form_of(enum option_kind kind)
{
    switch (kind) {
    case OPTION_COUNT:
        return "a number";
    case OPTION_DURATION:
        return "a duration such as 500ms, 30s, 10m, 1h30m or 2d";
    case OPTION_MOMENT:
        return "a time such as '2026-12-01 09:00', 2026-12-01T09:00:00Z or milliseconds since "
               "1970";
    case OPTION_FLAG:
    case OPTION_TEXT:
    case OPTION_FILE:
        break;
    }
    return "a value";
}

static void print_bound(struct buf *to, const struct option_row *row, int64_t bound)
{
    if (row->kind == OPTION_DURATION)
        duration_print(to, bound);
    else
        buf_printf(to, "%" PRId64, bound);
}

static enum ctl_exit refuse_range(const struct option_row *row, const char *text)
{
    struct buf range = BUF_INIT;

    print_bound(&range, row, row->min);
    buf_add_text(&range, " to ");
    print_bound(&range, row, row->max);
    ctl_misused("--%s: %s is out of range: %s", row->name, text, buf_text(&range));
    buf_fini(&range);
    return CTL_USAGE;
}

static enum ctl_exit take(const struct option_row *row, struct option_value *value,
                          const char *text)
{
    bool has_range = row->kind == OPTION_COUNT || row->kind == OPTION_DURATION;

    *value = (struct option_value){.is_given = true, .text = text};
    if (!parse_value(row, value))
        return ctl_misused("--%s: '%s' is not %s", row->name, text, form_of(row->kind));
    if (has_range && (value->number < row->min || value->number > row->max))
        return refuse_range(row, text);
    return CTL_DONE;
}

/* Long options may be cut short. */
static enum ctl_exit refuse_long(const struct grammar *g, const char *name, const char *colon,
                                 const char *word)
{
    size_t len = strcspn(word + 2, "=");
    struct buf several = BUF_INIT;

    for (int i = 0; i < g->count; i++) {
        if (!strncmp(g->rows[i]->name, word + 2, len))
            buf_printf(&several, "%s--%s", several.len ? ", " : "", g->rows[i]->name);
    }
    if (several.len)
        ctl_misused("%s%s'%s' may be several: %s", name, colon, word, buf_text(&several));
    else
        ctl_misused("%s%sthere is no option '%s'", name, colon, word);
    buf_fini(&several);
    return CTL_USAGE;
}

/* getopt's own complaints name a program that argv[0] need not be. */
static enum ctl_exit refuse_option(const struct grammar *g, int reported, const char *name,
                                   char **argv)
{
    const char *word = argv[optind - 1];
    const char *colon = *name ? ": " : "";

    if (optopt >= FIRST || (optopt && reported == ':'))
        return ctl_misused("%s%soption '%s' %s", name, colon, word,
                           reported == ':' ? "needs a value" : "takes no value");
    if (optopt)
        return ctl_misused("%s%sthere is no option '-%c'", name, colon, optopt);
    return refuse_long(g, name, colon, word);
}

enum ctl_exit options_parse(const struct option_row *rows, const char *name, bool is_front,
                            int argc, char **argv, struct arguments *arguments)
{
    struct grammar g = {.shorts = ":"};
    enum ctl_exit end = CTL_DONE;
    int reported;

    if (is_front)
        strcpy(g.shorts, "+:");
    add_rows(&g, rows, arguments->own);
    add_rows(&g, options_common, arguments->common);
    opterr = 0;
    optind = 0;
    while (end == CTL_DONE &&
           (reported = getopt_long(argc, argv, g.shorts, g.longs, NULL)) != -1) {
        if (reported == '?' || reported == ':')
            return refuse_option(&g, reported, name, argv);
        reported = row_of(&g, reported);
        end = take(g.rows[reported], g.values[reported], optarg);
    }
    arguments->words = argv + optind;
    arguments->word_count = argc - optind;
    return end;
}
