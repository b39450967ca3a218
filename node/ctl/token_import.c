/* The identities of a file, put into Redis one by one. Those that are there with the same line
 * are left alone; another line is not replaced without being told to. */
#include <stdio.h>
#include <stdlib.h>

#include "node/ctl/token_place.h"

struct import {
    struct ctl *ctl;
    json_t *rows;     /* what the node has */
    bool is_forced;   /* --force */
    bool has_results; /* --json: a first one was printed */
    unsigned count;   /* of those that were tried */
    enum ctl_exit end;
};

static void show_result(struct import *import, const struct token_edit *edit,
                        const struct failure *failure)
{
    const char *result = edit->version ? "imported" : "there already";
    json_t *object = json_pack("{s:s}", "name", edit->name);

    if (failure->end != CTL_DONE) {
        failure_say(failure, edit->name);
        json_object_set_new(object, "error", failure_json(failure));
    } else {
        json_object_set_new(object, "result", json_string(result));
    }
    if (import->ctl->is_json)
        output_item(&import->has_results, object);
    else if (failure->end == CTL_DONE)
        output_done(edit->name, result);
    json_decref(object);
}

/* False: there is no point in going on. */
static bool import_one(struct import *import, const struct identity *wanted)
{
    char *name = bytes_copy(wanted->name);
    struct token_edit edit = {
        .kind = TOKEN_IMPORT, .name = name, .wanted = wanted, .is_forced = import->is_forced};
    struct failure failure;

    token_node_put(import->ctl, &import->rows, &edit, &failure);
    show_result(import, &edit, &failure);
    import->count++;
    import->end = ctl_worse(import->end, failure.end);
    free(name);
    return failure.end != CTL_UNREACHABLE && failure.end != CTL_UNKNOWN;
}

static void import_all(struct import *import, struct bytes text)
{
    struct identity *identity;
    bool goes_on = true;

    if (import->ctl->is_json)
        fputs("{\"results\":[", stdout);
    while (goes_on && (identity = token_file_next(&text))) {
        goes_on = import_one(import, identity);
        identity_drop(identity);
    }
    if (import->ctl->is_json)
        puts("]}");
}

enum ctl_exit token_import(struct ctl *ctl, const char *path, bool is_forced)
{
    struct import import = {.ctl = ctl, .is_forced = is_forced};
    struct buf text = BUF_INIT;
    enum ctl_exit end = token_file_read(path, &text);

    if (end == CTL_DONE)
        end = token_node.list(ctl, NULL, &import.rows);
    if (end == CTL_DONE) {
        import_all(&import, buf_bytes(&text));
        end = import.end;
    }
    if (end == CTL_DONE && import.count == 0) {
        ctl_say("%s has no identities", path);
        end = CTL_NOTHING;
    }
    if (ctl->has_changed)
        ctl_say("%s know what was imported %s", token_node.nodes, token_node.when);
    json_decref(import.rows);
    buf_fini(&text);
    return end;
}
