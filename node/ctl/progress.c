#include "node/ctl/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "node/ctl/text.h"

#define SHOW_AFTER_MS 2000
#define SHOW_EACH_MS  200

void progress_init(struct progress *p, const char *what)
{
    *p = (struct progress){
        .what = what, .is_shown = isatty(STDERR_FILENO), .begin_ms = clock_mono_ms()};
}

void progress_show(struct progress *p, int64_t done, int64_t total)
{
    int64_t now_ms = clock_mono_ms();
    int64_t took_ms = now_ms - p->begin_ms;
    struct buf text = BUF_INIT;

    if (!p->is_shown || took_ms < SHOW_AFTER_MS || now_ms - p->shown_ms < SHOW_EACH_MS)
        return;
    p->shown_ms = now_ms;
    text_number(&text, done, true);
    if (total) {
        buf_add_text(&text, " of ");
        text_number(&text, total, true);
    }
    buf_printf(&text, " %s, ", p->what);
    text_number(&text, done * 1000 / took_ms, true);
    fprintf(stderr, "\r%s/s\033[K", buf_text(&text));
    buf_fini(&text);
}

void progress_wipe(struct progress *p)
{
    if (p->shown_ms)
        fputs("\r\033[K", stderr);
}
