/* A process makes its watchdog, and tells it what it must know. */
#include "../tool.h"
#include "config.h"
#ifdef WISP_HAVE_MPI
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "watchdog_net.h"

/* So that ps does not show two of each process. The arguments are the child's own copy. */
static void rename_self(int argc, char **argv)
{
    if (argc < 1) return;
    const size_t room = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);
    memset(argv[0], 0, room);
    snprintf(argv[0], room + 1, "wisp-watchdog");
    prctl(PR_SET_NAME, "wisp-watchdog");
}

static int make(watchdog *w, watchdog_place *place, int argc, char **argv)
{
    int pair[2], listener = -1, port = 0, error = 0;
    const struct timeval patience = {.tv_sec = 5}; /* should it be stopped */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return errno;
    if ((listener = net_listen(&port)) < 0 || (w->pid = fork()) < 0) {
        error = errno;
        if (listener >= 0) close(listener);
        close(pair[0]);
        close(pair[1]);
        w->pid = 0;
        return error;
    }
    if (w->pid == 0) {
        rename_self(argc, argv);
        watchdog_run(pair[1], listener);
    }
    close(pair[1]);
    close(listener);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    w->fd = pair[0];
    place->port = port;
    /* Where a process computes, its watchdog watches: nobody who looks for it has to wait. */
    char there;
    while (recv(pair[0], &there, 1, 0) < 0 && errno == EINTR) {}
    return 0;
}

void watchdog_make(watchdog *w, watchdog_place *place, int argc, char **argv)
{
    *w = (watchdog){0};
    *place = (watchdog_place){0};
    gethostname(place->host, sizeof place->host - 1);
    place->addresses = net_addresses(place->address, WATCHDOG_ADDRESSES);
    place->error = make(w, place, argc, argv);
}

static void put(watchdog *w, const void *data, size_t bytes)
{
    for (const char *at = data; w->pid && bytes > 0;) {
        const ssize_t n = send(w->fd, at, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return; /* it is gone, which the others notice */
        at += n;
        bytes -= (size_t)n;
    }
}

void watchdog_start(watchdog *w, const watchdog_place *place, int n, int rank, const unsigned char key[WATCHDOG_KEY])
{
    tell x = {.kind = TELL_START, .n = n, .rank = rank, .seconds = WATCHDOG_USUAL};
    memcpy(x.key, key, sizeof x.key);
    put(w, &x, sizeof x);
    put(w, place, (size_t)n * sizeof *place);
}

void watchdog_set(watchdog *w, double seconds, bool as_json)
{
    const tell x = {.kind = TELL_SET, .seconds = seconds, .as_json = as_json};
    if (seconds > 0)
        put(w, &x, sizeof x);
    else
        watchdog_end(w);
}

void watchdog_said(watchdog *w)
{
    const tell x = {.kind = TELL_SAID};
    put(w, &x, sizeof x);
}

void watchdog_end(watchdog *w)
{
    const double patience = 3; /* seconds; it takes one where others do not answer */
    const tell x = {.kind = TELL_END};
    if (!w->pid) return;
    put(w, &x, sizeof x);
    const double until = wisp_now() + patience;
    struct pollfd end = {.fd = w->fd, .events = POLLIN};
    for (double left; (left = until - wisp_now()) > 0 && poll(&end, 1, (int)(left * 1000) + 1) < 0 && errno == EINTR;) {
    }
    if (!end.revents) kill(w->pid, SIGKILL);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR) {}
    close(w->fd);
    w->pid = 0;
}
#endif
