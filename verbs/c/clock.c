/* The library that "up --clock lockstep" preloads into programs on nodes. Their clocks show virtual time, which stands still while
 * any of them runs (orchestrator/lockstep). Calls that wait for a time wait for virtual time. A call that reads a clock, or polls,
 * takes a stated time.
 * A process outside of such a fabric keeps the machine's clocks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "clock.h"
#include "protocol.h"

#define EXPORT __attribute__((visibility("default")))

/* Stated costs, in ns of virtual time, and how far a thread's own time may be ahead of the fabric's. */
enum { READ_COST = 50,
       CALL_COST = 100,
       POLL_COST = 200,
       MOST_POLL_COST = 1000000,
       MOST_AHEAD = 500000,
       RECHECK = 100000 };

enum { SECOND = 1000000000 };

/* Virtual CLOCK_MONOTONIC begins with a thousand seconds, as programs take 0 for none. */
enum { MONOTONIC_START = 1000 };

static struct clock_page *page; /* of the process; NULL: not connected */
static bool off;                /* the process has no such fabric */
static pthread_key_t ended;

static __thread struct mine {
	int slot, connection, event;
	uint64_t local; /* the thread's time, if ahead of the fabric's */
	bool connected, connecting;
} mine __attribute__((tls_model("initial-exec")));

static void leave(void *none)
{
	(void)none;
	if (mine.connected) {
		close(mine.connection);
		close(mine.event);
	}
	mine = (struct mine){0};
}

/* ask registers the thread: the request takes along what wakes it. */
static bool ask(void)
{
	uint64_t request[1] = {OP_CLOCK}, reply[2] = {EIO, 0};
	int files[1] = {mine.event};
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec v = {request, sizeof(request)};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	memcpy(CMSG_DATA(&control.header), files, sizeof(int));
	memcpy(name.sun_path + 1, SOCKET_NAME, sizeof(SOCKET_NAME) - 1);
	if (connect(mine.connection, (struct sockaddr *)&name, offsetof(struct sockaddr_un, sun_path) + sizeof(SOCKET_NAME)) < 0 ||
	    syscall(SYS_sendmsg, mine.connection, &m, MSG_NOSIGNAL) < 0)
		return false;
	v = (struct iovec){reply, sizeof(reply)};
	m.msg_controllen = sizeof(control);
	if (syscall(SYS_recvmsg, mine.connection, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(reply) || reply[0] || !CMSG_FIRSTHDR(&m))
		return false;
	memcpy(files, CMSG_DATA(&control.header), sizeof(int));
	struct clock_page *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED, files[0], 0);
	close(files[0]);
	if (p == MAP_FAILED)
		return false;
	struct clock_page *none = NULL;
	if (!__atomic_compare_exchange_n(&page, &none, p, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		munmap(p, sizeof(*p));
	mine.slot = (int)reply[1];
	return true;
}

/* joined says whether the thread is in lock step, and makes it so if it can be. */
static bool joined(void)
{
	if (mine.connected)
		return true;
	if (off || mine.connecting)
		return false;
	int before = errno;
	mine.connecting = true;
	mine.event = eventfd(0, EFD_CLOEXEC);
	mine.connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	mine.connected = ask();
	mine.connecting = false;
	if (!mine.connected) {
		off = true;
		close(mine.connection);
		close(mine.event);
	} else {
		pthread_setspecific(ended, &mine);
	}
	errno = before;
	return mine.connected;
}

static struct clock_slot *slot(void)
{
	return &page->slots[mine.slot];
}

static uint64_t fabric_now(void)
{
	return __atomic_load_n(&page->now, __ATOMIC_ACQUIRE);
}

static uint64_t now(void)
{
	uint64_t n = fabric_now();
	return n > mine.local ? n : mine.local;
}

/* sleep_until waits until a virtual time, or until the fabric wakes the thread earlier. The result is an errno. It polls, as a read
 * would go on after a signal's handler.
 */
static int sleep_until(uint64_t t)
{
	struct clock_slot *s = slot();
	struct pollfd event = {.fd = mine.event, .events = POLLIN};
	while (fabric_now() < t) {
		uint64_t n;
		__atomic_store_n(&s->deadline, t, __ATOMIC_SEQ_CST);
		long got = syscall(SYS_ppoll, &event, 1, NULL, NULL, _NSIG / 8);
		if (got > 0)
			syscall(SYS_read, mine.event, &n, sizeof(n));
		uint64_t left = __atomic_exchange_n(&s->deadline, 0, __ATOMIC_SEQ_CST);
		if (got < 0)
			return errno;
		if (!left) /* the fabric has woken it */
			return 0;
	}
	return 0;
}

/* pay waits until the fabric's time is the thread's. */
static void pay(void)
{
	int before = errno;
	while (mine.local > fabric_now())
		sleep_until(mine.local);
	errno = before;
}

static void pass(uint64_t cost)
{
	mine.local = now() + cost;
	__atomic_store_n(&slot()->calls, slot()->calls + 1, __ATOMIC_RELAXED);
	if (mine.local - fabric_now() > MOST_AHEAD && mine.local >= __atomic_load_n(&page->quiet, __ATOMIC_ACQUIRE))
		pay();
}

/* act notes that the thread does what may come back to it, or to others, sooner than the fabric knows. */
static void act(void)
{
	__atomic_store_n(&page->quiet, 0, __ATOMIC_RELEASE);
}

static uint64_t read_clock(void)
{
	pass(READ_COST);
	return now();
}

EXPORT void pausenet_clock_busy(bool busy)
{
	if (!joined())
		return;
	if (busy) {
		pass(CALL_COST);
		pay();
		act();
	}
	__atomic_store_n(&slot()->busy, busy, __ATOMIC_SEQ_CST);
}

EXPORT bool pausenet_clock_vain(unsigned int polls)
{
	if (!joined())
		return false;
	uint64_t cost = (uint64_t)POLL_COST << (polls < 16 ? polls : 16);
	__atomic_store_n(&slot()->polls, 1, __ATOMIC_SEQ_CST);
	sleep_until(now() + (cost < MOST_POLL_COST ? cost : MOST_POLL_COST));
	__atomic_store_n(&slot()->polls, 0, __ATOMIC_SEQ_CST);
	return true;
}

/* Clocks. */

static uint64_t offset_of(clockid_t id)
{
	return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ? page->epoch : (uint64_t)MONOTONIC_START * SECOND;
}

static bool is_virtual(clockid_t id)
{
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_BOOTTIME:
		return joined();
	default:
		return false;
	}
}

static struct timespec timespec_of(uint64_t t)
{
	return (struct timespec){.tv_sec = (time_t)(t / SECOND), .tv_nsec = (long)(t % SECOND)};
}

/* span is a time in ns; it ends at what is as good as never. */
static uint64_t span(const struct timespec *t)
{
	const time_t most = (time_t)1 << 32;
	return (uint64_t)(t->tv_sec < 0 ? 0 : t->tv_sec > most ? most
							       : t->tv_sec) *
		       SECOND +
	       (uint64_t)t->tv_nsec;
}

static uint64_t nanoseconds(const struct timeval *t)
{
	return span(&(struct timespec){t->tv_sec, t->tv_usec * 1000});
}

EXPORT int clock_gettime(clockid_t id, struct timespec *t)
{
	if (!is_virtual(id))
		return (int)syscall(SYS_clock_gettime, id, t);
	*t = timespec_of(read_clock() + offset_of(id));
	return 0;
}

EXPORT int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	if (!joined())
		return (int)syscall(SYS_gettimeofday, t, zone);
	uint64_t n = read_clock() + page->epoch;
	*t = (struct timeval){.tv_sec = (time_t)(n / SECOND), .tv_usec = (suseconds_t)(n % SECOND / 1000)};
	return 0;
}

EXPORT time_t time(time_t *to)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	if (to)
		*to = t.tv_sec;
	return t.tv_sec;
}

/* Waiting for a time. */

EXPORT int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
	if (!is_virtual(id))
		return syscall(SYS_clock_nanosleep, id, flags, wanted, left) < 0 ? errno : 0;
	if (wanted->tv_nsec < 0 || wanted->tv_nsec >= SECOND)
		return EINVAL;
	uint64_t t = span(wanted), from = flags & TIMER_ABSTIME ? offset_of(id) : 0;
	t = flags & TIMER_ABSTIME ? (t > from ? t - from : 0) : now() + t;
	int error = sleep_until(t);
	if (error && left && !(flags & TIMER_ABSTIME))
		*left = timespec_of(t > now() ? t - now() : 0);
	return error;
}

EXPORT int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	errno = clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, left);
	return errno ? -1 : 0;
}

EXPORT int usleep(useconds_t t)
{
	return nanosleep(&(struct timespec){.tv_sec = (time_t)(t / 1000000), .tv_nsec = (long)(t % 1000000) * 1000}, NULL);
}

EXPORT unsigned int sleep(unsigned int seconds)
{
	struct timespec t = {.tv_sec = seconds}, left = {0};
	return nanosleep(&t, &left) < 0 ? (unsigned int)left.tv_sec + (left.tv_nsec > 0) : 0;
}

/* poll_until polls until a virtual time, UINT64_MAX: without one. */
static int poll_until(struct pollfd *fds, nfds_t count, uint64_t until, const sigset_t *mask)
{
	struct pollfd few[64], *all = count < 64 ? few : malloc((count + 1) * sizeof(*all));
	if (!all)
		return errno = ENOMEM, -1;
	if (count > 0)
		memcpy(all, fds, count * sizeof(*all));
	all[count] = (struct pollfd){.fd = mine.event, .events = POLLIN};
	__atomic_store_n(&slot()->deadline, until == UINT64_MAX ? 0 : until, __ATOMIC_SEQ_CST);
	int found = (int)syscall(SYS_ppoll, all, count + (until != UINT64_MAX), NULL, mask, _NSIG / 8), error = errno;
	__atomic_store_n(&slot()->deadline, 0, __ATOMIC_SEQ_CST);
	if (found > 0) {
		uint64_t n;
		if (until != UINT64_MAX && all[count].revents && found--)
			syscall(SYS_read, mine.event, &n, sizeof(n));
		for (nfds_t i = 0; i < count; i++)
			fds[i].revents = all[i].revents;
	} else if (!found) {
		for (nfds_t i = 0; i < count; i++)
			fds[i].revents = 0;
	}
	if (all != few)
		free(all);
	errno = error;
	return found;
}

/* poll_for polls for a time in ns, UINT64_MAX: without end. What it finds at once it finds without waiting. */
static int poll_for(struct pollfd *fds, nfds_t count, uint64_t most, const sigset_t *mask)
{
	const struct timespec none = {0};
	pass(CALL_COST);
	pay();
	int found = (int)syscall(SYS_ppoll, fds, count, &none, mask, _NSIG / 8);
	if (found || !most) {
		if (!found)
			pass(POLL_COST);
		return found;
	}
	return poll_until(fds, count, most == UINT64_MAX ? most : now() + most, mask);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *most, const sigset_t *mask)
{
	struct timespec t = most ? *most : (struct timespec){0};
	if (!joined())
		return (int)syscall(SYS_ppoll, fds, count, most ? &t : NULL, mask, _NSIG / 8);
	return poll_for(fds, count, most ? span(most) : UINT64_MAX, mask);
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int milliseconds)
{
	struct timespec t = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
	return ppoll(fds, count, milliseconds < 0 ? NULL : &t, NULL);
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int count, int milliseconds, const sigset_t *mask)
{
	if (joined()) {
		struct pollfd one = {.fd = fd, .events = POLLIN};
		if (poll_for(&one, 1, milliseconds < 0 ? UINT64_MAX : (uint64_t)milliseconds * 1000000, mask) < 0)
			return -1;
		milliseconds = 0;
	}
	return (int)syscall(SYS_epoll_pwait, fd, events, count, milliseconds, mask, _NSIG / 8);
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int count, int milliseconds)
{
	return epoll_pwait(fd, events, count, milliseconds, NULL);
}

EXPORT int pselect(int count, fd_set *in, fd_set *out, fd_set *bad, const struct timespec *most, const sigset_t *mask)
{
	struct timespec t = most ? *most : (struct timespec){0};
	struct {
		const sigset_t *mask;
		size_t size;
	} masked = {mask, _NSIG / 8};
	if (joined()) { /* poll, to wait; then select, to know */
		struct pollfd fds[FD_SETSIZE];
		nfds_t n = 0;
		for (int i = 0; i < count && i < FD_SETSIZE; i++) {
			short events = (short)((in && FD_ISSET(i, in) ? POLLIN : 0) | (out && FD_ISSET(i, out) ? POLLOUT : 0) |
					       (bad && FD_ISSET(i, bad) ? POLLPRI : 0));
			if (events)
				fds[n++] = (struct pollfd){.fd = i, .events = events};
		}
		if (poll_for(fds, n, most ? span(most) : UINT64_MAX, mask) < 0)
			return -1;
		most = &t;
		t = (struct timespec){0};
	}
	return (int)syscall(SYS_pselect6, count, in, out, bad, most ? &t : NULL, &masked);
}

EXPORT int select(int count, fd_set *in, fd_set *out, fd_set *bad, struct timeval *most)
{
	struct timespec t = most ? (struct timespec){.tv_sec = most->tv_sec, .tv_nsec = most->tv_usec * 1000} : (struct timespec){0};
	return pselect(count, in, out, bad, most ? &t : NULL, NULL);
}

/* A time-out of a condition variable or semaphore: it looks again at times, as nothing tells the fabric that another thread has woken it.
 * The result is an errno.
 */
static int look_again(clockid_t id, const struct timespec *until)
{
	uint64_t t = span(until), from = offset_of(id), at = t > from ? t - from : 0;
	if (now() >= at)
		return ETIMEDOUT;
	sleep_until(at < now() + RECHECK ? at : now() + RECHECK);
	return 0;
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t id, const struct timespec *until)
{
	static int (*next)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
	if (!joined()) {
		if (!next)
			next = (int (*)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))dlsym(RTLD_NEXT, "pthread_cond_clockwait");
		return next(c, m, id, until);
	}
	pthread_mutex_unlock(m);
	int error = look_again(id, until);
	pthread_mutex_lock(m);
	return error; /* 0: a spurious wake-up, which the caller expects */
}

/* A condition variable does not say which clock it has: a time that is no date is of CLOCK_MONOTONIC. */
EXPORT int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	if (joined())
		return pthread_cond_clockwait(c, m, until->tv_sec < SECOND ? CLOCK_MONOTONIC : CLOCK_REALTIME, until);
	if (!next)
		next = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlsym(RTLD_NEXT, "pthread_cond_timedwait");
	return next(c, m, until);
}

EXPORT int sem_clockwait(sem_t *s, clockid_t id, const struct timespec *until)
{
	static int (*next)(sem_t *, clockid_t, const struct timespec *);
	if (!joined()) {
		if (!next)
			next = (int (*)(sem_t *, clockid_t, const struct timespec *))dlsym(RTLD_NEXT, "sem_clockwait");
		return next(s, id, until);
	}
	while (sem_trywait(s) < 0) {
		int error = errno == EAGAIN ? look_again(id, until) : errno;
		if (error)
			return errno = error, -1;
	}
	return 0;
}

EXPORT int sem_timedwait(sem_t *s, const struct timespec *until)
{
	return sem_clockwait(s, CLOCK_REALTIME, until);
}

/* Receiving. */

static bool time_limits; /* the program has set SO_RCVTIMEO of a socket */

EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	time_limits |= level == SOL_SOCKET && name == SO_RCVTIMEO;
	return (int)syscall(SYS_setsockopt, fd, level, name, value, length);
}

/* await waits for data for the SO_RCVTIMEO of a socket. It returns false, with errno, if none comes. */
static bool await(int fd, int flags)
{
	struct timeval limit = {0};
	socklen_t length = sizeof(limit);
	int before = errno;
	if (!time_limits || flags & (MSG_DONTWAIT | MSG_ERRQUEUE) || !joined() || getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &length) < 0 ||
	    (!limit.tv_sec && !limit.tv_usec) || fcntl(fd, F_GETFL) & O_NONBLOCK) {
		errno = before;
		return true;
	}
	int found = poll_for(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, nanoseconds(&limit), NULL);
	errno = found == 0 ? EAGAIN : found < 0 ? errno
						: before;
	return found > 0;
}

/* stamp replaces the machine's time at which a packet came. A thread that waits for it runs at that virtual time. */
static void stamp(struct msghdr *m)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		struct timespec t = timespec_of(fabric_now() + page->epoch);
		struct timeval rounded = {.tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000};
		if (h->cmsg_level != SOL_SOCKET)
			continue;
		if (h->cmsg_type == SO_TIMESTAMP)
			memcpy(CMSG_DATA(h), &rounded, sizeof(rounded));
		else if (h->cmsg_type == SO_TIMESTAMPNS || h->cmsg_type == SO_TIMESTAMPING)
			memcpy(CMSG_DATA(h), &t, sizeof(t));
	}
}

EXPORT ssize_t recv(int fd, void *data, size_t count, int flags)
{
	return await(fd, flags) ? syscall(SYS_recvfrom, fd, data, count, flags, NULL, NULL) : -1;
}

EXPORT ssize_t recvfrom(int fd, void *restrict data, size_t count, int flags, struct sockaddr *restrict from, socklen_t *restrict length)
{
	return await(fd, flags) ? syscall(SYS_recvfrom, fd, data, count, flags, from, length) : -1;
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t n = await(fd, flags) ? syscall(SYS_recvmsg, fd, m, flags) : -1;
	if (n >= 0 && m->msg_controllen > 0 && joined())
		stamp(m);
	return n;
}

EXPORT ssize_t read(int fd, void *data, size_t count)
{
	return await(fd, 0) ? syscall(SYS_read, fd, data, count) : -1;
}

/* Timers: alarm, setitimer(ITIMER_REAL) and timerfd. A thread of the library waits for them. */

struct timer {
	uint64_t at, interval; /* virtual times; 0: not armed; once */
	uint64_t from;         /* offset of the timer's clock */
	int fd, own;           /* an eventfd, the program's and the library's; -1: SIGALRM */
};

static struct {
	pthread_mutex_t mutex;
	struct timer *all;
	int count, event; /* event wakes the thread; -1: there is none yet */
	bool started;
} timers = {.mutex = PTHREAD_MUTEX_INITIALIZER, .event = -1};

/* lock_timers blocks signals, too: a handler may set the next alarm. */
static void lock_timers(sigset_t *before)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
	pthread_mutex_lock(&timers.mutex);
}

static void unlock_timers(const sigset_t *before)
{
	pthread_mutex_unlock(&timers.mutex);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void expire(struct timer *t)
{
	uint64_t times = t->interval ? (fabric_now() - t->at) / t->interval + 1 : 1;
	t->at = t->interval ? t->at + times * t->interval : 0;
	if (t->fd < 0)
		kill(getpid(), SIGALRM);
	else if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, t->fd, t->own) > 0)
		t->at = 0; /* the program has closed it */
	else
		syscall(SYS_write, t->own, &times, sizeof(times));
}

static void *keep_timers(void *none)
{
	uint64_t n;
	sigset_t before;
	while (joined()) {
		uint64_t first = 0;
		lock_timers(&before);
		timers.event = mine.event;
		for (struct timer *t = timers.all; t < timers.all + timers.count; t++) {
			if (t->at && t->at <= fabric_now())
				expire(t);
			if (t->at && (!first || t->at < first))
				first = t->at;
		}
		unlock_timers(&before);
		__atomic_store_n(&slot()->deadline, first, __ATOMIC_SEQ_CST);
		syscall(SYS_read, mine.event, &n, sizeof(n));
		__atomic_store_n(&slot()->deadline, 0, __ATOMIC_SEQ_CST);
	}
	return none;
}

/* timer_of returns the timer of a descriptor. With the timers locked. */
static struct timer *timer_of(int fd)
{
	for (int i = 0; i < timers.count; i++)
		if (timers.all[i].fd == fd)
			return &timers.all[i];
	return NULL;
}

/* add_timer returns a new timer, NULL without memory. With the timers locked. */
static struct timer *add_timer(int fd, int own, uint64_t from)
{
	struct timer *t = timer_of(fd), *all;
	if (t) { /* of a descriptor that the program has closed */
		close(t->own);
	} else {
		all = realloc(timers.all, (size_t)(timers.count + 1) * sizeof(*all));
		if (!all)
			return NULL;
		timers.all = all;
		t = &all[timers.count++];
	}
	*t = (struct timer){.fd = fd, .own = own, .from = from};
	return t;
}

/* arm sets a timer, and returns what was set before. With the timers locked. */
static struct itimerspec arm(struct timer *t, const struct itimerspec *set, bool absolute)
{
	pthread_t thread;
	struct itimerspec before = {timespec_of(t->interval), timespec_of(t->at > now() ? t->at - now() : t->at > 0)};
	if (!set)
		return before;
	uint64_t value = span(&set->it_value);
	t->interval = span(&set->it_interval);
	t->at = !value ? 0 : !absolute ? now() + value
		     : value > t->from ? value - t->from
				       : 1;
	if (timers.event >= 0)
		syscall(SYS_write, timers.event, &(uint64_t){1}, sizeof(uint64_t));
	if (!timers.started && pthread_create(&thread, NULL, keep_timers, NULL) == 0) {
		timers.started = true;
		pthread_detach(thread);
	}
	return before;
}

EXPORT int timerfd_create(int id, int flags)
{
	sigset_t before;
	if (!is_virtual(id))
		return (int)syscall(SYS_timerfd_create, id, flags);
	int fd = eventfd(0, flags & (TFD_CLOEXEC | TFD_NONBLOCK)), own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	lock_timers(&before);
	bool added = own >= 0 && add_timer(fd, own, offset_of(id));
	unlock_timers(&before);
	if (!added) {
		close(fd);
		close(own);
		return errno = own < 0 ? EMFILE : ENOMEM, -1;
	}
	return fd;
}

EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *set, struct itimerspec *old)
{
	uint64_t n;
	sigset_t before;
	lock_timers(&before);
	struct timer *t = timer_of(fd);
	if (t) {
		struct pollfd one = {.fd = t->own, .events = POLLIN};
		if (set && syscall(SYS_ppoll, &one, 1, &(struct timespec){0}, NULL, _NSIG / 8) > 0)
			syscall(SYS_read, t->own, &n, sizeof(n)); /* it has not expired since it is set */
		struct itimerspec was = arm(t, set, flags & TFD_TIMER_ABSTIME);
		if (old)
			*old = was;
	}
	unlock_timers(&before);
	return t ? 0 : (int)(set ? syscall(SYS_timerfd_settime, fd, flags, set, old) : syscall(SYS_timerfd_gettime, fd, old));
}

EXPORT int timerfd_gettime(int fd, struct itimerspec *t)
{
	return timerfd_settime(fd, 0, NULL, t);
}

EXPORT int setitimer(__itimer_which_t which, const struct itimerval *restrict set, struct itimerval *restrict old)
{
	sigset_t before;
	if (which != ITIMER_REAL || !joined())
		return (int)(set ? syscall(SYS_setitimer, which, set, old) : syscall(SYS_getitimer, which, old));
	struct itimerspec wanted = {0}, was = {0};
	if (set)
		wanted = (struct itimerspec){timespec_of(nanoseconds(&set->it_interval)), timespec_of(nanoseconds(&set->it_value))};
	lock_timers(&before);
	struct timer *t = timer_of(-1);
	t = t ? t : add_timer(-1, -1, 0);
	if (t)
		was = arm(t, set ? &wanted : NULL, false);
	unlock_timers(&before);
	if (!t)
		return errno = ENOMEM, -1;
	if (old)
		*old = (struct itimerval){{was.it_interval.tv_sec, was.it_interval.tv_nsec / 1000}, {was.it_value.tv_sec, was.it_value.tv_nsec / 1000}};
	return 0;
}

EXPORT int getitimer(__itimer_which_t which, struct itimerval *t)
{
	return setitimer(which, NULL, t);
}

EXPORT unsigned int alarm(unsigned int seconds)
{
	struct itimerval t = {.it_value = {.tv_sec = seconds}}, before = {0};
	setitimer(ITIMER_REAL, &t, &before);
	return (unsigned int)before.it_value.tv_sec + (before.it_value.tv_usec > 0);
}

/* What a thread sends, it sends at its own time. */

static void sends(void)
{
	if (joined() && !slot()->busy) {
		pass(CALL_COST);
		pay();
		act();
	}
}

EXPORT ssize_t send(int fd, const void *data, size_t count, int flags)
{
	sends();
	return syscall(SYS_sendto, fd, data, count, flags, NULL, 0);
}

EXPORT ssize_t sendto(int fd, const void *data, size_t count, int flags, const struct sockaddr *to, socklen_t length)
{
	sends();
	return syscall(SYS_sendto, fd, data, count, flags, to, length);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	sends();
	return syscall(SYS_sendmsg, fd, m, flags);
}

EXPORT ssize_t write(int fd, const void *data, size_t count)
{
	sends();
	return syscall(SYS_write, fd, data, count);
}

EXPORT ssize_t writev(int fd, const struct iovec *data, int count)
{
	sends();
	return syscall(SYS_writev, fd, data, count);
}

/* The processor's time stamp counter, which RDMA programs read: virtual time, a tick a ns. The kernel makes a read a SIGSEGV. */

#ifdef __x86_64__
static struct sigaction theirs;
static bool trapping;
static int (*next_sigaction)(int, const struct sigaction *, struct sigaction *);

static void trap(int number, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint8_t *at = (const uint8_t *)r[REG_RIP];
	bool rdtsc = info->si_code == SI_KERNEL && at[0] == 0x0f && at[1] == 0x31;
	bool rdtscp = info->si_code == SI_KERNEL && at[0] == 0x0f && at[1] == 0x01 && at[2] == 0xf9;
	if (rdtsc || rdtscp) {
		uint64_t t = joined() ? read_clock() : 0;
		r[REG_RAX] = (greg_t)(t & UINT32_MAX);
		r[REG_RDX] = (greg_t)(t >> 32);
		if (rdtscp)
			r[REG_RCX] = 0;
		r[REG_RIP] += rdtscp ? 3 : 2;
	} else if (theirs.sa_flags & SA_SIGINFO) {
		theirs.sa_sigaction(number, info, context);
	} else if (theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN) {
		theirs.sa_handler(number);
	} else { /* it happens again, and ends the program */
		next_sigaction(number, &theirs, NULL);
	}
}

static void trap_counter(void)
{
	struct sigaction own = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART | SA_ONSTACK};
	trapping = next_sigaction(SIGSEGV, &own, &theirs) == 0 && prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0;
}
#endif

EXPORT int sigaction(int number, const struct sigaction *set, struct sigaction *before)
{
	if (!next_sigaction)
		next_sigaction = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
#ifdef __x86_64__
	if (number == SIGSEGV && trapping) {
		struct sigaction old = theirs;
		if (set)
			theirs = *set;
		if (before)
			*before = old;
		return 0;
	}
#endif
	return next_sigaction(number, set, before);
}

/* forked makes a child join by itself. Its timers are its parent's, but it has no alarm. */
static void forked(void)
{
	leave(NULL);
	timers.event = -1;
	timers.started = false;
	pthread_mutex_init(&timers.mutex, NULL);
	for (int i = 0; i < timers.count; i++)
		timers.all[i].at = 0;
}

/* Traps the counter of programs that are linked with libibverbs. Other programs keep it: what they start, perhaps without this library,
 * could not read a trapped one. */
__attribute__((constructor)) static void begin(void)
{
	pthread_key_create(&ended, leave);
	pthread_atfork(NULL, NULL, forked);
	sigaction(SIGSEGV, NULL, NULL);
#ifdef __x86_64__
	void *verbs = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (verbs && joined())
		trap_counter();
	if (verbs)
		dlclose(verbs);
#endif
}
