/* delaytask's bodies and replies. Pure.
 *
 * `content` is a text, mostly JSON in a string; what it says is the consumer's business. Where
 * it names a service ("sn") and a path of it ("url"), both have to be such that nothing else
 * can be reached by them, for whoever calls the service when the task is due.
 */
#ifndef DUEQ_PROTOCOL_DELAYTASK_CODEC_H
#define DUEQ_PROTOCOL_DELAYTASK_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"

struct delaytask_request {
    struct bytes topic;
    struct bytes content;
    struct bytes task_id; /* digits; "": none was given */
    int64_t moment_s;     /* since 1970; 0: none was given */
};

/* NULL, or why the body is refused: for people; of a static text or in `room`. The request
 * borrows from `json`, in which strings are unescaped in place. */
const char *delaytask_read(struct bytes json, struct delaytask_request *request,
                           char room[static 160]);

/* The same for what an add needs. `room` is for a copy of the content: as long as that is. */
const char *delaytask_refusal_of_add(const struct delaytask_request *request, char *room);

/* May the path be called? Absolute, of a URL's characters, and without dot segments, escaped or
 * not. The bytes must be the caller's to change, and are spoilt. */
bool delaytask_url_is_fit(struct bytes url);

/* Each is a whole reply. */
void delaytask_add_error(struct buf *out, int code, const char *word, struct bytes message);
void delaytask_add_added(struct buf *out, struct bytes task_id);
void delaytask_add_pulled(struct buf *out, struct bytes content);

#endif
