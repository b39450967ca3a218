/* POST /v1/topics/{topic}/ack: a list of leases. */
#include "protocol/http/encode.h"
#include "protocol/http/api_call.h"
#include "protocol/http/routes.h"

static void add_acked(struct buf *out, const struct op *op)
{
    api_add_text(out, "{\"id\":", op->id);
    buf_add_char(out, '}');
}

static void ack_item(struct batch *b, struct bytes object)
{
    struct api_lease lease;
    struct api_why why;
    enum status status = api_decode_one_lease(object, &lease, &why);
    struct op op = {.verb = OP_ACK};

    if (status) {
        batch_refuse(b, status, &why);
        return;
    }
    op.id = lease.id;
    op.in.lease.stamp = lease.stamp;
    batch_submit(b, &op);
}

void api_ack_all(struct exchange *x)
{
    struct bytes value, list, object;
    struct json_walk walk;
    struct batch *b;
    struct api_why why;
    enum status status;
    unsigned count;

    if (!api_read_body(x, &value))
        return;
    status = api_decode_leases(value, &list, &count, &why);
    if (status) {
        api_refuse(x, status, &why);
        return;
    }
    b = batch_new(x, count, add_acked);
    walk = json_walk_into(list);
    while (json_walk_element(&walk, &object))
        ack_item(b, object);
    batch_end(b);
}
