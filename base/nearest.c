#include "base/nearest.h"

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Letters to insert, remove or change (Levenshtein); `a` is at most NEAREST_MAX_BYTES long. */
static unsigned distance(struct bytes a, const char *b)
{
    unsigned row[NEAREST_MAX_BYTES + 1];

    for (unsigned i = 0; i <= a.len; i++)
        row[i] = i;
    for (; *b; b++) {
        unsigned diagonal = row[0]++;

        for (unsigned i = 1; i <= a.len; i++) {
            unsigned above = row[i];

            row[i] = smallest(row[i - 1] + 1, above + 1, diagonal + (a.at[i - 1] != *b));
            diagonal = above;
        }
    }
    return row[a.len];
}

/* Short names must be nearer: two changes make any name of two letters into any other. */
struct nearest nearest_to(struct bytes name)
{
    size_t steps = name.len < 4 ? name.len / 2 : name.len < 12 ? 2 : name.len / 4;

    return (struct nearest){.name = name, .steps_max = (unsigned)steps + 1};
}

static bool is_beginning(struct bytes name, const char *known)
{
    return name.len && strlen(known) > name.len && !memcmp(known, name.at, name.len) &&
           strchr("_.", known[name.len]);
}

void nearest_offer_at(struct nearest *n, const char *known, unsigned steps)
{
    if (steps >= n->steps_max)
        return;
    n->steps_max = steps;
    n->found = known;
}

void nearest_offer(struct nearest *n, const char *known)
{
    if (n->name.len > NEAREST_MAX_BYTES)
        return;
    nearest_offer_at(n, known, is_beginning(n->name, known) ? 1 : distance(n->name, known));
}
