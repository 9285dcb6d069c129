/*
 * Names and their values at the process manager, as PMI_Publish_name and its siblings.  Included by
 * simple_pmi_adapt.h.
 *
 * Differences from these: they work while this process is in a barrier, and with process managers
 * that reply info=ok instead of rc=0, as PMI's first implementations (Slurm's plugin pmi2).  A text
 * that does not fit into a line is refused, because the process manager would wait for its end.
 *
 * PMIU_Adapt_*_name are for names of the program, which may contain any characters: those that
 * would end a value in PMI's lines are written as %XX.  If permitted, they make progress while they
 * wait, which may take 30 s in a job of elasticd.
 */

#ifndef SIMPLE_PMI_NAMES_H_INCLUDED
#define SIMPLE_PMI_NAMES_H_INCLUDED

/* The result of a reply, whose values can be read afterwards. 0: success; 1: the process manager
 * refuses the query; -1: error. */
static int result_of(char answer[PMIU_MAXLINE])
{
    char text[PMIU_MAXLINE] = "";

    if (PMIU_parse_keyvals(answer) < 0)
        return -1;
    bool has_code = PMIU_getval("rc", text, sizeof(text)) != NULL;
    if (has_code && !strcmp(text, "0"))
        return 0;
    text[0] = 0;
    PMIU_getval("info", text, sizeof(text));
    return strcmp(text, "ok") ? -1 : has_code ? 1 : 0;
}

/* Sends the line and reads the reply.  Returns as result_of. */
static int request_name(const char *line, int length, const char *expected, bool progresses)
{
    char answer[PMIU_MAXLINE];
    struct awaited_reply mine = {.result = expected,.is_name = true,.line = answer };

    if (PMI_initialized <= SINGLETON_INIT_BUT_NO_PM || length < 0 || length >= PMIU_MAXLINE ||
        await_turn(&mine, progresses) || PMIU_Adapt_send(line, length) ||
        await_reply(&mine, progresses))
        return -1;
    return result_of(answer);
}

static const char lookup_result[] = "cmd=lookup_result";

static int publish_text(const char *name, const char *value, bool progresses)
{
    char line[PMIU_MAXLINE];
    int length = snprintf(line, sizeof(line), "cmd=publish_name service=%s port=%s\n", name, value);

    return request_name(line, length, "cmd=publish_result", progresses);
}

/* `value` has `bytes` bytes.  0, or -1. */
static int lookup_text(const char *name, char *value, int bytes, bool progresses)
{
    char line[PMIU_MAXLINE];
    int length = snprintf(line, sizeof(line), "cmd=lookup_name service=%s\n", name);

    if (request_name(line, length, lookup_result, progresses) != 0 ||
        !PMIU_getval("port", value, bytes))
        return -1;
    return 0;
}

/* An existing value does not change. */
int PMIU_Adapt_publish(const char *name, const char *value)
{
    return publish_text(name, value, false) < 0 ? -1 : 0;
}

int PMIU_Adapt_lookup(const char *name, char *value)
{
    return lookup_text(name, value, MPI_MAX_PORT_NAME, false);
}

/* ---- names of the program -------------------------------------------------------------------- */

/* Writes the text with %XX.  False: it does not fit.  An empty text is written as one end
 * character. */
static bool write_text(const char *text, char written[PMIU_MAXLINE])
{
    int used = 0;

    if (!*text)
        used = snprintf(written, PMIU_MAXLINE, "%%00");
    for (; *text; text++) {
        unsigned char c = (unsigned char) *text;
        if (used + 4 > PMIU_MAXLINE)
            return false;
        used += snprintf(written + used, PMIU_MAXLINE - used, c > ' ' && c < 0x7f &&
                         c != '%' ? "%c" : "%%%02X", c);
    }
    return true;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads such a text.  False: it is malformed, or has `bytes` or more characters. */
static bool read_text(const char *written, char *text, int bytes)
{
    int used = 0;

    for (; *written && used < bytes; written++) {
        int high = 0, low = (unsigned char) *written;
        if (*written == '%') {
            high = digit_of(written[1]);
            low = high < 0 ? -1 : digit_of(written[2]);
            if (low < 0)
                return false;
            written += 2;
        }
        text[used++] = (char) (16 * high + low);
    }
    if (*written || used == bytes)
        return false;
    text[used] = '\0';
    return true;
}

int PMIU_Adapt_publish_name(const char *name, const char *port, bool progresses)
{
    char written[PMIU_MAXLINE], value[PMIU_MAXLINE];

    if (!write_text(name, written) || !write_text(port, value) ||
        publish_text(written, value, progresses) != 0)
        return -1;
    return 0;
}

int PMIU_Adapt_unpublish_name(const char *name, bool progresses)
{
    char line[PMIU_MAXLINE], written[PMIU_MAXLINE];

    if (!write_text(name, written))
        return -1;
    int length = snprintf(line, sizeof(line), "cmd=unpublish_name service=%s\n", written);
    return request_name(line, length, "cmd=unpublish_result", progresses) == 0 ? 0 : -1;
}

int PMIU_Adapt_withdraw_name(const char *name, const char *port)
{
    char line[PMIU_MAXLINE], written[PMIU_MAXLINE], value[PMIU_MAXLINE] = "";

    if (!write_text(name, written) || (port && !write_text(port, value)))
        return -1;
    int length =
        snprintf(line, sizeof(line), "cmd=adapt_withdraw service=%s%s%s\n", written,
                 port ? " port=" : "", value);
    return length < PMIU_MAXLINE ? PMIU_Adapt_send(line, length) : -1;
}

int PMIU_Adapt_lookup_name(const char *name, char *port, bool progresses)
{
    char written[PMIU_MAXLINE], value[PMIU_MAXLINE];

    if (!write_text(name, written) || lookup_text(written, value, sizeof(value), progresses) != 0)
        return -1;
    return read_text(value, port, MPI_MAX_PORT_NAME) ? 0 : -1;
}

/* ---- lookups in steps, of which none waits --------------------------------------------------- */

/* The lookup that is under way. */
static struct {
    bool is_asked;
    const void *owner;          /* NULL: the reply is no longer needed */
    struct awaited_reply reply;
    char answer[PMIU_MAXLINE];
} step;

/* 0, or -1: the connection is broken. */
static int read_lines(void)
{
    char line[PMIU_MAXLINE];

    while (step.is_asked && !step.reply.has_come && line_has_come(0)) {
        if (PMIU_readline(PMI_fd, line, sizeof(line)) <= 0)
            return -1;
        (void) note_line(line);
    }
    return 0;
}

static void end_step(void)
{
    end_await(&step.reply);
    step.is_asked = false;
}

static int begin_step(const void *owner, const char *name)
{
    char line[PMIU_MAXLINE], written[PMIU_MAXLINE];

    if (PMI_initialized <= SINGLETON_INIT_BUT_NO_PM || !write_text(name, written))
        return -1;
    int length = snprintf(line, sizeof(line), "cmd=lookup_name service=%s\n", written);
    if (length >= PMIU_MAXLINE || PMIU_Adapt_send(line, length))
        return -1;
    step.is_asked = true;
    step.owner = owner;
    step.reply = (struct awaited_reply) {.result = lookup_result,.is_name = true,
                                         .line = step.answer };
    begin_await(&step.reply);
    return 1;
}

int PMIU_Adapt_step_lookup(const void *owner, const char *name, char *port)
{
    const struct awaited_reply any = {.is_name = true };
    char value[PMIU_MAXLINE];

    if (read_lines() != 0) {
        end_step();
        return -1;
    }
    if (step.is_asked && step.reply.has_come && step.owner == owner) {
        end_step();
        if (result_of(step.answer) != 0 || !PMIU_getval("port", value, sizeof(value)))
            return -1;
        return read_text(value, port, MPI_MAX_PORT_NAME) ? 0 : -1;
    }
    if (step.is_asked && step.reply.has_come && !step.owner)
        end_step();
    return step.is_asked || is_awaited(&any) ? 1 : begin_step(owner, name);
}

void PMIU_Adapt_forget_lookup(const void *owner)
{
    if (step.owner == owner)
        step.owner = NULL;
}

#endif /* SIMPLE_PMI_NAMES_H_INCLUDED */
