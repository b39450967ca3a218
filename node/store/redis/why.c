#include "node/store/redis/why.h"

#include <stdio.h>
#include <string.h>

#define SAY_AGAIN_MS 60000

void redis_why_set(struct redis_why *w, enum log_level level, const char *name,
                   const char *text, int64_t now_mono_ms)
{
    char why[sizeof(w->text)];

    snprintf(why, sizeof(why), "%s", text);
    for (char *c = why; *c; c++) { /* it goes into JSON, too */
        if (*c < ' ' || *c > '~')
            *c = '?';
    }
    if (strcmp(w->text, why) != 0 || now_mono_ms - w->said_mono_ms >= SAY_AGAIN_MS) {
        LOG_AT(level, "redis", "%s: %s", name, why);
        w->said_mono_ms = now_mono_ms;
    }
    memcpy(w->text, why, sizeof(why));
}
