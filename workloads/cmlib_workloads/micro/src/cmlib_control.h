/* Count only what matters: a program under `perf stat -D -1 --control fifo:CONTROL,ACK` switches its own counters.
 *
 *     prepare();
 *     cmlib_counting("enable");
 *     execute();
 *     cmlib_counting("disable");
 *
 * The FIFOs are named by the environment, CMLIB_CONTROL and CMLIB_ACK; where they are not, nothing happens. Both calls
 * return when perf has done what it was told.
 */
#ifndef CMLIB_CONTROL_H
#define CMLIB_CONTROL_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cmlib_counting(const char *command)
{
    static int control = -1, ack = -1;
    const char *control_name = getenv("CMLIB_CONTROL"), *ack_name = getenv("CMLIB_ACK");
    char answer[8];

    if (!control_name || !ack_name)
        return;
    if (control < 0) {
        control = open(control_name, O_WRONLY | O_CLOEXEC);
        ack = open(ack_name, O_RDONLY | O_CLOEXEC);
    }
    if (control < 0 || ack < 0 || dprintf(control, "%s\n", command) < 0 || read(ack, answer, sizeof answer) <= 0) {
        perror("cmlib_control: no answer from perf; is it running with --control?");
        exit(2);
    }
}

#endif
