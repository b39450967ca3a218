#include "node/queue/history_events.h"

static bool tell_push(const struct op *op, struct history_item *item)
{
    item->event = EVENT_PUSHED;
    item->id = op->out.push.id;
    item->at_ms = op->out.push.due_ms;
    return !op->out.push.existed || op->in.push.mode == PUSH_REPLACE;
}

static bool tell_ack(const struct op *op, struct history_item *item)
{
    item->event = EVENT_ACKED;
    return true;
}

static bool tell_release(const struct op *op, struct history_item *item)
{
    item->death = op->out.change.death;
    item->event = item->death == DEATH_NONE ? EVENT_RELEASED : EVENT_DIED;
    item->at_ms = op->out.change.due_ms;
    item->tries = op->out.change.tries;
    return true;
}

static bool tell_touch(const struct op *op, struct history_item *item)
{
    item->event = EVENT_TOUCHED;
    item->at_ms = op->out.change.deadline_ms;
    return true;
}

static bool tell_bury(const struct op *op, struct history_item *item)
{
    item->event = EVENT_DIED;
    item->death = DEATH_BURIED;
    item->tries = op->out.change.tries;
    return true;
}

static bool tell_cancel(const struct op *op, struct history_item *item)
{
    item->event = EVENT_CANCELLED;
    return true;
}

static bool tell_move(const struct op *op, struct history_item *item)
{
    item->event = EVENT_MOVED;
    item->at_ms = op->out.change.due_ms;
    return !op->out.change.stays;
}

static bool tell_repair(const struct op *op, struct history_item *item)
{
    item->event = EVENT_REPAIRED;
    return op->out.repair.damage != DAMAGE_NONE && op->id.len > 0;
}

static bool (*const tell[OP_COUNT])(const struct op *op, struct history_item *item) = {
    [OP_PUSH] = tell_push,   [OP_ACK] = tell_ack,       [OP_RELEASE] = tell_release,
    [OP_TOUCH] = tell_touch, [OP_BURY] = tell_bury,     [OP_CANCEL] = tell_cancel,
    [OP_MOVE] = tell_move,   [OP_REPAIR] = tell_repair,
};

bool history_event_of(const struct op *op, struct history_item *line)
{
    return tell[op->verb] && tell[op->verb](op, line);
}

bool history_event_of_replaced(const struct op *op, struct history_item *line)
{
    if (op->verb != OP_PUSH || !op->out.push.existed)
        return false;
    line->event = EVENT_REPLACED;
    line->id = op->out.push.id;
    return true;
}
