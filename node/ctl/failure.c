#include "node/ctl/failure.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "node/ctl/output.h"

/* The API's words that are no mere refusals, and what people can do about some. */
static const struct row {
    const char *code;
    enum ctl_exit end;
    const char *advice; /* NULL: the message says it all */
} rows[] = {
    {"unreachable", CTL_UNREACHABLE,
     "Is the node running, and is --url (or $DUEQ_URL) its HTTP address?"},
    {"unknown", CTL_UNKNOWN,
     "Look before you repeat it: 'dueqctl get TOPIC ID' shows a job, 'dueqctl stats TOPIC' how "
     "many there are."},
    {"not_found", CTL_NOTHING, NULL},
    {"duplicate", CTL_REFUSED,
     "Choose another --id, or replace the job that has this one: --mode replace."},
    {"not_owner", CTL_REFUSED,
     "To have longer: 'dueqctl touch' in time, or a longer --ttr of push or pop."},
    {"not_reserved", CTL_REFUSED, "Its time to run was over, or somebody released it."},
    {"bad_topic", CTL_USAGE, NULL},
    {"bad_id", CTL_USAGE, NULL},
    {"wrong_state", CTL_REFUSED,
     "'dueqctl get TOPIC ID' shows its state; kick is for dead jobs."},
    {"too_large", CTL_REFUSED,
     "The node's limits.body_bytes is for a job, limits.http_body_bytes for a request."},
    {"no_such_path", CTL_REFUSED,
     "Is --url (or $DUEQ_URL) that of a dueq node, and the node as new as this program?"},
    {"bad_answer", CTL_REFUSED, "Is --url (or $DUEQ_URL) that of a dueq node?"},
    {"wrong_host", CTL_REFUSED,
     "Call the node by its address, or add the name to its http.hosts."},
    {"unavailable", CTL_REFUSED, "'dueqctl status' says what the node lacks."},
};

static const struct row *row_of(const char *code)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!strcmp(rows[i].code, code))
            return &rows[i];
    }
    return NULL;
}

void failure_set(struct failure *failure, enum ctl_exit end, const char *code,
                 const char *format, ...)
{
    va_list args;

    failure->end = end;
    failure->count = 0;
    failure->advice = NULL;
    snprintf(failure->code, sizeof(failure->code), "%s", code);
    va_start(args, format);
    vsnprintf(failure->message, sizeof(failure->message), format, args);
    va_end(args);
}

bool failure_is_ours(const json_t *error, int status)
{
    static const char *const server_words[] = {
        "store_error", "not_ready", "shutting_down",   "unavailable",
        "too_many",    "unknown",   "not_implemented", "version_not_supported",
    };
    const char *code = json_string_value(json_object_get(error, "code"));

    if (!code || status < 500)
        return code;
    for (size_t i = 0; i < sizeof(server_words) / sizeof(server_words[0]); i++) {
        if (!strcmp(server_words[i], code))
            return true;
    }
    return false;
}

void failure_read(struct failure *failure, const json_t *error)
{
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *message = json_string_value(json_object_get(error, "message"));
    const struct row *row = row_of(code ? code : "bad_answer");

    failure_set(failure, row ? row->end : CTL_REFUSED, code ? code : "bad_answer", "%s",
                message ? message : "the answer gives no reason");
    failure->count = output_number(error, "count", 0);
}

json_t *failure_json(const struct failure *failure)
{
    json_t *code = json_string(failure->code);
    json_t *message = json_string(failure->message);

    /* What was cut off inside a character is no UTF-8, and no JSON. */
    return json_pack("{s:o, s:o}", "code", code ? code : json_string(""), "message",
                     message ? message : json_string(""));
}

void failure_say(const struct failure *failure, const char *what)
{
    const struct row *row = row_of(failure->code);
    const char *advice = failure->advice ? failure->advice : row ? row->advice : NULL;

    ctl_say("%s%s%s (%s)", what ? what : "", what ? ": " : "", failure->message, failure->code);
    if (advice)
        fprintf(stderr, "%s\n", advice);
    if (failure->retry_after_s > 0)
        fprintf(stderr, "Try again in %" PRId64 " s.\n", failure->retry_after_s);
}
