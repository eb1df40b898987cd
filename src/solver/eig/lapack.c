/* LAPACK: the program's (wisp_set_lapack), or else a library that is loaded when it is first needed, and not before:
   its libraries start threads of their own as they are loaded, which runs without small dense problems can do without.
 */
#include "dense.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    wisp_find_fn find; /* NULL: the library's own search */
    wisp__lapack_fn get_threads, set_threads;
} lapack;

static void *library;
static lapack own;   /* by `library`; given.find goes before it */
static lapack given; /* is changed while there are no users alone */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static int users, threads; /* calls under way; OpenBLAS's threads before the first of them */

static wisp__lapack_fn function(void *address)
{
    wisp__lapack_fn fn;
    memcpy(&fn, &address, sizeof fn);
    return fn;
}

static void load(void)
{
    static const char *const name[] = {"liblapack.so.3", "libopenblas.so.0", "liblapack.so", "libopenblas.so"};
    for (size_t i = 0; !library && i < sizeof name / sizeof *name; i++)
        library = dlopen(name[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    own.get_threads = function(dlsym(library, "openblas_get_num_threads"));
    own.set_threads = function(dlsym(library, "openblas_set_num_threads"));
}

/* Within wisp__lapack_alone, which keeps `given` as it is. */
static const lapack *in_use(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (given.find) return &given;
    pthread_once(&once, load);
    return &own;
}

void wisp_set_lapack(wisp_find_fn find)
{
    lapack l = {.find = find};
    if (find) {
        l.get_threads = function(find("openblas_get_num_threads"));
        l.set_threads = function(find("openblas_set_num_threads"));
    }
    pthread_mutex_lock(&lock);
    while (users > 0) pthread_cond_wait(&idle, &lock);
    given = l;
    pthread_mutex_unlock(&lock);
}

void wisp__lapack_alone(bool begin)
{
    pthread_mutex_lock(&lock);
    users += begin;
    const lapack *l = in_use();
    if (l->get_threads && l->set_threads && begin && users == 1) {
        threads = ((int (*)(void))l->get_threads)();
        ((void (*)(int))l->set_threads)(1);
    } else if (l->get_threads && l->set_threads && !begin && users == 1) {
        ((void (*)(int))l->set_threads)(threads);
    }
    users -= !begin;
    if (users == 0) pthread_cond_broadcast(&idle);
    pthread_mutex_unlock(&lock);
}

wisp__lapack_fn wisp__lapack(wisp_ctx *ctx, const char *name)
{
    char symbol[32];
    const lapack *l = in_use();
    if (!l->find && !library) {
        wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                       "eigenvalues of small matrices need LAPACK: install liblapack3, or give one (wisp_set_lapack)");
        return NULL;
    }
    snprintf(symbol, sizeof symbol, "%s_", name);
    const wisp__lapack_fn fn = function(l->find ? l->find(name) : dlsym(library, symbol));
    if (!fn)
        wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "eigenvalues of small matrices need LAPACK's %s, which %s", name,
                       l->find ? "the program's LAPACK (wisp_set_lapack) has not"
                               : "the LAPACK of this machine has not");
    return fn;
}

wisp_status wisp__lapack_alloc(wisp_ctx *ctx, double **array, size_t count, int rows)
{
    return wisp_alloc(ctx, array, count + 2 * (size_t)rows, sizeof **array);
}
