#include "node/queue/adoption.h"

#include "base/list.h"
#include "base/log.h"
#include "node/queue/core.h"

static void on_bucket(struct op *op);

static void prepare(struct adoption *a, unsigned bucket)
{
    a->op = (struct op){.verb = OP_FENCE,
                        .bucket = bucket,
                        .token = bytes_of_text(a->token),
                        .on_done = on_bucket};
    a->op.in.fence.adopts = true;
}

static void on_bucket(struct op *op)
{
    struct adoption *a = CONTAINER_OF(op, struct adoption, op);
    struct core *core = op->core;
    unsigned next = op->bucket + 1;

    if (op->status == STATUS_OK && next < core->store->buckets) {
        prepare(a, next);
        core_send(core, op);
        return;
    }
    if (op->status == STATUS_OK)
        LOG_WARN("queue", "the store is now led with the token '%s': an operator wants it",
                 a->token);
    a->status = op->status;
    a->on_done(a);
}

void adoption_begin(struct adoption *a, struct core *core)
{
    prepare(a, 0);
    core_send(core, &a->op);
}

void adoption_refuse(struct adoption *a, struct core *core, enum status status)
{
    prepare(a, 0);
    core_refuse(core, &a->op, status);
}
