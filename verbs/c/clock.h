/* The memory that programs in lock step share with their fabric (orchestrator/lockstep). */
#ifndef PAUSENET_CLOCK_H
#define PAUSENET_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLOCK_SLOTS = 2046 };

/* The sixth argument of a system call of a thread that registers. The fabric sees it in /proc, and lets no virtual time pass. */
enum { CLOCK_REGISTERS = 0x706e636c };

/* A thread. Virtual times are in ns. */
struct clock_slot {
	uint64_t deadline; /* when the fabric wakes it; 0: not at a time */
	uint32_t polls;    /* it is to be woken earlier, when its process gets data */
	uint32_t busy;     /* it has sent a request whose reply it waits for */
	uint32_t calls;    /* that passed time */
	uint32_t waits;    /* it waits for this word: the fabric wakes it with 0 here, not by its eventfd */
	uint32_t none[2];
};

struct clock_page {
	uint64_t now;   /* virtual time */
	uint64_t epoch; /* CLOCK_REALTIME at virtual time 0 */
	uint64_t quiet; /* no program can notice anything before this virtual time, unless another program does it */
	uint64_t none[5];
	struct clock_slot slots[CLOCK_SLOTS];
};

_Static_assert(sizeof(struct clock_slot) == 32, "");
_Static_assert(offsetof(struct clock_slot, polls) == 8, "");
_Static_assert(offsetof(struct clock_slot, busy) == 12, "");
_Static_assert(offsetof(struct clock_slot, calls) == 16, "");
_Static_assert(offsetof(struct clock_slot, waits) == 20, "");
_Static_assert(offsetof(struct clock_page, epoch) == 8, "");
_Static_assert(offsetof(struct clock_page, quiet) == 16, "");
_Static_assert(offsetof(struct clock_page, slots) == 64, "");

/* pausenet_clock_busy brackets a request to the fabric; pausenet_clock_vain lets virtual time pass after a poll in vain. They are in the
 * preloaded library, so there are none without it.
 */
void pausenet_clock_busy(bool busy) __attribute__((weak));
bool pausenet_clock_vain(unsigned int polls) __attribute__((weak));

#endif
