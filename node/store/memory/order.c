#include "node/store/memory/order.h"

#include <stdlib.h>
#include <string.h>

#include "node/store/memory/room.h"
#include "node/store/memory/topic.h"

void order_fini(struct order *order)
{
    free(order->spots);
    *order = (struct order){0};
}

struct spot *order_at(const struct order *order, size_t index)
{
    return &order->spots[order->first + index];
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Below 0: the spot is before that position. */
static int compare(const struct spot *spot, int64_t score, int64_t key, struct bytes id)
{
    int by_score = compare_numbers(spot->score, score);
    int by_key = compare_numbers(spot->key, key);

    if (by_score || by_key)
        return by_score ? by_score : by_key;
    return spot->record ? bytes_compare(spot->record->job.id, id) : 0;
}

size_t order_find(const struct order *order, int64_t score, int64_t key, struct bytes id)
{
    size_t low = 0, high = order->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(order_at(order, middle), score, key, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t order_find_score(const struct order *order, int64_t score)
{
    return order_find(order, score, INT64_MIN, bytes_of("", 0));
}

/* Makes room for one more behind the last. Free room at the front is used first. */
static void make_room(struct order *order)
{
    if (order->first + order->count < order->room)
        return;
    if (order->first > order->count) {
        memcpy(order->spots, order_at(order, 0), order->count * sizeof(*order->spots));
        order->first = 0;
        return;
    }
    order->room = order->room ? 2 * order->room : 8;
    order->spots = must(realloc(order->spots, order->room * sizeof(*order->spots)));
}

void order_add(struct order *order, int64_t score, int64_t key, struct record *record)
{
    size_t index = order_find(order, score, key, record->job.id);
    struct spot *spot;

    make_room(order);
    spot = order_at(order, index);
    memmove(spot + 1, spot, (order->count - index) * sizeof(*spot));
    *spot = (struct spot){.score = score, .key = key, .record = record};
    order->count++;
}

void order_remove(struct order *order, size_t index)
{
    struct spot *spot = order_at(order, index);

    order->count--;
    if (index == 0)
        order->first++;
    else
        memmove(spot, spot + 1, (order->count - index) * sizeof(*spot));
}

int64_t order_first_ms(const struct order *order)
{
    return order->count ? order_at(order, 0)->score : MEMORY_NEVER;
}
