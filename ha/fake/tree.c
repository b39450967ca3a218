#include "ha/fake/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A change that was made, so that it can be undone: the znodes put in and taken out. */
struct made {
    struct fake_znode *in, *out;
};

static struct fake_znode *znode_new(const char *path, struct bytes data, int64_t owner)
{
    struct fake_znode *z = calloc(1, sizeof(*z));

    if (!z || !(z->path = strdup(path)))
        abort();
    buf_add_bytes(&z->data, data);
    z->owner = owner;
    return z;
}

static void znode_free(struct fake_znode *z)
{
    if (!z)
        return;
    buf_fini(&z->data);
    free(z->path);
    free(z);
}

void fake_tree_init(struct fake_tree *t)
{
    *t = (struct fake_tree){0};
    list_init(&t->znodes);
}

void fake_tree_fini(struct fake_tree *t)
{
    struct list *link;

    while ((link = list_pop(&t->znodes)))
        znode_free(CONTAINER_OF(link, struct fake_znode, link));
}

static struct fake_znode *find(const struct fake_tree *t, const char *path)
{
    LIST_EACH (link, &t->znodes) {
        struct fake_znode *z = CONTAINER_OF(link, struct fake_znode, link);

        if (!strcmp(z->path, path))
            return z;
    }
    return NULL;
}

const struct fake_znode *fake_tree_find(const struct fake_tree *t, const char *path)
{
    return find(t, path);
}

const char *fake_tree_name_under(const char *parent, const char *path)
{
    size_t len = strlen(parent);

    if (strncmp(path, parent, len) != 0 || path[len] != '/' || strchr(path + len + 1, '/'))
        return NULL;
    return path + len + 1;
}

static bool has_children(const struct fake_tree *t, const char *path)
{
    LIST_EACH (link, &t->znodes) {
        if (fake_tree_name_under(path, CONTAINER_OF(link, struct fake_znode, link)->path))
            return true;
    }
    return false;
}

/* NULL: the parent is missing, or is the root, which is not kept. */
static struct fake_znode *find_parent(const struct fake_tree *t, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct fake_znode *parent;
    char *name;

    assert(slash);
    name = strndup(path, (size_t)(slash - path));
    if (!name)
        abort();
    parent = find(t, name);
    free(name);
    return parent;
}

/* May a znode be created at `path`? */
static enum coord_status check_parent(const struct fake_tree *t, const char *path)
{
    const struct fake_znode *parent;

    if (strrchr(path, '/') == path)
        return COORD_OK;
    parent = find_parent(t, path);
    if (!parent)
        return COORD_NO_NODE;
    return parent->owner ? COORD_ERROR : COORD_OK;
}

static enum coord_status create(struct fake_tree *t, const struct coord_change *change,
                                int64_t owner, struct made *made)
{
    enum coord_status status = check_parent(t, change->path);

    if (status != COORD_OK)
        return status;
    if (find(t, change->path))
        return COORD_EXISTS;
    made->in = znode_new(change->path, change->data, owner);
    made->in->list_number = t->number;
    return COORD_OK;
}

static enum coord_status alter(struct fake_tree *t, const struct coord_change *change,
                               struct made *made)
{
    struct fake_znode *old = find(t, change->path);

    if (!old)
        return COORD_NO_NODE;
    if (change->version != -1 && change->version != old->version)
        return COORD_BAD_VERSION;
    if (change->kind == COORD_CHECK)
        return COORD_OK;
    if (change->kind == COORD_DELETE && has_children(t, change->path))
        return COORD_ERROR;
    if (change->kind == COORD_SET) {
        made->in = znode_new(change->path, change->data, old->owner);
        made->in->version = old->version + 1;
        made->in->list_number = old->list_number;
    }
    made->out = old;
    return COORD_OK;
}

static enum coord_status make(struct fake_tree *t, const struct coord_change *change,
                              int64_t owner, struct made *made)
{
    enum coord_status status;

    *made = (struct made){0};
    if (change->kind == COORD_CREATE || change->kind == COORD_CREATE_EPHEMERAL)
        status = create(t, change, change->kind == COORD_CREATE ? 0 : owner, made);
    else
        status = alter(t, change, made);
    if (made->out)
        list_remove(&made->out->link);
    if (made->in)
        list_append(&t->znodes, &made->in->link);
    return status;
}

static void take_back(struct fake_tree *t, struct made *made)
{
    if (made->in)
        list_remove(&made->in->link);
    if (made->out)
        list_append(&t->znodes, &made->out->link);
    znode_free(made->in);
}

static void keep(struct fake_tree *t, struct made *made)
{
    const struct fake_znode *z = made->in ? made->in : made->out;
    bool came_or_went = !made->in || !made->out;
    struct fake_znode *parent = z && came_or_went ? find_parent(t, z->path) : NULL;

    if (parent)
        parent->list_number = t->number;
    if (z && t->on_change)
        t->on_change(t, z->path, came_or_went);
    znode_free(made->out);
}

enum coord_status fake_tree_write(struct fake_tree *t, const struct coord_change *changes,
                                  unsigned count, int64_t owner, unsigned *failed)
{
    struct made made[COORD_CHANGES_MAX];
    enum coord_status status = COORD_OK;
    unsigned n;

    assert(count <= COORD_CHANGES_MAX);
    t->number++;
    for (n = 0; n < count; n++) {
        status = make(t, &changes[n], owner, &made[n]);
        if (status != COORD_OK)
            break;
    }
    if (status != COORD_OK) {
        *failed = n;
        while (n--)
            take_back(t, &made[n]);
        return status;
    }
    for (n = 0; n < count; n++)
        keep(t, &made[n]);
    return COORD_OK;
}

void fake_tree_remove_owned(struct fake_tree *t, int64_t owner)
{
    t->number++;
    LIST_EACH_SAFE (link, &t->znodes) {
        struct fake_znode *z = CONTAINER_OF(link, struct fake_znode, link);

        if (z->owner == owner) {
            list_remove(link);
            keep(t, &(struct made){.out = z});
        }
    }
}
