#include "ha/fake_answer.h"

#include <string.h>

void fake_answer_read(const struct fake_tree *tree, const char *path,
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

bool fake_answer_list(const struct fake_tree *tree, const char *path,
                      struct fake_message *reply)
{
    if (!fake_tree_find(tree, path)) {
        reply->status = COORD_NO_NODE;
        return false;
    }
    LIST_EACH (link, &tree->znodes) {
        const struct fake_znode *z = CONTAINER_OF(link, struct fake_znode, link);
        const char *name = fake_tree_name_under(path, z->path);

        if (name) {
            buf_add(&reply->data, name, strlen(name) + 1);
            reply->name_count++;
        }
    }
    return true;
}
