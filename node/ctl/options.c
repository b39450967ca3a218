#include "node/ctl/options.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "node/ctl/text.h"
#include "node/ctl/times.h"

#define DAY_MS 86400000

const struct option_row options_front[] = {
    {"version", 'V', OPTION_FLAG, NULL, .text = "print the version of this program and exit"},
    {0},
};

const struct option_row options_common[] = {
    {"url", 'u', OPTION_TEXT, "URL",
     .text = "the node, or unix:PATH of its socket; else $DUEQ_URL"},
    {"ca", 0, OPTION_FILE, "FILE", .text = "https: who may vouch for the node; else $DUEQ_CA"},
    {"cert", 0, OPTION_FILE, "FILE", .text = "https: what to show to a node; else $DUEQ_CERT"},
    {"key", 0, OPTION_FILE, "FILE", .text = "https: the key of --cert; else $DUEQ_KEY"},
    {"token-file", 0, OPTION_FILE, "FILE",
     .text = "a token to act with; else $DUEQ_TOKEN_FILE"},
    {"timeout", 0, OPTION_DURATION, "DURATION", "how long to wait for an answer; default: 15s",
     1, .max = DAY_MS},
    {"json", 'j', OPTION_FLAG, NULL, .text = "print one JSON document instead of text"},
    {"help", 'h', OPTION_FLAG, NULL, .text = "print this help and exit"},
    {0},
};

#define ROWS_MAX (OPTIONS_MAX + COMMON_COUNT)

/* The tables of getopt_long(). An option is reported as FIRST + its row. */
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
    struct bytes rest = bytes_of_text(text);

    return bytes_take_digits(&rest, number) && !rest.len;
}

static bool parse_choice(const char *const *choices, struct bytes text, int64_t *number)
{
    for (int64_t i = 0; choices[i]; i++) {
        if (bytes_equal(bytes_of_text(choices[i]), text)) {
            *number = i;
            return true;
        }
    }
    return false;
}

static bool parse_choices(const char *const *choices, const char *text, int64_t *mask)
{
    int64_t all = 0;

    for (;; text++) {
        size_t len = strcspn(text, ",");
        int64_t one;

        if (!parse_choice(choices, bytes_of(text, len), &one))
            return false;
        all |= INT64_C(1) << one;
        text += len;
        if (!*text)
            break;
    }
    *mask = all;
    return true;
}

/* In 1973: the API takes smaller numbers for seconds. */
#define PAST_MIN_MS INT64_C(100000000000)

static bool parse_past(const char *text, int64_t *ms)
{
    int64_t ago_ms;

    if (!duration_parse(text, &ago_ms))
        return moment_parse(text, ms);
    *ms = clock_wall_ms() - ago_ms;
    return *ms >= PAST_MIN_MS;
}

static bool parse_value(const struct option_row *row, struct option_value *value)
{
    struct backoff backoff;

    switch (row->kind) {
    case OPTION_COUNT:
        return parse_count(value->text, &value->number);
    case OPTION_SIZE:
        return size_parse(value->text, &value->number);
    case OPTION_DURATION:
        return duration_parse(value->text, &value->number);
    case OPTION_MOMENT:
        return moment_parse(value->text, &value->number);
    case OPTION_PAST:
        return parse_past(value->text, &value->number);
    case OPTION_CHOICE:
    case OPTION_SWITCH:
        return parse_choice(row->choices, bytes_of_text(value->text), &value->number);
    case OPTION_CHOICES:
        return parse_choices(row->choices, value->text, &value->number);
    case OPTION_BACKOFF:
        return backoff_parse(value->text, &backoff);
    case OPTION_FLAG:
    case OPTION_TEXT:
    case OPTION_FILE:
        break;
    }
    return true;
}

static void print_choices(struct buf *to, const char *const *choices)
{
    for (size_t i = 0; choices[i]; i++)
        buf_printf(to, "%s%s", i ? ", " : "", choices[i]);
}

static const char moment_form[] =
    "a time such as '2026-12-01 09:00', 2026-12-01T09:00:00Z or milliseconds since 1970";
static const char past_form[] =
    "a time such as '2026-12-01 09:00', or a duration such as 2h, for so long ago";

static void print_form(struct buf *to, const struct option_row *row)
{
    static const char *const forms[] = {
        [OPTION_COUNT] = "a number",
        [OPTION_SIZE] = "a size such as 1000, 64KiB, 100MiB or 2GiB",
        [OPTION_DURATION] = "a duration such as 500ms, 30s, 10m, 1h30m or 2d",
        [OPTION_MOMENT] = moment_form,
        [OPTION_PAST] = past_form,
        [OPTION_CHOICE] = "one of ",
        [OPTION_SWITCH] = "one of ",
        [OPTION_CHOICES] = "one of ",
        [OPTION_BACKOFF] =
            "a backoff such as none, fixed:30s or exponential:1s..5m~10% (rests of 1ms to 30d)",
    };

    buf_add_text(to, forms[row->kind]);
    if (row->choices)
        print_choices(to, row->choices);
    if (row->kind == OPTION_CHOICES)
        buf_add_text(to, ", or several with commas between");
}

static enum ctl_exit refuse_form(const struct option_row *row, const char *dashes,
                                 const char *text)
{
    bool is_time = row->kind == OPTION_MOMENT || row->kind == OPTION_PAST;
    struct buf form = BUF_INIT;

    print_form(&form, row);
    ctl_misused("%s%s: '%s' is not %s%s", dashes, row->name, text, buf_text(&form),
                is_time && moment_is_in_seconds(text) ? "; it looks like seconds" : "");
    buf_fini(&form);
    return CTL_USAGE;
}

static void print_bound(struct buf *to, const struct option_row *row, int64_t bound)
{
    if (row->kind == OPTION_DURATION)
        duration_print(to, bound);
    else if (row->kind == OPTION_SIZE)
        size_write(to, bound);
    else
        buf_printf(to, "%" PRId64, bound);
}

static enum ctl_exit refuse_range(const struct option_row *row, const char *dashes,
                                  const char *text)
{
    struct buf range = BUF_INIT;

    print_bound(&range, row, row->min);
    buf_add_text(&range, " to ");
    print_bound(&range, row, row->max);
    ctl_misused("%s%s: %s is out of range: %s", dashes, row->name, text, buf_text(&range));
    buf_fini(&range);
    return CTL_USAGE;
}

enum ctl_exit option_read(const struct option_row *row, const char *dashes, const char *text,
                          struct option_value *value)
{
    bool has_range =
        row->kind == OPTION_COUNT || row->kind == OPTION_SIZE || row->kind == OPTION_DURATION;

    *value = (struct option_value){.is_given = true, .text = text};
    if (!parse_value(row, value))
        return refuse_form(row, dashes, text);
    if (has_range && (value->number < row->min || value->number > row->max))
        return refuse_range(row, dashes, text);
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
        end = option_read(g.rows[reported], "--", optarg, g.values[reported]);
    }
    arguments->words = argv + optind;
    arguments->word_count = argc - optind;
    return end;
}
