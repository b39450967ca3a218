/* Log lines: a level, a module, a sentence. Text for people or JSON lines for programs.
 *
 *   LOG_INFO("scanner", "took over %u buckets", n);
 *
 * Log once, where the decision is made. Never log a body, a password or a secret. One line
 * is one write(2), so lines of several processes to one file do not mix. The process id is
 * in each line, because warden and worker share the output.
 */
#ifndef DUEQ_BASE_LOG_H
#define DUEQ_BASE_LOG_H

#include <stdbool.h>

#include "base/status.h"

enum log_level { LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR };

struct log_options {
    enum log_level level;
    const char *modules; /* "scanner=debug,gmq=warn", or "" */
    bool json;
    const char *file; /* NULL or "": standard error */
};

/* Copies the options. Before the first call: level info, text, standard error.
 * IO_ERROR when the file cannot be opened (errno says why): the old output stays. */
enum status log_configure(const struct log_options *options) MUST_CHECK;

/* Opens the file anew after a rotation. On failure the old file stays open and a line says so.
 */
void log_reopen(void);

/* A file for lines, as log.file is opened: made with mode 0640, less the umask, where there is
 * none; a process of root follows only links of root's. -1: errno says why. */
int log_open(const char *file);

/* The time now, as lines have it: RFC 3339, UTC, with milliseconds. */
#define LOG_TIME_MAX 40
void log_print_time(char to[LOG_TIME_MAX]);

/* "debug", "info", "warn" or "error"; false for any other word. */
bool log_level_parse(const char *word, enum log_level *level);

/* All modules that log lines may name, ended by NULL. To add a module: a line in log.c and a
 * line in dueq.yaml; tools/check_log_modules.py compares both with the source. */
extern const char *const log_modules[];

/* Can `modules` be given to log_configure? */
bool log_modules_are_valid(const char *modules);

bool log_is_on(enum log_level level, const char *module);

void log_write(enum log_level level, const char *module, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define LOG_AT(level, module, ...)                 \
    do {                                           \
        if (log_is_on(level, module))              \
            log_write(level, module, __VA_ARGS__); \
    } while (0)

#define LOG_DEBUG(module, ...) LOG_AT(LEVEL_DEBUG, module, __VA_ARGS__)
#define LOG_INFO(module, ...)  LOG_AT(LEVEL_INFO, module, __VA_ARGS__)
#define LOG_WARN(module, ...)  LOG_AT(LEVEL_WARN, module, __VA_ARGS__)
#define LOG_ERROR(module, ...) LOG_AT(LEVEL_ERROR, module, __VA_ARGS__)

#endif
