/* What the parts of the library of programs' clocks share (clock*.c). */
#ifndef PAUSENET_CLOCK_PARTS_H
#define PAUSENET_CLOCK_PARTS_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "clock.h"

#define EXPORT __attribute__((visibility("default")))

/* Stated costs, in ns of virtual time, and how far a thread's own time may be ahead of the fabric's. */
enum { READ_COST = 50,
       CALL_COST = 100,
       POLL_COST = 200,
       MOST_POLL_COST = 1000000,
       MOST_AHEAD = 500000,
       RECHECK = 100000 };

enum { SECOND = 1000000000 };

extern struct clock_page *page; /* of the process; NULL: not connected */

extern __thread struct mine {
	int slot, connection, event;
	uint64_t local; /* the thread's time, if ahead of the fabric's */
	bool connected, connecting;
} mine __attribute__((tls_model("initial-exec")));

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* raw makes a system call of the machine. */
typedef long kernel_call(long number, ...);
kernel_call *kernel(void);
#define raw(...) (kernel()(__VA_ARGS__))

/* CANCELABLE makes a system call during which pthread_cancel ends the thread. */
#define CANCELABLE(call)                                                    \
	({                                                                  \
		int type_, error_;                                          \
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type_); \
		long result_ = (call);                                      \
		error_ = errno;                                             \
		pthread_setcanceltype(type_, NULL);                         \
		errno = error_;                                             \
		result_;                                                    \
	})

/* NEXT returns the C library's function that has the name of an exported one. It looks once. */
#define NEXT(name)                                                           \
	({                                                                   \
		static __typeof__(name) *next_;                              \
		if (!next_)                                                  \
			next_ = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
		next_;                                                       \
	})

bool joined(void); /* the thread is in lock step, or is made so */
struct clock_slot *slot(void);
uint64_t fabric_now(void);
uint64_t now(void);
uint64_t waits_until(uint64_t t, bool word);
int sleep_until(uint64_t t);
void pay(void);
void called(void);
void pass(uint64_t cost);
void act(void);
uint64_t read_clock(void);

uint64_t offset_of(clockid_t id);
bool is_virtual(clockid_t id);
struct timespec timespec_of(uint64_t t);
uint64_t span(const struct timespec *t);
uint64_t nanoseconds(const struct timeval *t);
uint64_t time_of(clockid_t id, const struct timespec *t);
bool valid(const struct timespec *t);

int poll_until(struct pollfd *fds, nfds_t count, uint64_t until, const sigset_t *mask);
int poll_for(struct pollfd *fds, nfds_t count, uint64_t most, const sigset_t *mask);

void __chk_fail(void) __attribute__((noreturn)); /* the C library's */

void forget_timers(void); /* in a child */

#endif
