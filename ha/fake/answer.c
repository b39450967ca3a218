#include "ha/fake/answer.h"

#include <string.h>

static void read_znode(const struct fake_tree *tree, const char *path,
                       struct fake_message *reply)
{
    const struct fake_znode *z = fake_tree_find(tree, path);

    if (!z) {
        reply->status = COORD_NO_NODE;
        return;
    }
    buf_add_bytes(&reply->data, buf_bytes(&z->data));
    reply->version = z->version;
    reply->owner = z->owner;
}

static void list_znodes(const struct fake_tree *tree, const char *path,
                        struct fake_message *reply)
{
    const struct fake_znode *parent = fake_tree_find(tree, path);

    if (!parent) {
        reply->status = COORD_NO_NODE;
        return;
    }
    reply->list_number = parent->list_number;
    LIST_EACH (link, &tree->znodes) {
        const struct fake_znode *z = CONTAINER_OF(link, struct fake_znode, link);
        const char *name = fake_tree_name_under(path, z->path);

        if (name) {
            buf_add(&reply->data, name, strlen(name) + 1);
            reply->name_count++;
        }
    }
}

struct fake_message *fake_answer(const struct fake_tree *tree, struct fake_watches *watches,
                                 void *owner, const struct fake_message *request)
{
    struct fake_message *reply = fake_message_new(
        request->kind == FAKE_PING ? FAKE_PONG : FAKE_ANSWER, request->connection);
    bool is_list = request->kind == FAKE_LIST;

    reply->call = request->call;
    if (request->kind == FAKE_READ)
        read_znode(tree, request->path, reply);
    else if (is_list)
        list_znodes(tree, request->path, reply);
    /* As at a real server, the list of a missing znode cannot be watched. */
    if (request->watches && !(is_list && reply->status == COORD_NO_NODE))
        fake_watches_add(watches, owner, request->path, is_list);
    return reply;
}
