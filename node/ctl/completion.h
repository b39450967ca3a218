/* Scripts that teach a shell the commands and options, made of the tables, on stdout. */
#ifndef DUEQ_NODE_CTL_COMPLETION_H
#define DUEQ_NODE_CTL_COMPLETION_H

struct command;
struct option_row;

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);

/* The words with a blank between them; NULL behind the last. */
void completion_words(const char *const *words);

/* The names with `end` behind each, and a blank in front. */
void completion_settings(const struct option_row *rows, const char *end);

/* What a command's word may be, each behind a blank. */
void completion_choices(const struct command *command);

#endif
