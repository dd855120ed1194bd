/* A frame moves along the table of frame_state.h and no other way. */
#include "daemon/session/frame_state.h"
#include "proto/checked.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* A used frame, one that the device has twice, and a closing round. */
TEST(the_way_of_a_frame)
{
    static const enum frame_event events[] = {
        FRAME_EVENT_COME,    FRAME_EVENT_COPIED,   FRAME_EVENT_STORED,   FRAME_EVENT_DECODE,
        FRAME_EVENT_DECODED, FRAME_EVENT_TAKE,     FRAME_EVENT_HOLD,     FRAME_EVENT_TAKE,
        FRAME_EVENT_SUBMIT,  FRAME_EVENT_COMPUTED, FRAME_EVENT_CONTINUE, FRAME_EVENT_TAKE,
        FRAME_EVENT_SUBMIT,  FRAME_EVENT_COMPUTED, FRAME_EVENT_END,      FRAME_EVENT_ROUND,
        FRAME_EVENT_SUBMIT,  FRAME_EVENT_COMPUTED, FRAME_EVENT_END,
    };
    atomic_int at = FRAME_STATE_FREE;

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        frame_state_move(&at, events[i]);
    assert_int_equal(at, FRAME_STATE_FREE);
}

/* No state is a trap: from each one a frame comes to its end. Only FREE is without a frame. */
TEST(every_frame_can_end)
{
    bool ends[FRAME_STATES] = {[FRAME_STATE_FREE] = true};

    for (int round = 0; round < FRAME_STATES; round++)
        for (int from = 0; from < FRAME_STATES; from++)
            for (int e = 0; e < FRAME_EVENTS; e++) {
                int to = frame_state_after((enum frame_state)from, (enum frame_event)e);
                assert_true(to < FRAME_STATES);
                ends[from] |= to >= 0 && ends[to];
            }
    for (int from = 0; from < FRAME_STATES; from++)
        assert_true(ends[from]);
}

TEST(what_a_thread_holds_makes_no_room)
{
    for (int from = 0; from < FRAME_STATES; from++)
        assert_int_equal(frame_state_after((enum frame_state)from, FRAME_EVENT_DISPLACE) >= 0,
                         from == FRAME_STATE_WAITING || from == FRAME_STATE_READY);
}

TEST(a_forbidden_move_is_reported_and_not_made)
{
    atomic_int at = FRAME_STATE_WAITING;
    int ends[2], status;
    char said[128];
    ssize_t n;
    pid_t child;

    assert_int_equal(frame_state_after(FRAME_STATE_WAITING, FRAME_EVENT_COMPUTED), -1);
    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        frame_state_move(&at, FRAME_EVENT_COMPUTED);
        _exit(at != FRAME_STATE_WAITING);
    }
    close(ends[1]);
    n = read(ends[0], said, sizeof(said) - 1);
    said[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    assert_string_equal(said, "mistake of the program: a frame that is WAITING meets COMPUTED\n");
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, CHECKED_BUILD ? SIGABRT : 0);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0);
}
