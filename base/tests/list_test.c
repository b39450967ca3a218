/* The intrusive list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/list.h"

struct item {
    int number;
    struct list link;
};

static struct item *item_of(struct list *link)
{
    return CONTAINER_OF(link, struct item, link);
}

static void append_numbered(struct list *head, struct item *items, int count)
{
    for (int i = 0; i < count; i++) {
        items[i].number = i;
        list_append(head, &items[i].link);
    }
}

/* Walks both ways: a broken back link shows only then. */
static void assert_numbers(struct list *head, const int *numbers, size_t count)
{
    struct list *it = head;

    for (size_t i = 0; i < count; i++) {
        it = it->next;
        assert_ptr_not_equal(it, head);
        assert_int_equal(item_of(it)->number, numbers[i]);
    }
    assert_ptr_equal(it->next, head);
    for (size_t i = count; i-- > 0; it = it->prev)
        assert_int_equal(item_of(it)->number, numbers[i]);
    assert_ptr_equal(it, head);
}

static void a_new_list_is_empty_and_a_new_link_unlinked(void **state)
{
    struct list head;

    list_init(&head);
    assert_true(list_is_empty(&head));
    assert_false(list_is_linked(&head));
    assert_null(list_first(&head));
    assert_null(list_pop(&head));
}

static void keeps_the_order_of_both_ends(void **state)
{
    struct list head;
    struct item items[3], front = {.number = 9};

    list_init(&head);
    append_numbered(&head, items, 3);
    list_prepend(&head, &front.link);
    assert_numbers(&head, (int[]){9, 0, 1, 2}, 4);
    assert_ptr_equal(list_first(&head), &front.link);
    assert_ptr_equal(list_pop(&head), &front.link);
    assert_false(list_is_linked(&front.link));
    assert_numbers(&head, (int[]){0, 1, 2}, 3);
}

static void removing_is_harmless_twice(void **state)
{
    struct list head;
    struct item items[3];

    list_init(&head);
    append_numbered(&head, items, 3);
    list_remove(&items[1].link);
    list_remove(&items[1].link);
    assert_false(list_is_linked(&items[1].link));
    assert_numbers(&head, (int[]){0, 2}, 2);
}

static void a_walk_may_free_what_it_stands_on(void **state)
{
    struct list head;
    int seen = 0;

    list_init(&head);
    for (int i = 0; i < 5; i++) {
        struct item *item = malloc(sizeof(*item));

        assert_non_null(item);
        list_append(&head, &item->link);
    }
    LIST_EACH_SAFE (it, &head) {
        list_remove(it);
        free(item_of(it));
        seen++;
    }
    assert_int_equal(seen, 5);
    assert_true(list_is_empty(&head));
}

static void appends_a_whole_list_and_leaves_it_empty(void **state)
{
    struct list to, from;
    struct item first[2], second[2];

    list_init(&to);
    list_init(&from);
    append_numbered(&to, first, 2);
    append_numbered(&from, second, 2);
    list_append_all(&to, &from);
    assert_numbers(&to, (int[]){0, 1, 0, 1}, 4);
    assert_true(list_is_empty(&from));
    list_append_all(&to, &from);
    assert_numbers(&to, (int[]){0, 1, 0, 1}, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_list_is_empty_and_a_new_link_unlinked),
        cmocka_unit_test(keeps_the_order_of_both_ends),
        cmocka_unit_test(removing_is_harmless_twice),
        cmocka_unit_test(a_walk_may_free_what_it_stands_on),
        cmocka_unit_test(appends_a_whole_list_and_leaves_it_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
