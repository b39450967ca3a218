/* A page of the key space, where that lies at several masters: PLACES looks through one after
 * the other. Its cursor is "<lane>.<cursor of Redis>", with the lane's serial, so that one
 * which has gone meanwhile, or is away, is passed over: whoever walks comes round again.
 */
#include "node/store/redis/requests_private.h"

#include <stdio.h>
#include <string.h>

bool request_is_of_all_lanes(const struct request *r)
{
    return r->op->verb == OP_PLACES && r->queue->redirects.lane_from;
}

/* "": the first. What is no cursor of ours is taken for that. */
static unsigned read_serial(struct bytes cursor, struct bytes *place)
{
    unsigned serial = 0;
    size_t at = 0;

    while (at < cursor.len && at < 9 && cursor.at[at] >= '0' && cursor.at[at] <= '9')
        serial = serial * 10 + (unsigned)(cursor.at[at++] - '0');
    if (at == cursor.len || cursor.at[at] != '.') {
        *place = BYTES("");
        return 0;
    }
    *place = bytes_of(cursor.at + at + 1, cursor.len - at - 1);
    return serial;
}

static struct redis_lane *lane_from(const struct request *r, unsigned serial)
{
    const struct redis_requests_events *e = &r->queue->redirects;

    return e->lane_from(e->arg, serial);
}

void request_send_to_its_lane(struct request *r)
{
    struct bytes place;
    struct redis_lane *lane = lane_from(r, read_serial(r->op->in.places.after, &place));

    if (lane) {
        request_send(r, lane);
    } else if (lane_from(r, 0)) { /* those that were to come are away: it is the end */
        r->op->out.places.count = 0;
        r->op->out.places.next = BYTES("");
        request_fail_later(r, STATUS_OK);
    } else {
        request_fail_later(r, STATUS_UNAVAILABLE);
    }
}

/* Where its lane has gone it begins with the next one. */
struct bytes request_place(const struct request *r)
{
    struct bytes place;

    return read_serial(r->op->in.places.after, &place) == r->lane->serial ? place : BYTES("");
}

void request_name_next_place(struct request *r)
{
    struct bytes *next = &r->op->out.places.next;
    char *text = r->queue->next_place;
    size_t size = sizeof(r->queue->next_place);
    const struct redis_lane *other;

    if (next->len > 0) {
        snprintf(text, size, "%u.%.*s", r->lane->serial, BYTES_ARG(*next));
    } else {
        other = lane_from(r, r->lane->serial + 1);
        if (!other)
            return;
        snprintf(text, size, "%u.0", other->serial);
    }
    *next = bytes_of_text(text);
}
