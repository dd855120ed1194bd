/*
 * other_cpus.h - a test that runs the whole program again as if on lesser processors
 *
 * oneDNN chooses other layouts there (blocks of 8 channels with AVX2), so other paths of the
 * executor.
 */
#ifndef RECOND_TESTS_OTHER_CPUS_H
#define RECOND_TESTS_OTHER_CPUS_H

#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(other_cpus)
{
    static const char *const isa[] = {"AVX2", "SSE41"};
    if (getenv("DNNL_MAX_CPU_ISA"))
        skip();
    for (size_t i = 0; i < sizeof isa / sizeof *isa; i++) {
        int status = -1;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (!pid) {
            int null = open("/dev/null", O_WRONLY);
            dup2(null, 1);
            dup2(null, 2);
            setenv("DNNL_MAX_CPU_ISA", isa[i], 1);
            unsetenv("CMOCKA_XML_FILE");
            execl("/proc/self/exe", "again", (char *)NULL);
            _exit(127);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status)
            fail_msg("with DNNL_MAX_CPU_ISA=%s: status %d", isa[i], status);
    }
}

#endif
