/* Pictures by gnuplot: the script and the picture pass through memory, so gnuplot itself writes no file. */
#include "../system.h"
#include "out.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static bool has_gnuplot(void)
{
    const char *path = getenv("PATH");
    char program[4096];
    while (path && *path) {
        size_t n = strcspn(path, ":");
        snprintf(program, sizeof program, "%.*s/gnuplot", (int)n, path);
        if (n && !access(program, X_OK)) return true;
        path += n + (path[n] == ':');
    }
    return false;
}

int plot_check(tool *t)
{
    if (wisp_ctx_rank(t->ctx) > 0 || has_gnuplot()) return tool_agree(t, EXIT_FINE);
    return tool_agree(t, tool_fail(t, "--plot needs gnuplot, which was not found (Debian: gnuplot-nox)"));
}

/* Text in gnuplot's single quotes, without control characters, cut when it is very long. */
void plot_quote(FILE *f, const char *text)
{
    enum { LONGEST = 100 };
    size_t length = strlen(text);
    fputc('\'', f);
    if (length > LONGEST) fputs("...", f), text += length - LONGEST;
    while (((unsigned char)*text & 0xc0) == 0x80) text++; /* not from the middle of a UTF-8 character */
    for (; *text; text++) {
        if (*text == '\'') fputc('\'', f);
        fputc((unsigned char)*text < 32 ? '?' : *text, f);
    }
    fputc('\'', f);
}

void plot_title(FILE *f, int room, const char *matrix, const char *const *line)
{
    double up = 1.2 * room - 0.2;
    fprintf(f, "set tmargin %d\nset label 1 ", room + 2);
    plot_quote(f, wisp_matrix_name(matrix));
    fprintf(f, " at graph 0,1 left offset 0,%.1f\n", up);
    for (int i = 0; line[i]; i++)
        fprintf(f, "set label %d '%s' at graph 0,1 left offset 0,%.1f textcolor rgb '#505050'\n", i + 2, line[i],
                up -= 1.2);
}

void plot_begin(FILE *f, const char *path, double wide, double high)
{
    if (has_extension(path, "svg"))
        fprintf(f,
                "set terminal svg size %.0f,%.0f noenhanced font 'Helvetica,Arial,sans-serif,16' background rgb "
                "'white'\n",
                1000 * wide, 600 * high);
    else if (has_extension(path, "png"))
        fprintf(f, "set terminal pngcairo size %.0f,%.0f noenhanced font 'Sans,20' linewidth 1.6\n", 1600 * wide,
                960 * high);
    else
        fprintf(f, "set terminal pdfcairo size %.3gin,%.3gin noenhanced font 'Sans,11'\n", 7 * wide, 4.2 * high);
    fputs("set encoding utf8\nset border 3 lc rgb '#404040'\nset tics nomirror out textcolor rgb '#202020'\n"
          "set grid lc rgb '#e2e2e2' lt 1 lw 1\nset key noautotitle\n",
          f);
}

void plot_range(FILE *f, char axis, double low, double high)
{
    const double size = fmax(fabs(low), fabs(high)), beside = size > 0 ? 0.05 * size : 1;
    if (!(high - low > 1e-12 * size)) low -= beside, high += beside;
    fprintf(f, "set %crange [%.17g:%.17g] noextend\n", axis, low, high);
}

const char *plot_color(int64_t i)
{
    static const char *const colors[] = {"#1f4e9c", "#d1495b", "#2e8b57", "#e08e0b", "#7b4fa3", "#12939a", "#8c6d46"};
    return colors[i % (int64_t)(sizeof colors / sizeof colors[0])];
}

/* All that an unnamed file holds, ended by a 0. */
static char *read_all(int fd, size_t *size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    char *data = end < 0 ? NULL : malloc((size_t)end + 1);
    if (!data) return NULL;
    *size = 0;
    while (*size < (size_t)end) {
        ssize_t n = pread(fd, data + *size, (size_t)end - *size, (off_t)*size);
        if (n <= 0) break;
        *size += (size_t)n;
    }
    data[*size] = '\0';
    return data;
}

/* Starts gnuplot on three files that have no name; 0 or an errno. A limit of file sizes, which is no signal to us, ends
   it: by its exit status alone a picture that was cut could pass. */
static int start_gnuplot(const int fd[3], pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t how;
    sigset_t usual;
    char *const argv[] = {"gnuplot", "-d", NULL};
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    if (!(error = posix_spawnattr_init(&how))) {
        sigemptyset(&usual);
        sigaddset(&usual, SIGXFSZ);
        posix_spawnattr_setsigdefault(&how, &usual);
        /* Ctrl-C of a terminal is for this process, which ends gnuplot if it ends the run. */
        posix_spawnattr_setpgroup(&how, 0);
        posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
        for (int i = 0; i < 3; i++) posix_spawn_file_actions_adddup2(&actions, fd[i], i);
        error = posix_spawnp(pid, "gnuplot", &actions, &how, argv, environ);
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Its exit status, or -1. It is ended when the run is stopped. (A wait without end could miss a signal that comes just
   before it.) */
static int run_gnuplot(const tool *t, const int fd[3])
{
    pid_t pid, ended;
    int status = -1;
    if (start_gnuplot(fd, &pid)) return -1;
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
        if (tool_is_stopped(t)) kill(pid, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The line of gnuplot's complaint that says most: its last one. */
static char *complaint(char *text)
{
    size_t n = strlen(text);
    while (n && strchr(" \t\r\n", text[n - 1])) text[--n] = '\0';
    char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    return *line ? line : "it gave no reason";
}

int plot_run(tool *t, plot_script_fn *write, const void *arg, const char *path, char **data, size_t *size)
{
    int fd[3], rc = EXIT_FINE;
    char *said = NULL;
    size_t n;
    *data = NULL;
    if (tool_is_stopped(t)) return tool_stopped(t);
    for (int i = 0; i < 3; i++) fd[i] = system_memory_file();
    FILE *f = fd[0] < 0 ? NULL : fdopen(dup(fd[0]), "w");
    if (!f || fd[1] < 0 || fd[2] < 0) {
        rc = tool_fail(t, "cannot draw %s: %s", path, strerror(errno));
    } else {
        write(t, arg, f, path);
        const int error = fflush(f) || lseek(fd[0], 0, SEEK_SET) < 0 ? errno : 0;
        const int status = error ? -1 : run_gnuplot(t, fd);
        said = read_all(fd[2], &n);
        *data = read_all(fd[1], size);
        if (tool_is_stopped(t))
            rc = tool_stopped(t);
        else if (error)
            rc = tool_fail(t, "cannot draw %s: %s", path, strerror(error));
        else if (status || !*data || !*size)
            rc = tool_fail(t, "gnuplot failed to draw %s: %s", path, said ? complaint(said) : "out of memory");
    }
    if (f) fclose(f);
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0) close(fd[i]);
    free(said);
    return rc;
}
