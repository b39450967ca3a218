#include "ha/rule/control.h"

#include "ha/rule/record.h"

void control_parse(struct control *c, struct bytes text)
{
    *c = (struct control){.is_paused = record_get_flag(text, "paused"),
                          .is_forced = record_get_flag(text, "force")};
    if (c->is_paused) {
        (void)record_get_text(text, "paused_by", c->paused_by, sizeof(c->paused_by));
        (void)record_get_number(text, "paused_at", &c->paused_at_wall_ms);
    }
    (void)record_get_text(text, "wanted", c->wanted, sizeof(c->wanted));
    (void)record_get_text(text, "by", c->by, sizeof(c->by));
    (void)record_get_number(text, "at", &c->at_wall_ms);
}

void control_print(const struct control *c, struct buf *text)
{
    record_add(text, "paused", c->is_paused ? "yes" : "no");
    if (c->is_paused && c->paused_by[0]) {
        record_add(text, "paused_by", c->paused_by);
        record_add_number(text, "paused_at", c->paused_at_wall_ms);
    }
    if (!c->wanted[0])
        return;
    record_add(text, "wanted", c->wanted);
    record_add_number(text, "at", c->at_wall_ms);
    record_add(text, "force", c->is_forced ? "yes" : "no");
    record_add(text, "by", c->by);
}

bool control_has_request(const struct control *c, int64_t now_wall_ms)
{
    return c->wanted[0] && c->at_wall_ms <= now_wall_ms;
}

void control_clear_request(struct control *c)
{
    c->wanted[0] = c->by[0] = '\0';
    c->at_wall_ms = 0;
    c->is_forced = false;
}
