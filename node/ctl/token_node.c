/* Identities in Redis, changed through a node's API.
 *
 * A change is made of the line that the node shows, and names its version: where somebody else
 * was faster, it is made again of the new line. So it is where an answer was lost, after a look
 * whether the change holds already. That is safe: the version, and what token_edit.h says, keep
 * a change from being done twice.
 */
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "node/ctl/client.h"
#include "node/ctl/request.h"
#include "node/ctl/token_place.h"

#define TRIES         5
#define FIRST_WAIT_MS 100 /* before the second try; then twice as long each time */

static const struct advice list_advice[] = {
    {"not_found", "Set access.in_redis on the nodes, or name the file of this node: --file."},
    {"wrong_state", "Set access.in_redis on the nodes, or name the file of this node: --file."},
    {"no_such_path", "The node is older than this program, or --url (or $DUEQ_URL) is not that "
                     "of a dueq node. For a file of identities: --file."},
    {0}};

static const struct advice change_advice[] = {
    {"unknown", "Look before you repeat it: 'dueqctl token list' shows what holds."},
    {"wrong_state", "'dueqctl token list' shows what holds; for a file of identities: --file."},
    {"duplicate", "A token, and a name of a certificate, is for one identity only."},
    {0}};

/* ---- what the node has ---- */

/* True: `*rows` is there. */
static bool read_rows(struct ctl *ctl, json_t **rows, struct failure *failure)
{
    struct request request;
    json_t *answer = NULL;

    request_init(&request, "GET", "/v1/identities");
    request.expects = "identities";
    request.advice = list_advice;
    request_send(ctl, &request, &answer, failure);
    if (failure->end == CTL_NOTHING) /* not "no such identity": there can be none here */
        failure->end = CTL_REFUSED;
    *rows = json_incref(json_object_get(answer, "identities"));
    json_decref(answer);
    return failure->end == CTL_DONE;
}

static const json_t *row_of(const json_t *rows, const char *name)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (bytes_equal(output_text(row, "name"), bytes_of_text(name)))
            return row;
    }
    return NULL;
}

static enum ctl_exit list(struct ctl *ctl, const char *path, json_t **rows)
{
    struct failure failure;

    (void)path;
    return read_rows(ctl, rows, &failure) ? CTL_DONE : failure_tell(ctl, &failure, NULL);
}

/* ---- a change ---- */

struct put {
    struct ctl *ctl;
    struct token_edit *edit;
    json_t **rows;
    struct failure *failure; /* of the last try */
    struct failure lost;     /* the first answer that was lost; its end is DONE: none was */
    int tries;               /* that were made */
    int64_t refused_version; /* the node has refused a change of this one; -1: none so far */
    int64_t until_mono_ms;   /* no more tries from then on; 0: it is not known yet */
};

/* There was no answer that says what has happened. */
static bool is_in_doubt(const struct put *p)
{
    return p->lost.end != CTL_DONE;
}

static bool is_last(const struct put *p)
{
    return p->tries == TRIES || (p->until_mono_ms && clock_mono_ms() >= p->until_mono_ms);
}

static void fail(const struct put *p, enum ctl_exit end, struct buf *why)
{
    if (end == CTL_USAGE) {
        ctl_misused("token: %s", buf_text(why));
        *p->failure = (struct failure){.end = end};
        return;
    }
    failure_set(p->failure, end, end == CTL_NOTHING ? "not_found" : "wrong_state", "%s %s",
                client_where(p->ctl->client), buf_text(why));
    if (end == CTL_REFUSED)
        p->failure->advice = "'dueqctl token list --json' shows the line.";
}

/* Sends the line; an empty one takes the identity out. */
static void send_line(const struct put *p, struct buf *line, int64_t version)
{
    struct request request;
    json_t *answer = NULL;

    request_init(&request, line->len ? "PUT" : "DELETE", "/v1/identities/%", p->edit->name);
    if (line->len)
        request.body = json_pack("{s:s%, s:I}", "line", line->at, line->len, "version",
                                 (json_int_t)version);
    else
        request_add_query_number(&request, "version", version);
    request.expects = "version";
    request.advice = change_advice;
    if (request_send(p->ctl, &request, &answer, p->failure) == CTL_DONE)
        p->edit->version = output_number(answer, "version", 0);
    json_decref(answer);
}

/* Another version is there, or none any more. */
static bool is_conflict(const struct failure *failure)
{
    return !strcmp(failure->code, "wrong_state") || !strcmp(failure->code, "not_found");
}

/* True: it is to be tried again, for another version is there, or nobody knows what has
 * happened. Where the version is still the one that was refused, the reason is another one. */
static bool apply_and_send(struct put *p, int64_t version, struct token_before before)
{
    struct buf line = BUF_INIT, why = BUF_INIT;
    enum ctl_exit end;

    if (version == p->refused_version)
        return false;
    end = token_edit_apply(p->edit, before, &line, &why);
    if (end == CTL_DONE)
        send_line(p, &line, version);
    else
        fail(p, end, &why);
    buf_fini(&line);
    buf_fini(&why);
    if (end != CTL_DONE || p->failure->end == CTL_DONE)
        return false;
    if (is_conflict(p->failure))
        p->refused_version = version;
    return p->failure->end == CTL_UNKNOWN || is_conflict(p->failure);
}

/* Looks at what the node has, and sends what is missing. True: it is to be tried again. */
static bool look_and_send(struct put *p)
{
    const json_t *row = row_of(*p->rows, p->edit->name);
    int64_t version = output_number(row, "version", 0);
    const char *reason;
    struct identity *old = row ? identity_parse(output_text(row, "line"), &reason) : NULL;
    struct token_before before = {.is_there = row != NULL, .identity = old};
    bool may_hold = is_in_doubt(p) || p->edit->kind == TOKEN_IMPORT;
    bool is_again = false;

    if (may_hold && token_edit_holds(p->edit, before)) {
        p->edit->version = is_in_doubt(p) ? version : 0;
        *p->failure = (struct failure){.end = CTL_DONE};
    } else if (!is_last(p)) {
        is_again = apply_and_send(p, version, before);
    }
    identity_drop(old);
    return is_again;
}

/* The last try only looks, and only where somebody has to know. True: there is to be another.
 */
static bool try_once(struct put *p)
{
    struct failure failure = {.end = CTL_DONE};
    bool was_last = is_last(p), is_again;

    if (was_last && !is_in_doubt(p))
        return false;
    if (!*p->rows && !read_rows(p->ctl, p->rows, &failure)) {
        *p->failure = failure;
        return is_in_doubt(p) && !was_last;
    }
    is_again = look_and_send(p);
    if (p->failure->end == CTL_UNKNOWN && !is_in_doubt(p))
        p->lost = *p->failure;
    return is_again && !was_last;
}

static void wait_and_forget(struct put *p)
{
    if (!p->until_mono_ms)
        p->until_mono_ms = clock_mono_ms() + p->ctl->timeout_ms;
    json_decref(*p->rows);
    *p->rows = NULL;
    poll(NULL, 0, FIRST_WAIT_MS << p->tries);
    p->tries++;
}

enum ctl_exit token_node_put(struct ctl *ctl, json_t **rows, struct token_edit *edit,
                             struct failure *failure)
{
    struct put p = {
        .ctl = ctl, .edit = edit, .rows = rows, .failure = failure, .refused_version = -1};

    edit->version = 0;
    *failure = (struct failure){.end = CTL_DONE};
    if (!strcmp(edit->name, ".") || !strcmp(edit->name, ".."))
        failure_set(failure, CTL_USAGE, "bad_name",
                    "the API has no identity '.' or '..': in a path they mean another one");
    else
        while (try_once(&p))
            wait_and_forget(&p);
    if (failure->end != CTL_DONE && is_in_doubt(&p))
        *failure = p.lost;
    ctl->has_changed |= failure->end == CTL_DONE && (edit->version || is_in_doubt(&p));
    return failure->end;
}

static enum ctl_exit change(struct ctl *ctl, const char *path, struct token_edit *edit,
                            struct failure *failure)
{
    json_t *rows = NULL;
    enum ctl_exit end = token_node_put(ctl, &rows, edit, failure);

    (void)path;
    json_decref(rows);
    return end;
}

const struct token_place token_node = {
    .nodes = "all nodes", .when = "within a second", .list = list, .change = change};
