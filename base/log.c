#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/encoding.h"

#define MODULES_MAX 32
#define LINE_MAX_   4096 /* PIPE_BUF: what a pipe takes in one piece */
#define SAFE_MAX_   (LINE_MAX_ - 128)

struct module_level {
    const char *name; /* one of log_modules */
    enum log_level level;
};

const char *const log_modules[] = {
    "access",       /* identities in Redis */
    "admin",        /* the port for operators */
    "app",          /* the worker's start and end */
    "beanstalkd",   /* the beanstalkd port */
    "conf",         /* reading the configuration again */
    "delaytask",    /* the delaytask port */
    "gmq",          /* the gmq port */
    "gmq_web",      /* gmq's web monitor, and its HTTP */
    "ha",           /* who leads */
    "http",         /* the HTTP port */
    "libevent",     /* what the library says */
    "lmstfy",       /* the lmstfy port, */
    "lmstfy_admin", /* and the one for its operators */
    "log",          /* the log itself */
    "loop",         /* that the process stood still */
    "mykit",        /* the mykit port */
    "ouqiang",      /* the ouqiang port */
    "queue",        /* the engine */
    "reconciler",   /* mending what is in the wrong place */
    "redis",        /* our links to Redis */
    "redis-server", /* what the embedded Redis says */
    "scanner",      /* moving what is due */
    "socket",       /* the operators' socket */
    "tls",          /* certificates of the ports */
    "vip",          /* the virtual address */
    "waiters",      /* consumers that wait */
    "warden",       /* processes: started, watched, stopped */
    "zookeeper",    /* our sessions */
    NULL,
};

static const char *const level_words[] = {"debug", "info", "warn", "error"};

static struct {
    enum log_level level;
    struct module_level modules[MODULES_MAX];
    unsigned module_count;
    bool json;
    char *file;
    int fd;
} out = {.level = LEVEL_INFO, .fd = STDERR_FILENO};

bool log_level_parse(const char *word, enum log_level *level)
{
    for (unsigned i = 0; i < sizeof(level_words) / sizeof(*level_words); i++) {
        if (!strcmp(word, level_words[i])) {
            *level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

/* NULL: there is none. */
static const char *find_module(const char *at, size_t len)
{
    const char *const *name = log_modules;

    while (*name && (strlen(*name) != len || memcmp(*name, at, len) != 0))
        name++;
    return *name;
}

/* "name=level" of `len` characters. */
static bool parse_module(const char *at, size_t len, struct module_level *module)
{
    const char *equals = memchr(at, '=', len);
    char word[8];
    size_t word_len;

    if (!equals)
        return false;
    module->name = find_module(at, (size_t)(equals - at));
    word_len = len - (size_t)(equals - at) - 1;
    if (!module->name || word_len >= sizeof(word))
        return false;
    memcpy(word, equals + 1, word_len);
    word[word_len] = '\0';
    return log_level_parse(word, &module->level);
}

/* Returns how many modules were read into `into`, -1 when the text is wrong. */
static int parse_modules(const char *text, struct module_level *into)
{
    int count = 0;

    while (text && *text) {
        size_t len = strcspn(text, ",");

        if (count == MODULES_MAX || !parse_module(text, len, &into[count]))
            return -1;
        count++;
        text += len;
        text += *text == ',';
    }
    return count;
}

bool log_modules_are_valid(const char *modules)
{
    struct module_level parsed[MODULES_MAX];

    return parse_modules(modules, parsed) >= 0;
}

/* Root follows links of its own, not links that others may have planted. O_NONBLOCK: opening a
 * pipe that nobody reads fails instead of blocking. */
static int open_now(const char *file)
{
    int how = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK;
    struct stat about;
    int fd = open(file, how | O_NOFOLLOW, 0640);

    if (fd >= 0 || errno != ELOOP || lstat(file, &about))
        return fd;
    if (geteuid() == 0 && about.st_uid != 0) {
        errno = ELOOP;
        return -1;
    }
    return open(file, how, 0640);
}

int log_open(const char *file)
{
    int fd = open_now(file);

    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, O_APPEND); /* a write may wait for its reader */
    return fd;
}

static void use_fd(int fd)
{
    if (out.fd != STDERR_FILENO)
        close(out.fd);
    out.fd = fd;
}

enum status log_configure(const struct log_options *options)
{
    struct module_level parsed[MODULES_MAX];
    int count = parse_modules(options->modules, parsed);
    bool to_file = options->file && *options->file;
    int fd = STDERR_FILENO;
    char *file = NULL;

    if (count < 0)
        return STATUS_BAD_CONFIG;
    if (to_file) {
        fd = log_open(options->file);
        if (fd < 0)
            return STATUS_IO_ERROR;
        file = must(strdup(options->file));
    }
    use_fd(fd);
    free(out.file);
    out.file = file;
    out.level = options->level;
    out.json = options->json;
    memcpy(out.modules, parsed, sizeof(*parsed) * (size_t)count);
    out.module_count = (unsigned)count;
    return STATUS_OK;
}

void log_reopen(void)
{
    int fd;

    if (!out.file)
        return;
    fd = log_open(out.file);
    if (fd < 0) {
        LOG_ERROR("log", "cannot reopen %s: %s; going on with the old file", out.file,
                  strerror(errno));
        return;
    }
    use_fd(fd);
    LOG_INFO("log", "reopened %s", out.file);
}

bool log_is_on(enum log_level level, const char *module)
{
    for (unsigned i = 0; i < out.module_count; i++) {
        if (!strcmp(out.modules[i].name, module))
            return level >= out.modules[i].level;
    }
    return level >= out.level;
}

void log_print_time(char to[LOG_TIME_MAX])
{
    int64_t now_ms = clock_wall_ms();
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm tm;
    size_t len;

    gmtime_r(&seconds, &tm);
    len = strftime(to, LOG_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(to + len, LOG_TIME_MAX - len, ".%03dZ", (int)(now_ms % 1000));
}

/* The length of the character at `at` when it may be shown as it is, else 0. Terminals obey the
 * control characters of Latin-1 as well. The NUL behind the text ends a character that is cut.
 */
static size_t plain_length(const unsigned char *at)
{
    bool is_control = *at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);

    return is_control ? 0 : utf8_length(at, 4);
}

/* A message may quote a client's bytes: control characters and invalid UTF-8 are escaped. In
 * JSON an invalid byte becomes the character of that number. */
static void escape(char *to, size_t room, const char *text, bool json)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t len = 0;

    while (*at && len + 7 < room) {
        size_t plain = plain_length(at);

        if (json && (*at == '"' || *at == '\\'))
            to[len++] = '\\';
        if (!plain)
            len += (size_t)snprintf(to + len, room - len, json ? "\\u%04x" : "\\x%02x", *at++);
        for (; plain; plain--)
            to[len++] = (char)*at++;
    }
    to[len] = '\0';
}

void log_write(enum log_level level, const char *module, const char *format, ...)
{
    char message[LINE_MAX_ / 2], safe[SAFE_MAX_], line[LINE_MAX_], when[LOG_TIME_MAX];
    va_list args;
    int len, saved_errno = errno;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    escape(safe, sizeof(safe), message, out.json);
    log_print_time(when);
    len = snprintf(line, sizeof(line),
                   out.json ? "{\"time\":\"%s\",\"level\":\"%s\",\"module\":\"%.24s\","
                              "\"pid\":%d,\"message\":\"%s\"}\n"
                            : "%s %-5s %-8.24s [%d] %s\n",
                   when, level_words[level], module, (int)getpid(), safe);
    assert(len > 0 && len < LINE_MAX_);
    if (write(out.fd, line, (size_t)len) < 0) {
        /* Nowhere left to say it. */
    }
    errno = saved_errno;
}
