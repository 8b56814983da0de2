/* Waits for other threads: condition variables, semaphores, locks, message queues, asynchronous files, and futex calls of programs. */
#define _GNU_SOURCE
#include <aio.h>
#include <dlfcn.h>
#include <limits.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <semaphore.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <unistd.h>

#include "clock_parts.h"

/* What a time-out of the C library's calls is that has passed: they try. */
static const struct timespec past;

/* How often threads of this process have posted or signaled, and how many wait for that. */
static uint32_t posts, lookers;

/* futex_waitv(2), which headers before Linux 5.16 do not have. */
enum { NR_FUTEX_WAITV = 449,
       SIZE_32 = 2 };
struct word {
	uint64_t value, address;
	uint32_t flags, none;
};

/* wait_word waits while a word has a value, at most until a virtual time. The result is an errno: also 0 without a reason, ETIMEDOUT at
 * that time, EAGAIN if the word has another value.
 */
static int wait_word(const uint32_t *word, uint32_t value, bool private, uint64_t until)
{
	struct word words[] = {{value, (uintptr_t)word, SIZE_32 | (private ? FUTEX_PRIVATE_FLAG : 0), 0},
			       {1, (uintptr_t)&slot()->waits, SIZE_32, 0}};
	if (fabric_now() >= until)
		return __atomic_load_n(word, __ATOMIC_SEQ_CST) == value ? ETIMEDOUT : EAGAIN;
	waits_until(until, true);
	int before = errno, error = raw(NR_FUTEX_WAITV, words, 2, 0, NULL, 0) < 0 ? errno : 0;
	waits_until(0, false);
	errno = before;
	if (error == ENOSYS || error == EPERM) /* an older kernel, or container */
		error = __atomic_load_n(word, __ATOMIC_SEQ_CST) == value ? sleep_until(until < now() + RECHECK ? until : now() + RECHECK)
									 : EAGAIN;
	if (fabric_now() >= until)
		return ETIMEDOUT;
	return error == EAGAIN && __atomic_load_n(word, __ATOMIC_SEQ_CST) == value ? 0 : error;
}

/* look_again waits until a thread of this process posts, at most until a virtual time. It also returns after a while, as nothing tells
 * what other processes do, and who unlocks. The result is an errno.
 */
static int look_again(uint64_t until, uint32_t seen)
{
	if (now() >= until)
		return ETIMEDOUT;
	uint64_t next = now() + RECHECK;
	__atomic_fetch_add(&lookers, 1, __ATOMIC_SEQ_CST);
	int error = wait_word(&posts, seen, true, until < next ? until : next);
	__atomic_fetch_sub(&lookers, 1, __ATOMIC_SEQ_CST);
	return error == EINTR ? error : 0;
}

static uint32_t seen(void)
{
	return __atomic_load_n(&posts, __ATOMIC_SEQ_CST);
}

/* posted wakes the threads that look again. It returns what the C library's call did. */
static int posted(int result)
{
	int before = errno;
	__atomic_fetch_add(&posts, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&lookers, __ATOMIC_SEQ_CST))
		raw(SYS_futex, &posts, FUTEX_WAKE_PRIVATE, INT_MAX);
	errno = before;
	return result;
}

EXPORT int pthread_cond_signal(pthread_cond_t *c)
{
	return posted(NEXT(pthread_cond_signal)(c));
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *c)
{
	return posted(NEXT(pthread_cond_broadcast)(c));
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t id, const struct timespec *until)
{
	if (!is_virtual(id))
		return NEXT(pthread_cond_clockwait)(c, m, id, until);
	if (!valid(until))
		return EINVAL;
	pthread_testcancel();
	uint32_t before = seen();
	int error = pthread_mutex_unlock(m);
	if (error)
		return error;
	error = look_again(time_of(id, until), before);
	pthread_mutex_lock(m);
	return error == EINTR ? 0 : error; /* 0: a spurious wake-up, which the caller expects */
}

/* A condition variable does not say which clock it has: a time that is no date is of CLOCK_MONOTONIC. */
EXPORT int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	if (joined())
		return pthread_cond_clockwait(c, m, until->tv_sec < SECOND ? CLOCK_MONOTONIC : CLOCK_REALTIME, until);
	return NEXT(pthread_cond_timedwait)(c, m, until);
}

EXPORT int sem_post(sem_t *s)
{
	return posted(NEXT(sem_post)(s));
}

EXPORT int sem_clockwait(sem_t *s, clockid_t id, const struct timespec *until)
{
	if (!is_virtual(id))
		return NEXT(sem_clockwait)(s, id, until);
	for (uint32_t before = seen(); sem_trywait(s) < 0; before = seen()) {
		pthread_testcancel();
		int error = errno != EAGAIN ? errno : valid(until) ? look_again(time_of(id, until), before)
								   : EINVAL;
		if (error)
			return errno = error, -1;
	}
	return 0;
}

EXPORT int sem_timedwait(sem_t *s, const struct timespec *until)
{
	return sem_clockwait(s, CLOCK_REALTIME, until);
}

/* What tries without waiting: the result is an errno, ETIMEDOUT if it would wait. */
typedef int attempt(void *what, const struct timespec *until);

/* try_until tries until a virtual time. */
static int try_until(attempt *once, void *what, uint64_t until, bool interruptible)
{
	for (;;) {
		uint32_t before = seen();
		int error = once(what, &past);
		if (error != ETIMEDOUT)
			return error;
		error = look_again(until, before);
		if (error && (error != EINTR || interruptible))
			return error;
	}
}

/* TIMED defines the two calls that wait for a lock until a time. */
#define TIMED(type, before, after)                                                                                             \
	EXPORT int before##clock##after(type *lock, clockid_t id, const struct timespec *until)                                \
	{                                                                                                                      \
		if (!is_virtual(id) || !valid(until))                                                                          \
			return NEXT(before##clock##after)(lock, id, until);                                                    \
		return try_until((attempt *)(void *)NEXT(before##timed##after), lock, time_of(id, until), false);              \
	}                                                                                                                      \
	EXPORT int before##timed##after(type *lock, const struct timespec *until)                                              \
	{                                                                                                                      \
		return joined() ? before##clock##after(lock, CLOCK_REALTIME, until) : NEXT(before##timed##after)(lock, until); \
	}

TIMED(pthread_mutex_t, pthread_mutex_, lock)
TIMED(pthread_rwlock_t, pthread_rwlock_, rdlock)
TIMED(pthread_rwlock_t, pthread_rwlock_, wrlock)

/* Threads of C11. Their types are those of POSIX. */

static int c11(int error)
{
	return error == ETIMEDOUT ? thrd_timedout : error ? thrd_error
							  : thrd_success;
}

EXPORT int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until)
{
	return c11(pthread_mutex_timedlock((pthread_mutex_t *)m, until));
}

EXPORT int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict until)
{
	return c11(pthread_cond_timedwait((pthread_cond_t *)c, (pthread_mutex_t *)m, until));
}

EXPORT int cnd_signal(cnd_t *c)
{
	return c11(pthread_cond_signal((pthread_cond_t *)c));
}

EXPORT int cnd_broadcast(cnd_t *c)
{
	return c11(pthread_cond_broadcast((pthread_cond_t *)c));
}

/* Waits for the end of a thread, of a file's operation, and for semaphores of System V. */

struct join {
	pthread_t thread;
	void **result;
};

static int join_once(void *what, const struct timespec *until)
{
	struct join *j = what;
	return NEXT(pthread_timedjoin_np)(j->thread, j->result, until);
}

EXPORT int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t id, const struct timespec *until)
{
	if (!is_virtual(id) || !valid(until))
		return NEXT(pthread_clockjoin_np)(thread, result, id, until);
	return try_until(join_once, &(struct join){thread, result}, time_of(id, until), false);
}

EXPORT int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
	struct join j = {thread, result};
	return joined() && until ? pthread_clockjoin_np(thread, result, CLOCK_REALTIME, until) : join_once(&j, until);
}

struct operations {
	const struct aiocb *const *all;
	int count;
};

static int suspend_once(void *what, const struct timespec *most)
{
	struct operations *o = what;
	int failed = NEXT(aio_suspend)(o->all, o->count, most);
	return !failed ? 0 : errno == EAGAIN ? ETIMEDOUT
					     : errno;
}

EXPORT int aio_suspend(const struct aiocb *const all[], int count, const struct timespec *most)
{
	struct operations o = {all, count};
	int error = most && joined() ? try_until(suspend_once, &o, now() + span(most), true) : suspend_once(&o, most);
	return error ? errno = error == ETIMEDOUT ? EAGAIN : error, -1 : 0;
}

struct change {
	int set;
	struct sembuf *all;
	size_t count;
};

static int change_once(void *what, const struct timespec *most)
{
	struct change *c = what;
	return raw(SYS_semtimedop, c->set, c->all, c->count, most) == 0 ? 0 : errno == EAGAIN ? ETIMEDOUT
											      : errno;
}

EXPORT int semtimedop(int set, struct sembuf *all, size_t count, const struct timespec *most)
{
	bool waits = most && joined();
	for (size_t i = 0; waits && i < count; i++)
		waits = !(all[i].sem_flg & IPC_NOWAIT);
	struct change c = {set, all, count};
	int error = waits ? try_until(change_once, &c, now() + span(most), true) : change_once(&c, most);
	return error ? errno = error == ETIMEDOUT ? EAGAIN : error, -1 : 0;
}

/* Message queues, which are descriptors. */

/* queue_ready waits until a queue is, after a call has failed. It returns false, with errno, if the call is not to be repeated. */
static bool queue_ready(mqd_t q, short events, const struct timespec *until)
{
	if (errno != ETIMEDOUT || !joined())
		return false;
	if (!valid(until))
		return errno = EINVAL, false;
	int found = poll_until(&(struct pollfd){.fd = q, .events = events}, 1, time_of(CLOCK_REALTIME, until), NULL);
	errno = found < 0 ? errno : ETIMEDOUT;
	return found > 0;
}

EXPORT ssize_t mq_timedreceive(mqd_t q, char *restrict data, size_t room, unsigned int *restrict priority,
			       const struct timespec *restrict until)
{
	ssize_t n;
	do
		n = CANCELABLE(raw(SYS_mq_timedreceive, q, data, room, priority, joined() ? &past : until));
	while (n < 0 && queue_ready(q, POLLIN, until));
	return n;
}

EXPORT int mq_timedsend(mqd_t q, const char *data, size_t count, unsigned int priority, const struct timespec *until)
{
	int n;
	do
		n = (int)CANCELABLE(raw(SYS_mq_timedsend, q, data, count, priority, joined() ? &past : until));
	while (n < 0 && queue_ready(q, POLLOUT, until));
	return n;
}

/* System calls of programs. */

static long fails(int error)
{
	return error ? errno = error, -1 : 0;
}

static long futex(const uint32_t *word, int op, uint32_t value, const struct timespec *limit, void *second, uint32_t set)
{
	int command = op & FUTEX_CMD_MASK;
	if ((command != FUTEX_WAIT && (command != FUTEX_WAIT_BITSET || !set)) || !limit || !valid(limit) || !joined())
		return raw(SYS_futex, word, op, value, limit, second, set);
	clockid_t id = op & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	return fails(wait_word(word, value, op & FUTEX_PRIVATE_FLAG, command == FUTEX_WAIT ? now() + span(limit) : time_of(id, limit)));
}

EXPORT long syscall(long number, ...)
{
	long a[6];
	va_list rest;
	va_start(rest, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(rest, long);
	va_end(rest);
	void *p0 = (void *)a[0], *p1 = (void *)a[1], *p2 = (void *)a[2], *p3 = (void *)a[3];
	switch (number) {
	case SYS_futex:
		return futex(p0, (int)a[1], (uint32_t)a[2], p3, (void *)a[4], (uint32_t)a[5]);
	case SYS_clock_gettime:
		return clock_gettime((clockid_t)a[0], p1);
	case SYS_gettimeofday:
		return gettimeofday(p0, p1);
	case SYS_nanosleep:
		return nanosleep(p0, p1);
	case SYS_clock_nanosleep:
		return fails(clock_nanosleep((clockid_t)a[0], (int)a[1], p2, p3));
	case SYS_ppoll:
		return ppoll(p0, (nfds_t)a[1], p2, p3);
	case SYS_epoll_pwait:
		return epoll_pwait((int)a[0], p1, (int)a[2], (int)a[3], (void *)a[4]);
	case SYS_epoll_pwait2:
		return epoll_pwait2((int)a[0], p1, (int)a[2], p3, (void *)a[4]);
	case SYS_rt_sigtimedwait:
		return sigtimedwait(p0, p1, p2);
	case SYS_timerfd_create:
		return timerfd_create((int)a[0], (int)a[1]);
	case SYS_timerfd_settime:
		return timerfd_settime((int)a[0], (int)a[1], p2, p3);
	case SYS_timerfd_gettime:
		return timerfd_gettime((int)a[0], p1);
#ifdef __x86_64__
	case SYS_time:
		return time(p0);
	case SYS_poll:
		return poll(p0, (nfds_t)a[1], (int)a[2]);
	case SYS_select:
		return select((int)a[0], p1, p2, p3, (void *)a[4]);
	case SYS_epoll_wait:
		return epoll_wait((int)a[0], p1, (int)a[2], (int)a[3]);
#endif
	default:
		return raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
}
