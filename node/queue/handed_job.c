#include "node/queue/handed_job.h"

#include <stdlib.h>

#include "node/queue/queue.h"
#include "node/queue/text.h"

uint64_t handed_job_key(unsigned bucket, int64_t stamp)
{
    return (uint64_t)bucket << 48 | (uint64_t)stamp;
}

struct handed_job *handed_job_new(const struct op *op, const struct job *job,
                                  struct bytes holder)
{
    struct handed_job *h = malloc(sizeof(*h) + op->topic.len + job->id.len + holder.len);
    char *text;

    if (!h)
        abort();
    text = h->text;
    *h = (struct handed_job){
        .key = handed_job_key(op->bucket, job->stamp),
        .stamp = job->stamp,
        .tries = job->tries,
        .bucket = op->bucket,
        .topic = text_put(&text, op->topic),
        .id = text_put(&text, job->id),
        .holder = text_put(&text, holder),
    };
    list_init(&h->link);
    return h;
}

_Static_assert(QUEUE_CLIENT_MAX_BYTES < JOB_HOLDER_MAX, "and some of the node's name");

struct bytes handed_job_holder(struct bytes client, struct bytes node,
                               char room[JOB_HOLDER_MAX])
{
    size_t room_left = JOB_HOLDER_MAX - client.len - 1;
    char *end = room;

    if (client.len == 0)
        return client;
    text_put(&end, client);
    if (node.len > 0) {
        text_put(&end, BYTES("@"));
        node.len = node.len < room_left ? node.len : room_left;
        text_put(&end, node);
    }
    return bytes_of(room, (size_t)(end - room));
}
