/* Where identities are kept: in a file on this machine, which access.file names on the nodes,
 * or in Redis, behind a node's API (access.in_redis).
 */
#ifndef DUEQ_NODE_CTL_TOKEN_PLACE_H
#define DUEQ_NODE_CTL_TOKEN_PLACE_H

#include <jansson.h>

#include "base/buf.h"
#include "node/ctl/ctl.h"
#include "node/ctl/output.h"
#include "node/ctl/token_edit.h"

struct token_place {
    const char *nodes, *when; /* who knows of a change: "nodes", "after a SIGHUP" */

    /* All identities, as rows of the API; the caller's. Says what goes wrong. */
    enum ctl_exit (*list)(struct ctl *ctl, const char *path, json_t **rows);

    /* Makes the change. When it fails, `failure` is for the caller to tell, except where its
     * code is "": then it was told. DONE: ctl->has_changed is set. */
    enum ctl_exit (*change)(struct ctl *ctl, const char *path, struct token_edit *edit,
                            struct failure *failure);
};

/* `path` is the file; of the node it is not looked at. */
extern const struct token_place token_file, token_node;

/* The file's text, for a look only: a node would take it. Says what goes wrong. */
enum ctl_exit token_file_read(const char *path, struct buf *text);

/* The next identity of such a text; NULL: there is no more. The caller's. */
struct identity *token_file_next(struct bytes *rest);

/* As change() of token_node, for several changes one after the other: `*rows` is what the node
 * has, NULL when that has to be read first; it is read again where it turns out to be old. An
 * import of what is there already sends nothing: edit->version is 0 then. */
enum ctl_exit token_node_put(struct ctl *ctl, json_t **rows, struct token_edit *edit,
                             struct failure *failure);

/* token_import.c: puts the identities of a file into Redis, and tells what comes of each. An
 * identity that is refused does not stop the others; a node that does not answer does. */
enum ctl_exit token_import(struct ctl *ctl, const char *path, bool is_forced);

#endif
