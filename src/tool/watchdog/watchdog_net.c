/* Connections among watchdogs. The one of higher rank connects, by the addresses of the other's host in turn, for which
   of them lead there depends on the networks. A connection counts once each side has heard the other: one that is given
   up before is no failure. */
#include "../tool.h"
#include "config.h"
#ifdef WISP_HAVE_MPI
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "watchdog_net.h"

enum { SPARE_CALLERS = 64 };
static const double try_seconds = 4, pause_seconds = 0.5, give_up_seconds = 60;

/* ---- this host --------------------------------------------------------------------------------- */

int net_listen(int *port)
{
    struct sockaddr_storage own;
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    struct sockaddr_in four = {.sin_family = AF_INET};
    socklen_t length = sizeof own;
    const int off = 0, kind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    int fd = socket(AF_INET6, kind, 0);
    if (fd >= 0 && (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) ||
                    bind(fd, (struct sockaddr *)&six, sizeof six))) {
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        fd = socket(AF_INET, kind, 0);
        if (fd < 0) return -1;
        if (bind(fd, (struct sockaddr *)&four, sizeof four)) goto failed;
    }
    if (listen(fd, SOMAXCONN) || getsockname(fd, (struct sockaddr *)&own, &length)) goto failed;
    *port = ntohs(own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&own)->sin6_port
                                            : ((struct sockaddr_in *)(void *)&own)->sin_port);
    return fd;
failed:;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Where other hosts may reach this one: by version 4 first. Addresses of a link alone need its name, and are left out.
 */
int net_addresses(watchdog_address *address, int most)
{
    struct ifaddrs *all;
    int n = 0;
    if (getifaddrs(&all)) return 0;
    for (int family = AF_INET; family; family = family == AF_INET ? AF_INET6 : 0)
        for (const struct ifaddrs *a = all; a && n < most; a = a->ifa_next) {
            if (!a->ifa_addr || a->ifa_addr->sa_family != family || !(a->ifa_flags & IFF_UP)) continue;
            if (a->ifa_flags & IFF_LOOPBACK) continue;
            address[n] = (watchdog_address){.family = family};
            if (family == AF_INET) {
                memcpy(address[n++].bytes, &((struct sockaddr_in *)(void *)a->ifa_addr)->sin_addr, 4);
            } else {
                const struct in6_addr *six = &((struct sockaddr_in6 *)(void *)a->ifa_addr)->sin6_addr;
                if (!IN6_IS_ADDR_LINKLOCAL(six)) memcpy(address[n++].bytes, six, 16);
            }
        }
    freeifaddrs(all);
    return n;
}

bool net_make(network *net)
{
    const size_t n = (size_t)net->n;
    net->most_callers = net->n + SPARE_CALLERS;
    net->peer = calloc(n, sizeof *net->peer);
    net->caller = calloc(n + SPARE_CALLERS, sizeof *net->caller);
    net->poll = calloc(2 * n + SPARE_CALLERS + 2, sizeof *net->poll);
    if (!net->peer || !net->caller || !net->poll) return false;
    for (int r = 0; r < net->n; r++) {
        net->peer[r].fd = -1;
        if (r == net->rank || !net->place[r].port) net->peer[r].state = PEER_CLOSED;
    }
    net->began = net->now = wisp_now();
    return true;
}

/* ---- sending ----------------------------------------------------------------------------------- */

static void send_note(network *net, int fd, int r, note x)
{
    x.from = net->rank;
    x.to = r;
    const ssize_t n = send(fd, &x, sizeof x, MSG_NOSIGNAL | MSG_DONTWAIT);
    /* Notes are small and few. If there is no room for one, nobody has read for long; half of one spoils the rest. */
    if (n > 0 && (size_t)n < sizeof x) shutdown(fd, SHUT_RDWR);
}

void net_send(network *net, int r, note x)
{
    const peer *p = &net->peer[r];
    if (p->state == PEER_UP || p->state == PEER_GREETED) send_note(net, p->fd, r, x);
}

void net_send_all(network *net, note x)
{
    for (int r = 0; r < net->n; r++) net_send(net, r, x);
}

void net_shut(network *net, int r)
{
    const peer *p = &net->peer[r];
    if (p->state == PEER_UP || p->state == PEER_GREETED) shutdown(p->fd, SHUT_WR);
}

void net_close(network *net, int r)
{
    peer *p = &net->peer[r];
    if (p->fd >= 0) close(p->fd);
    p->fd = -1;
    p->state = PEER_CLOSED;
}

bool net_pending(const network *net, int r) { return net->peer[r].state < PEER_UP; }

/* ---- connecting -------------------------------------------------------------------------------- */

static void next_address(network *net, int r)
{
    peer *p = &net->peer[r];
    if (p->fd >= 0) close(p->fd);
    *p = (peer){.fd = -1, .address = p->address + 1, .since = net->now};
    if (p->address <= net->place[r].addresses) p->since -= pause_seconds; /* at once */
    if (p->address > net->place[r].addresses) p->address = 0;
}

static void greet(network *net, int r)
{
    note x = {.kind = NOTE_HELLO};
    memcpy(x.key, net->key, sizeof x.key);
    net->peer[r].state = PEER_GREETED;
    send_note(net, net->peer[r].fd, r, x);
}

static void prepare(int fd)
{
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void try_address(network *net, int r)
{
    peer *p = &net->peer[r];
    const watchdog_place *place = &net->place[r];
    const in_port_t port = htons((in_port_t)place->port);
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = port};
    if (p->address == 0 && strcmp(place->host, net->place[net->rank].host) != 0) p->address = 1;
    if (p->address > place->addresses) return next_address(net, r);
    const watchdog_address *a = p->address > 0 ? &place->address[p->address - 1] : NULL;
    const bool is_six = a && a->family == AF_INET6;
    if (is_six)
        memcpy(&six.sin6_addr, a->bytes, 16);
    else if (a)
        memcpy(&four.sin_addr, a->bytes, 4);
    p->fd = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (p->fd < 0) return next_address(net, r);
    prepare(p->fd);
    p->since = net->now;
    p->state = PEER_CONNECTING;
    if (!connect(p->fd, is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four, is_six ? sizeof six : sizeof four))
        greet(net, r);
    else if (errno != EINPROGRESS)
        next_address(net, r);
}

static void connected(network *net, int r)
{
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(net->peer[r].fd, SOL_SOCKET, SO_ERROR, &error, &length) || error)
        next_address(net, r);
    else
        greet(net, r);
}

static void connect_due(network *net)
{
    for (int r = 0; r < net->n; r++) {
        peer *p = &net->peer[r];
        if (p->state >= PEER_UP) continue;
        if (net->now - net->began > give_up_seconds)
            net_close(net, r);
        else if (r > net->rank)
            continue; /* it connects to here */
        else if (p->state == PEER_NONE && net->now - p->since >= pause_seconds)
            try_address(net, r);
        else if (p->state != PEER_NONE && net->now - p->since > try_seconds)
            next_address(net, r);
    }
}

/* ---- receiving --------------------------------------------------------------------------------- */

/* 1: a note is complete; 0: not yet; -1: the connection is lost. */
static int receive(int fd, note *in, size_t *got)
{
    const ssize_t n = recv(fd, (char *)in + *got, sizeof *in - *got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return 0;
    if (n <= 0) return -1;
    *got += (size_t)n;
    if (*got < sizeof *in) return 0;
    *got = 0;
    return 1;
}

static bool has_key(const network *net, const note *x)
{
    unsigned char differs = 0;
    for (int i = 0; i < WATCHDOG_KEY; i++) differs |= x->key[i] ^ net->key[i];
    return !differs;
}

static void lost(network *net, int r)
{
    peer *p = &net->peer[r];
    if (p->state == PEER_UP) {
        net_close(net, r);
        net->event(net->arg, r, NULL);
    } else if (r < net->rank) {
        next_address(net, r);
    } else {
        net_close(net, r);
        p->state = PEER_NONE;
    }
}

static void read_peer(network *net, int r)
{
    peer *p = &net->peer[r];
    for (int there; p->fd >= 0 && (there = receive(p->fd, &p->in, &p->got)) != 0;) {
        if (there < 0) return lost(net, r);
        const note x = p->in;
        if (p->state == PEER_GREETED) {
            const bool well = r < net->rank ? x.kind == NOTE_WELCOME && has_key(net, &x) : x.kind > NOTE_WELCOME;
            if (!well || x.from != r || x.to != net->rank) return lost(net, r);
            p->state = PEER_UP;
        }
        net->event(net->arg, r, &x);
    }
}

static void accept_callers(network *net)
{
    int fd;
    while ((fd = accept4(net->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        if (net->callers == net->most_callers) {
            close(fd);
            continue;
        }
        prepare(fd);
        net->caller[net->callers++] = (caller){.fd = fd, .since = net->now};
    }
    if (errno != EMFILE && errno != ENFILE) return;
    close(net->listener); /* there is no room for more, and poll would not wait */
    net->listener = -1;
}

/* Whether the caller stays one. */
static bool read_caller(network *net, caller *c)
{
    const int there = receive(c->fd, &c->in, &c->got), r = c->in.from;
    if (there == 0) return true;
    const bool well = there > 0 && c->in.kind == NOTE_HELLO && has_key(net, &c->in) && c->in.to == net->rank &&
                      r > net->rank && r < net->n && net->peer[r].state != PEER_UP;
    if (!well) {
        close(c->fd);
        return false;
    }
    note x = {.kind = NOTE_WELCOME};
    memcpy(x.key, net->key, sizeof x.key);
    net_close(net, r); /* an earlier try of its own */
    net->peer[r] = (peer){.fd = c->fd, .state = PEER_GREETED, .since = net->now};
    send_note(net, c->fd, r, x);
    return false;
}

static bool call_expired(const network *net, const caller *c) { return net->now - c->since > 2 * try_seconds; }

bool net_wait(network *net, int control, double seconds)
{
    struct pollfd *f = net->poll;
    nfds_t n = 0;
    const int callers = net->callers;
    connect_due(net);
    f[n++] = (struct pollfd){.fd = control, .events = POLLIN};
    f[n++] = (struct pollfd){.fd = net->listener, .events = POLLIN};
    for (int i = 0; i < callers; i++) f[n++] = (struct pollfd){.fd = net->caller[i].fd, .events = POLLIN};
    for (int r = 0; r < net->n; r++)
        f[n++] =
            (struct pollfd){.fd = net->peer[r].fd, .events = net->peer[r].state == PEER_CONNECTING ? POLLOUT : POLLIN};
    if (poll(f, n, (int)(seconds * 1000) + 1) <= 0)
        for (nfds_t i = 0; i < n; i++) f[i].revents = 0;
    net->now = wisp_now();
    const struct pollfd *of_callers = f + 2, *of_peers = of_callers + callers;
    for (int r = 0; r < net->n; r++)
        if (!of_peers[r].revents || net->peer[r].fd != of_peers[r].fd)
            continue;
        else if (net->peer[r].state == PEER_CONNECTING)
            connected(net, r);
        else
            read_peer(net, r);
    int kept = 0;
    for (int i = 0; i < callers; i++) {
        caller *c = &net->caller[i];
        if (of_callers[i].revents ? !read_caller(net, c) : false) continue;
        if (call_expired(net, c))
            close(c->fd);
        else
            net->caller[kept++] = *c;
    }
    net->callers = kept;
    if (f[1].revents) accept_callers(net);
    return f[0].revents != 0;
}
#endif
