/* The devices that there are. */
#include "backend.h"
#include <stdio.h>

/* CUDA and OpenCL last: to look for their devices their drivers are loaded. */
static const wisp__backend *const all[] = {&wisp__backend_cpu, &wisp__backend_far, &wisp__backend_plain,
                                           &wisp__backend_cuda, &wisp__backend_opencl};

const wisp__backend *wisp__device(int i, wisp_device *device)
{
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        for (int number = 0;; number++) {
            *device = (wisp_device){.number = number};
            if (!all[k]->describe(device)) break;
            snprintf(device->name, sizeof device->name, number ? "%s:%d" : "%s", all[k]->name, number);
            if (i-- == 0) return all[k];
        }
    return NULL;
}

int wisp_device_info(int i, wisp_device *device)
{
    wisp_device d;
    const bool there = i >= 0 && wisp__device(i, &d);
    if (there && device) *device = d;
    return there;
}

int wisp_device_find(const char *name)
{
    wisp_device d;
    char numbered[sizeof d.name];
    for (int i = 0; name; i++) {
        const wisp__backend *backend = wisp__device(i, &d);
        if (!backend) break;
        snprintf(numbered, sizeof numbered, "%s:%d", backend->name, d.number);
        if (!strcmp(name, d.name) || !strcmp(name, numbered)) return i;
    }
    return -1;
}
