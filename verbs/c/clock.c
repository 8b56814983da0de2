/* The library that "up --clock lockstep" preloads into programs on nodes. Their clocks show virtual time, which stands still while
 * any of them runs (orchestrator/lockstep). Calls that wait for a time wait for virtual time. A call that reads a clock, or polls,
 * takes a stated time.
 * A process outside of such a fabric keeps the machine's clocks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
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
#include <sys/times.h>
#include <sys/un.h>
#include <threads.h>
#include <ucontext.h>
#include <unistd.h>

#include "clock_parts.h"
#include "protocol.h"

/* Virtual CLOCK_MONOTONIC begins with a thousand seconds, as programs take 0 for none. */
enum { MONOTONIC_START = 1000 };

struct clock_page *page;
static bool off; /* the process has no such fabric */
static pthread_key_t ended;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

__thread struct mine mine;

kernel_call *kernel(void)
{
	return NEXT(syscall);
}

static void leave(void *none)
{
	(void)none;
	if (mine.connected) {
		close(mine.connection);
		close(mine.event);
	}
	mine = (struct mine){0};
}

/* forked makes a child join by itself. */
static void forked(void)
{
	leave(NULL);
	forget_timers();
}

/* prepare has threads leave. Constructors of other libraries may read the clock before begin runs. */
static void prepare(void)
{
	pthread_key_create(&ended, leave);
	pthread_atfork(NULL, NULL, forked);
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
	socklen_t length = offsetof(struct sockaddr_un, sun_path) + sizeof(SOCKET_NAME);
	if (raw(SYS_connect, mine.connection, &name, length, 0, 0, CLOCK_REGISTERS) < 0 ||
	    raw(SYS_sendmsg, mine.connection, &m, MSG_NOSIGNAL, 0, 0, CLOCK_REGISTERS) < 0)
		return false;
	v = (struct iovec){reply, sizeof(reply)};
	m.msg_controllen = sizeof(control);
	if (raw(SYS_recvmsg, mine.connection, &m, MSG_CMSG_CLOEXEC, 0, 0, CLOCK_REGISTERS) != (ssize_t)sizeof(reply) || reply[0] ||
	    !CMSG_FIRSTHDR(&m))
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
bool joined(void)
{
	if (mine.connected)
		return true;
	if (off || mine.connecting)
		return false;
	int before = errno;
	mine.connecting = true;
	pthread_once(&prepared, prepare);
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

struct clock_slot *slot(void)
{
	return &page->slots[mine.slot];
}

uint64_t fabric_now(void)
{
	return __atomic_load_n(&page->now, __ATOMIC_ACQUIRE);
}

uint64_t now(void)
{
	uint64_t n = fabric_now();
	return n > mine.local ? n : mine.local;
}

/* waits_until tells the fabric when to wake the thread; 0: not at a time. It wakes it by the slot's word, or by its eventfd. The result is
 * what was told before; 0: the fabric has woken it.
 */
uint64_t waits_until(uint64_t t, bool word)
{
	__atomic_store_n(&slot()->waits, word, __ATOMIC_SEQ_CST);
	return __atomic_exchange_n(&slot()->deadline, t, __ATOMIC_SEQ_CST);
}

/* wait_until waits until a virtual time, or until the fabric wakes the thread earlier. The result is an errno. It polls, as a read
 * would go on after a signal's handler.
 */
static int wait_until(uint64_t t, bool cancelable)
{
	struct pollfd event = {.fd = mine.event, .events = POLLIN};
	while (fabric_now() < t) {
		uint64_t n;
		waits_until(t, false);
		long got = cancelable ? CANCELABLE(raw(SYS_ppoll, &event, 1, NULL, NULL, _NSIG / 8))
				      : raw(SYS_ppoll, &event, 1, NULL, NULL, _NSIG / 8);
		if (got > 0)
			raw(SYS_read, mine.event, &n, sizeof(n));
		uint64_t left = waits_until(0, false);
		if (got < 0)
			return errno;
		if (!left) /* the fabric has woken it */
			return 0;
	}
	return 0;
}

int sleep_until(uint64_t t)
{
	return wait_until(t, false);
}

/* pay waits until the fabric's time is the thread's. */
void pay(void)
{
	int before = errno;
	while (mine.local > fabric_now())
		sleep_until(mine.local);
	errno = before;
}

/* called notes that the thread does not poll its memory. */
void called(void)
{
	__atomic_store_n(&slot()->calls, slot()->calls + 1, __ATOMIC_RELAXED);
}

void pass(uint64_t cost)
{
	mine.local = now() + cost;
	called();
	if (mine.local - fabric_now() > MOST_AHEAD && mine.local >= __atomic_load_n(&page->quiet, __ATOMIC_ACQUIRE))
		pay();
}

/* act notes that the thread does what may come back to it, or to others, sooner than the fabric knows. */
void act(void)
{
	__atomic_store_n(&page->quiet, 0, __ATOMIC_RELEASE);
}

uint64_t read_clock(void)
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

uint64_t offset_of(clockid_t id)
{
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_REALTIME_ALARM:
	case CLOCK_TAI:
		return page->epoch;
	default:
		return (uint64_t)MONOTONIC_START * SECOND;
	}
}

bool is_virtual(clockid_t id)
{
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_BOOTTIME:
	case CLOCK_REALTIME_ALARM:
	case CLOCK_BOOTTIME_ALARM:
	case CLOCK_TAI:
		return joined();
	default:
		return false;
	}
}

struct timespec timespec_of(uint64_t t)
{
	return (struct timespec){.tv_sec = (time_t)(t / SECOND), .tv_nsec = (long)(t % SECOND)};
}

/* span is a time in ns; it ends at what is as good as never. */
uint64_t span(const struct timespec *t)
{
	const time_t most = (time_t)1 << 32;
	return (uint64_t)(t->tv_sec < 0 ? 0 : t->tv_sec > most ? most
							       : t->tv_sec) *
		       SECOND +
	       (uint64_t)t->tv_nsec;
}

uint64_t nanoseconds(const struct timeval *t)
{
	return span(&(struct timespec){t->tv_sec, t->tv_usec * 1000});
}

/* time_of returns the virtual time at which a clock shows a time. */
uint64_t time_of(clockid_t id, const struct timespec *t)
{
	uint64_t at = span(t), from = offset_of(id);
	return at > from ? at - from : 0;
}

bool valid(const struct timespec *t)
{
	return t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < SECOND;
}

EXPORT int clock_gettime(clockid_t id, struct timespec *t)
{
	if (!is_virtual(id))
		return (int)raw(SYS_clock_gettime, id, t);
	*t = timespec_of(read_clock() + offset_of(id));
	return 0;
}

EXPORT int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	if (!joined())
		return (int)raw(SYS_gettimeofday, t, zone);
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

EXPORT int timespec_get(struct timespec *t, int base)
{
	return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, t) == 0 ? base : 0;
}

/* times counts ticks of virtual time. The processor times are the machine's. */
EXPORT clock_t times(struct tms *t)
{
	clock_t machine = raw(SYS_times, t);
	return joined() ? (clock_t)((read_clock() + offset_of(CLOCK_BOOTTIME)) / (uint64_t)(SECOND / sysconf(_SC_CLK_TCK))) : machine;
}

/* Waiting for a time. */

EXPORT int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
	if (!is_virtual(id))
		return raw(SYS_clock_nanosleep, id, flags, wanted, left) < 0 ? errno : 0;
	if (!valid(wanted))
		return EINVAL;
	uint64_t t = flags & TIMER_ABSTIME ? time_of(id, wanted) : now() + span(wanted);
	int error = wait_until(t, true);
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

EXPORT int thrd_sleep(const struct timespec *wanted, struct timespec *left)
{
	int error = clock_nanosleep(CLOCK_REALTIME, 0, wanted, left);
	return error == EINTR ? -1 : error ? -2
					   : 0;
}

/* poll_until polls until a virtual time, UINT64_MAX: without one. */
int poll_until(struct pollfd *fds, nfds_t count, uint64_t until, const sigset_t *mask)
{
	struct pollfd few[64], *all = count < 64 ? few : malloc((count + 1) * sizeof(*all));
	if (!all)
		return errno = ENOMEM, -1;
	if (count > 0)
		memcpy(all, fds, count * sizeof(*all));
	all[count] = (struct pollfd){.fd = mine.event, .events = POLLIN};
	waits_until(until == UINT64_MAX ? 0 : until, false);
	int found = (int)CANCELABLE(raw(SYS_ppoll, all, count + (until != UINT64_MAX), NULL, mask, _NSIG / 8)), error = errno;
	waits_until(0, false);
	if (found > 0) {
		uint64_t n;
		if (until != UINT64_MAX && all[count].revents && found--)
			raw(SYS_read, mine.event, &n, sizeof(n));
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
int poll_for(struct pollfd *fds, nfds_t count, uint64_t most, const sigset_t *mask)
{
	const struct timespec none = {0};
	pass(CALL_COST);
	pay();
	int found = (int)raw(SYS_ppoll, fds, count, &none, mask, _NSIG / 8);
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
		return (int)raw(SYS_ppoll, fds, count, most ? &t : NULL, mask, _NSIG / 8);
	return poll_for(fds, count, most ? span(most) : UINT64_MAX, mask);
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int milliseconds)
{
	struct timespec t = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
	return ppoll(fds, count, milliseconds < 0 ? NULL : &t, NULL);
}

/* epoll_for waits for events for a time in ns. Another thread may take what it has found. */
static int epoll_for(int fd, struct epoll_event *events, int count, uint64_t most, const sigset_t *mask)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	for (uint64_t end = most == UINT64_MAX ? most : now() + most;; most = end == UINT64_MAX ? end : end - now()) {
		int ready = poll_for(&one, 1, most, mask), found = ready;
		if (ready > 0)
			found = (int)raw(SYS_epoll_pwait, fd, events, count, 0, NULL, _NSIG / 8);
		if (found || ready <= 0 || now() >= end)
			return found;
	}
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int count, int milliseconds, const sigset_t *mask)
{
	if (joined())
		return epoll_for(fd, events, count, milliseconds < 0 ? UINT64_MAX : (uint64_t)milliseconds * 1000000, mask);
	return (int)CANCELABLE(raw(SYS_epoll_pwait, fd, events, count, milliseconds, mask, _NSIG / 8));
}

EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int count, const struct timespec *most, const sigset_t *mask)
{
	if (joined())
		return epoll_for(fd, events, count, most ? span(most) : UINT64_MAX, mask);
	return (int)CANCELABLE(raw(SYS_epoll_pwait2, fd, events, count, most, mask, _NSIG / 8));
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int count, int milliseconds)
{
	return epoll_pwait(fd, events, count, milliseconds, NULL);
}

/* select_for selects for a time, and sets it to what is left of it, as Linux does. */
static int select_for(int count, fd_set *in, fd_set *out, fd_set *bad, struct timespec *most, const sigset_t *mask)
{
	struct {
		const sigset_t *mask;
		size_t size;
	} masked = {mask, _NSIG / 8};
	if (!joined())
		return (int)CANCELABLE(raw(SYS_pselect6, count, in, out, bad, most, &masked));
	/* poll, to wait; then select, to know */
	struct pollfd fds[FD_SETSIZE];
	nfds_t n = 0;
	uint64_t end = most ? now() + span(most) : 0;
	for (int i = 0; i < count && i < FD_SETSIZE; i++) {
		short events = (short)((in && FD_ISSET(i, in) ? POLLIN : 0) | (out && FD_ISSET(i, out) ? POLLOUT : 0) |
				       (bad && FD_ISSET(i, bad) ? POLLPRI : 0));
		if (events)
			fds[n++] = (struct pollfd){.fd = i, .events = events};
	}
	int found = poll_for(fds, n, most ? span(most) : UINT64_MAX, mask);
	if (found >= 0)
		found = (int)raw(SYS_pselect6, count, in, out, bad, &(struct timespec){0}, NULL);
	if (most)
		*most = timespec_of(end > now() ? end - now() : 0);
	return found;
}

EXPORT int pselect(int count, fd_set *in, fd_set *out, fd_set *bad, const struct timespec *most, const sigset_t *mask)
{
	struct timespec t = most ? *most : (struct timespec){0};
	return select_for(count, in, out, bad, most ? &t : NULL, mask);
}

EXPORT int select(int count, fd_set *in, fd_set *out, fd_set *bad, struct timeval *most)
{
	struct timespec t = most ? (struct timespec){.tv_sec = most->tv_sec, .tv_nsec = most->tv_usec * 1000} : (struct timespec){0};
	int found = select_for(count, in, out, bad, most ? &t : NULL, NULL);
	if (most)
		*most = (struct timeval){.tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000};
	return found;
}

/* sigtimedwait waits for a signalfd, to wait; then for a signal, to know. */
EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *most)
{
	const struct timespec none = {0};
	int fd = most && joined() ? (int)raw(SYS_signalfd4, -1, set, _NSIG / 8, O_CLOEXEC) : -1;
	if (fd < 0)
		return (int)CANCELABLE(raw(SYS_rt_sigtimedwait, set, info, most, _NSIG / 8));
	struct pollfd one = {.fd = fd, .events = POLLIN};
	int got, found = 1;
	for (uint64_t end = now() + span(most); found > 0;) {
		got = (int)raw(SYS_rt_sigtimedwait, set, info, &none, _NSIG / 8);
		if (got > 0 || errno != EAGAIN)
			break;
		found = poll_until(&one, 1, end, NULL);
	}
	int error = found ? errno : EAGAIN;
	close(fd);
	errno = error;
	if (got > 0 && info && info->si_code == SI_TKILL)
		info->si_code = SI_USER;
	return got;
}

/* What programs call instead that are compiled with _FORTIFY_SOURCE. */

EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int milliseconds, size_t room)
{
	return room / sizeof(*fds) < count ? __chk_fail(), -1 : poll(fds, count, milliseconds);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *most, const sigset_t *mask, size_t room)
{
	return room / sizeof(*fds) < count ? __chk_fail(), -1 : ppoll(fds, count, most, mask);
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
	next_sigaction = NEXT(sigaction);
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

/* Traps the counter of programs that are linked with libibverbs. Other programs keep it: what they start, perhaps without this library,
 * could not read a trapped one. */
__attribute__((constructor)) static void begin(void)
{
	sigaction(SIGSEGV, NULL, NULL);
#ifdef __x86_64__
	void *verbs = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (verbs && joined())
		trap_counter();
	if (verbs)
		dlclose(verbs);
#endif
}
