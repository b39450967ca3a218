#include "ha/fake/watches.h"

#include <stdlib.h>
#include <string.h>

#include "ha/fake/tree.h"

struct watch {
    struct list link;
    void *owner;
    char *path;
    bool is_list;
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

static void fire(struct fake_watches *ws, struct watch *w)
{
    list_remove(&w->link);
    ws->on_fired(w->owner, w->path);
    watch_free(w);
}

void fake_watches_add(struct fake_watches *ws, void *owner, const char *path, bool is_list)
{
    struct watch *w = calloc(1, sizeof(*w));

    if (!w || !(w->path = strdup(path)))
        abort();
    w->owner = owner;
    w->is_list = is_list;
    list_append(&ws->all, &w->link);
}

void fake_watches_drop(struct fake_watches *ws, const void *owner)
{
    LIST_EACH_SAFE (link, &ws->all) {
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

void fake_watches_changed(struct fake_watches *ws, const char *path, bool came_or_went)
{
    LIST_EACH_SAFE (link, &ws->all) {
        if (concerns(watch_of(link), path, came_or_went))
            fire(ws, watch_of(link));
    }
}

void fake_watches_fire_all(struct fake_watches *ws)
{
    struct list *link;

    while ((link = list_first(&ws->all)))
        fire(ws, watch_of(link));
}

void fake_watches_init(struct fake_watches *ws, void (*on_fired)(void *owner, const char *path))
{
    list_init(&ws->all);
    ws->on_fired = on_fired;
}
