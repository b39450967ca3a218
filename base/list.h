/* An intrusive, circular, doubly linked list. "A state is the list you are on."
 *
 * A `struct list` is a head or a link inside the caller's struct. A link that is on no list
 * points to itself (list_init), so list_remove() is harmless twice and list_is_linked() is
 * one comparison.
 */
#ifndef DUEQ_BASE_LIST_H
#define DUEQ_BASE_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *prev;
};

#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* Walks from first to last; the body must not unlink `it`. */
#define LIST_EACH(it, head) for (struct list *it = (head)->next; it != (head); it = it->next)

/* The body may unlink (and free) `it`, and nothing else. */
#define LIST_EACH_SAFE(it, head)                                              \
    for (struct list *it = (head)->next, *it##_next = it->next; it != (head); \
         it = it##_next, it##_next = it->next)

static inline void list_init(struct list *l)
{
    l->next = l->prev = l;
}

static inline bool list_is_empty(const struct list *head)
{
    return head->next == head;
}

static inline bool list_is_linked(const struct list *link)
{
    return link->next != link;
}

static inline void list_append(struct list *head, struct list *link)
{
    assert(head->prev); /* list_init() came before */
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void list_prepend(struct list *head, struct list *link)
{
    list_append(head->next, link);
}

static inline void list_remove(struct list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_init(link);
}

/* The first link, or NULL; still on the list. */
static inline struct list *list_first(struct list *head)
{
    return list_is_empty(head) ? NULL : head->next;
}

/* The first link, unlinked, or NULL. */
static inline struct list *list_pop(struct list *head)
{
    struct list *link = list_first(head);

    if (link)
        list_remove(link);
    return link;
}

/* Appends all of `from` to `to` and leaves `from` empty. */
static inline void list_append_all(struct list *to, struct list *from)
{
    struct list *link;

    while ((link = list_pop(from)))
        list_append(to, link);
}

#endif
