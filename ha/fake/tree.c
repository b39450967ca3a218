#include "ha/fake/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ha/fake/wire.h"

/* A change that was made, so that it can be undone: the znodes put in and taken out. */
struct made {
    struct fake_znode *in, *out;
};

static struct fake_znode *znode_new(const char *path, struct bytes data, int64_t owner)
{
    struct fake_znode *z = must(calloc(1, sizeof(*z)));

    z->path = must(strdup(path));
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
    name = must(strndup(path, (size_t)(slash - path)));
    parent = find(t, name);
    free(name);
    return parent;
}

/* ---- watches ---- */

struct watch {
    struct list link;
    void *owner;
    char *path;
    bool is_list; /* of the names under it, not of its data */
};

static struct watch *watch_of(struct list *link)
{
    return CONTAINER_OF(link, struct watch, link);
}

static void watch_free(struct watch *w)
{
    list_remove(&w->link);
    free(w->path);
    free(w);
}

static void fire(struct fake_tree *t, struct watch *w)
{
    list_remove(&w->link);
    t->on_watch(w->owner, w->path);
    watch_free(w);
}

static void watch(struct fake_tree *t, void *owner, const char *path, bool is_list)
{
    struct watch *w = must(calloc(1, sizeof(*w)));

    w->path = must(strdup(path));
    w->owner = owner;
    w->is_list = is_list;
    list_append(&t->watches, &w->link);
}

void fake_tree_unwatch(struct fake_tree *t, const void *owner)
{
    LIST_EACH_SAFE (link, &t->watches) {
        if (watch_of(link)->owner == owner)
            watch_free(watch_of(link));
    }
}

static bool concerns(const struct watch *w, const char *path, bool came_or_went)
{
    if (w->is_list)
        return came_or_went && fake_tree_name_under(w->path, path);
    return !strcmp(w->path, path);
}

/* `came_or_went`: the names under its parent are others, too. */
static void changed(struct fake_tree *t, const char *path, bool came_or_went)
{
    LIST_EACH_SAFE (link, &t->watches) {
        if (concerns(watch_of(link), path, came_or_went))
            fire(t, watch_of(link));
    }
}

/* ---- writes ---- */

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
    if (z)
        changed(t, z->path, came_or_went);
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

/* ---- answers ---- */

static void read_znode(const struct fake_tree *t, const char *path, struct fake_message *reply)
{
    const struct fake_znode *z = find(t, path);

    if (!z) {
        reply->status = COORD_NO_NODE;
        return;
    }
    buf_add_bytes(&reply->data, buf_bytes(&z->data));
    reply->version = z->version;
    reply->owner = z->owner;
}

static void list_znodes(const struct fake_tree *t, const char *path, struct fake_message *reply)
{
    const struct fake_znode *parent = find(t, path);

    if (!parent) {
        reply->status = COORD_NO_NODE;
        return;
    }
    reply->list_number = parent->list_number;
    LIST_EACH (link, &t->znodes) {
        const struct fake_znode *z = CONTAINER_OF(link, struct fake_znode, link);
        const char *name = fake_tree_name_under(path, z->path);

        if (name) {
            buf_add(&reply->data, name, strlen(name) + 1);
            reply->name_count++;
        }
    }
}

struct fake_message *fake_tree_answer(struct fake_tree *t, void *owner,
                                      const struct fake_message *request)
{
    struct fake_message *reply = fake_message_new(
        request->kind == FAKE_PING ? FAKE_PONG : FAKE_ANSWER, request->connection);
    bool is_list = request->kind == FAKE_LIST;

    reply->call = request->call;
    if (request->kind == FAKE_READ)
        read_znode(t, request->path, reply);
    else if (is_list)
        list_znodes(t, request->path, reply);
    /* As at a real server, the list of a missing znode cannot be watched. */
    if (request->watches && !(is_list && reply->status == COORD_NO_NODE))
        watch(t, owner, request->path, is_list);
    return reply;
}

/* ---- life ---- */

void fake_tree_init(struct fake_tree *t, void (*on_watch)(void *owner, const char *path))
{
    *t = (struct fake_tree){.on_watch = on_watch};
    list_init(&t->znodes);
    list_init(&t->watches);
}

static void free_znodes(struct fake_tree *t)
{
    struct list *link;

    while ((link = list_pop(&t->znodes)))
        znode_free(CONTAINER_OF(link, struct fake_znode, link));
}

void fake_tree_wipe(struct fake_tree *t)
{
    struct list *link;

    free_znodes(t);
    t->number = 0;
    while ((link = list_first(&t->watches)))
        fire(t, watch_of(link));
}

void fake_tree_fini(struct fake_tree *t)
{
    struct list *link;

    free_znodes(t);
    while ((link = list_first(&t->watches)))
        watch_free(watch_of(link));
}
