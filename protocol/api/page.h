/* A page of a long list, put together from the store's answers. The list lies in parts, one
 * after the other: buckets, or the states of jobs.
 *
 * An answer is {"jobs":[...],"next":"2.61"}: `next` is for the query's `cursor`, and null
 * behind the last part. `next` is where to go on: the number of the part and, if that part
 * has more, a point and the end of the store's last answer there, in hexadecimal. A page ends
 * when it is full, or has taken long enough.
 */
#ifndef DUEQ_PROTOCOL_API_PAGE_H
#define DUEQ_PROTOCOL_API_PAGE_H

#include "node/store/op.h"
#include "protocol/http/exchange.h"
#include "protocol/api/report.h"

struct page {
    struct exchange *x;
    const struct page_kind *kind;
    struct op op;     /* one after the other */
    unsigned part;    /* where to go on */
    unsigned end;     /* behind the last part */
    struct buf after; /* where in the part; empty: at its beginning */
    struct buf json;
    unsigned limit; /* rows of the page */
    unsigned count;
    unsigned steps; /* operations so far */
    bool is_hidden; /* the row looked at last is not for the client: no cursor may name it */
    bool is_left;   /* the client has ended its side, or is gone: no operation may wait */

    /* For a kind that leaves out unreached buckets: */
    bool is_away[STORE_BUCKETS_MAX]; /* when the page was begun; or refused since */
    bool has_answer;                 /* of a bucket, in this page or one before */
    struct buf left_out;             /* numbers of buckets, for the answer */
};

struct page_kind {
    const char *member; /* the list's name in the answer: "jobs" */
    unsigned limit_default, limit_max;
    unsigned steps_max;
    bool leaves_out; /* its parts are buckets; those that are not reached, or where Redis
                        refuses (a damaged key of the bucket, say), do not hold up the page
                        while others answer, and are listed in "unreached" */

    /* Sets the operation's inputs, except the topic, from `part`, `after` and page_room(). */
    void (*prepare)(struct page *page);

    /* Adds the answer's rows with page_next_row() before each. Returns its `next`. */
    struct bytes (*take)(struct page *page);
};

/* Answers, by the query's `limit` and `cursor`; the topic is the path's, "" without one. */
void page_reply(struct exchange *x, const struct page_kind *kind, enum op_verb verb,
                unsigned first, unsigned end);

/* Where the next row is to be written. */
struct buf *page_next_row(struct page *page);

/* How many rows the page still wants, at most `most`. */
unsigned page_room(const struct page *page, unsigned most);

#endif
