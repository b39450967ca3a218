#include "node/queue/shares.h"

#include <stdlib.h>
#include <string.h>

#define NEVER INT64_MAX

struct shares_node {
    struct bytes name; /* in shares.text */
    uint64_t seed;
};

/* The marks of a bucket, as of the last view in which they were asked for. */
struct marked_bucket {
    uint64_t view;       /* as shares.view; 0: never */
    int64_t end_mono_ms; /* of that view; set when the next one comes */
    unsigned own;        /* of the marks */
    char marks[SHARES];
    int64_t next_end_mono_ms;           /* of the first kept share, or NEVER */
    int64_t kept_until_mono_ms[SHARES]; /* where the mark is SHARE_KEPT */
};

struct shares {
    int64_t lock_ms;
    struct bytes self;
    uint64_t number; /* the view's */
    uint64_t view;   /* counts the views seen: their numbers may come again */
    unsigned count;
    struct shares_node nodes[SHARES_NODES_MAX]; /* by name */
    char *text;                                 /* their names */
    unsigned bucket_count;
    struct marked_bucket buckets[];
};

/* ---- scores ---- */

static uint64_t stir(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static uint64_t seed_of(struct bytes name)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < name.len; i++)
        value = (value ^ (unsigned char)name.at[i]) * UINT64_C(0x100000001b3);
    return stir(value);
}

static uint64_t score(uint64_t seed, unsigned bucket, unsigned share)
{
    return stir(seed + ((uint64_t)bucket * SHARES + share + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

uint64_t shares_score(struct bytes node, unsigned bucket, unsigned share)
{
    return score(seed_of(node), bucket, share);
}

/* Of equal scores the first name wins. NULL: nobody scans. */
static const struct shares_node *find_preferred(const struct shares *s, unsigned bucket,
                                                unsigned share)
{
    const struct shares_node *best = NULL;
    uint64_t highest = 0;

    for (unsigned i = 0; i < s->count; i++) {
        uint64_t value = score(s->nodes[i].seed, bucket, share);

        if (best && value <= highest)
            continue;
        best = &s->nodes[i];
        highest = value;
    }
    return best;
}

/* ---- marks ---- */

/* A share that was this node's own becomes kept or another's. */
static void give_away(struct marked_bucket *b, unsigned share, int64_t kept_until_mono_ms)
{
    if (b->marks[share] == SHARE_OWN) {
        b->marks[share] = SHARE_KEPT;
        b->kept_until_mono_ms[share] = kept_until_mono_ms;
    }
    if (b->marks[share] == SHARE_KEPT && b->kept_until_mono_ms[share] < b->next_end_mono_ms)
        b->next_end_mono_ms = b->kept_until_mono_ms[share];
}

static void make_marks(struct shares *s, unsigned bucket)
{
    struct marked_bucket *b = &s->buckets[bucket];

    b->own = 0;
    b->next_end_mono_ms = NEVER;
    for (unsigned share = 0; share < SHARES; share++) {
        const struct shares_node *node = find_preferred(s, bucket, share);

        if (node && bytes_equal(node->name, s->self)) {
            b->marks[share] = SHARE_OWN;
            b->own++;
        } else {
            give_away(b, share, b->end_mono_ms + s->lock_ms);
        }
    }
    b->view = s->view;
}

static void end_kept(struct marked_bucket *b, int64_t now_mono_ms)
{
    b->next_end_mono_ms = NEVER;
    for (unsigned share = 0; share < SHARES; share++) {
        if (b->marks[share] != SHARE_KEPT)
            continue;
        if (b->kept_until_mono_ms[share] <= now_mono_ms)
            b->marks[share] = SHARE_OTHERS;
        else if (b->kept_until_mono_ms[share] < b->next_end_mono_ms)
            b->next_end_mono_ms = b->kept_until_mono_ms[share];
    }
}

static struct marked_bucket *get_marked(struct shares *s, unsigned bucket)
{
    if (s->buckets[bucket].view != s->view)
        make_marks(s, bucket);
    return &s->buckets[bucket];
}

struct bytes shares_marks(struct shares *s, unsigned bucket, int64_t now_mono_ms)
{
    struct marked_bucket *b = get_marked(s, bucket);

    if (b->next_end_mono_ms <= now_mono_ms)
        end_kept(b, now_mono_ms);
    return bytes_of(b->marks, SHARES);
}

char shares_mark(struct shares *s, unsigned bucket, unsigned share, int64_t now_mono_ms)
{
    return shares_marks(s, bucket, now_mono_ms).at[share];
}

unsigned shares_own_count(struct shares *s)
{
    unsigned own = 0;

    for (unsigned i = 0; i < s->bucket_count; i++)
        own += get_marked(s, i)->own;
    return own;
}

struct bytes shares_preferred(const struct shares *s, unsigned bucket, unsigned share)
{
    const struct shares_node *node = find_preferred(s, bucket, share);

    return node ? node->name : BYTES("");
}

/* ---- views ---- */

static int by_name(const void *left, const void *right)
{
    return bytes_compare(*(const struct bytes *)left, *(const struct bytes *)right);
}

static void copy_nodes(struct shares *s, const struct bytes *names, unsigned count)
{
    size_t bytes = 0;
    char *text;

    s->count = count < SHARES_NODES_MAX ? count : SHARES_NODES_MAX;
    for (unsigned i = 0; i < s->count; i++)
        bytes += names[i].len;
    text = must(malloc(bytes + 1));
    free(s->text);
    s->text = text;
    for (unsigned i = 0; i < s->count; i++) {
        memcpy(text, names[i].at, names[i].len);
        s->nodes[i].name = bytes_of(text, names[i].len);
        s->nodes[i].seed = seed_of(names[i]);
        text += names[i].len;
    }
}

static void end_view(struct shares *s, int64_t now_mono_ms)
{
    for (unsigned i = 0; i < s->bucket_count; i++) {
        if (s->buckets[i].view == s->view)
            s->buckets[i].end_mono_ms = now_mono_ms;
    }
}

void shares_see(struct shares *s, const struct shares_view *view, int64_t now_mono_ms)
{
    struct bytes *names = must(calloc(view->count + 1, sizeof(*names)));

    for (unsigned i = 0; i < view->count; i++)
        names[i] = view->nodes[i];
    qsort(names, view->count, sizeof(*names), by_name);
    end_view(s, now_mono_ms);
    copy_nodes(s, names, view->count);
    s->number = view->number;
    s->view++;
    free(names);
}

uint64_t shares_number(const struct shares *s)
{
    return s->number;
}

bool shares_have(const struct shares *s, struct bytes node)
{
    for (unsigned i = 0; i < s->count; i++) {
        if (bytes_equal(s->nodes[i].name, node))
            return true;
    }
    return false;
}

/* ---- life ---- */

struct shares *shares_new(unsigned buckets, struct bytes self, int64_t lock_ms)
{
    struct shares *s = must(calloc(1, sizeof(*s) + buckets * sizeof(s->buckets[0])));
    char *name = must(malloc(self.len + 1));

    if (self.len)
        memcpy(name, self.at, self.len);
    s->self = bytes_of(name, self.len);
    s->lock_ms = lock_ms;
    s->bucket_count = buckets;
    s->view = 1;
    for (unsigned i = 0; i < buckets; i++)
        memset(s->buckets[i].marks, SHARE_OTHERS, SHARES);
    return s;
}

void shares_free(struct shares *s)
{
    if (!s)
        return;
    free((char *)s->self.at);
    free(s->text);
    free(s);
}
