/* A folder of a test of states, and the path of a state in it. */
#ifndef STATE_FOLDER_H
#define STATE_FOLDER_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ref.h"

static char folder[64], path[96];

static inline int remove_files(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", folder, folder);
    return system(command);
}

static inline int count_files(void)
{
    char command[160];
    int n = -1;
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%d", &n) != 1) n = -1;
    if (f) pclose(f);
    return n;
}

static inline int run_in_folder(const struct CMUnitTest *tests, size_t count)
{
    char command[160];
    strcpy(folder, "/tmp/wisp-state.XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/run.state", folder);
    const int failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s' '%s.away'", folder, folder);
    return system(command) || failed;
}
#endif
