/* Timers: alarm, setitimer(ITIMER_REAL), timerfd and timer_create. A thread of the library waits for them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock_parts.h"

/* What a timer is of: a descriptor of timerfd, or one of these. */
enum { ALARM = -1,
       CREATED = -2 };

struct timer {
	struct timer *next;
	uint64_t at, interval; /* virtual times; 0: not armed; once */
	uint64_t from;         /* offset of the timer's clock */
	int fd, own;           /* an eventfd, the program's and the library's; ALARM; CREATED: by timer_create */
	struct sigevent event; /* of timer_create */
	pthread_attr_t attributes;
	int number, overrun; /* of timer_create: si_timerid, and how often it expired since it sent its last signal */
};

static struct {
	pthread_mutex_t mutex;
	struct timer *all;
	int created, event; /* event wakes the thread; -1: there is none yet */
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

/* pending tells whether a signal waits for its delivery to a thread, 0: to the process. */
static bool pending(int thread, int number)
{
	char name[64], text[4096];
	snprintf(name, sizeof(name), "/proc/self/task/%d/status", thread ? thread : getpid());
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : raw(SYS_read, fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	const char *line = strstr(text, thread ? "\nSigPnd:" : "\nShdPnd:");
	return line && strtoull(line + strlen("\nSigPnd:"), NULL, 16) >> (number - 1) & 1;
}

/* A call of a function when a timer expires. */
struct notice {
	void (*function)(union sigval);
	union sigval value;
};

static void *notify(void *notice)
{
	struct notice n = *(struct notice *)notice;
	sigset_t none;
	free(notice);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	n.function(n.value);
	return NULL;
}

/* expire_created does what the program has asked timer_create for. */
static void expire_created(struct timer *t)
{
	pthread_t thread;
	int to = t->event.sigev_notify == SIGEV_THREAD_ID ? t->event._sigev_un._tid : 0;
	struct notice *n;
	siginfo_t info = {.si_signo = t->event.sigev_signo, .si_code = SI_TIMER};
	switch (t->event.sigev_notify) {
	case SIGEV_SIGNAL:
	case SIGEV_THREAD_ID:
		if (pending(to, info.si_signo)) {
			t->overrun++;
			break;
		}
		t->overrun = 0;
		info.si_timerid = t->number;
		info.si_value = t->event.sigev_value;
		if (to)
			raw(SYS_rt_tgsigqueueinfo, getpid(), to, info.si_signo, &info);
		else
			raw(SYS_rt_sigqueueinfo, getpid(), info.si_signo, &info);
		break;
	case SIGEV_THREAD:
		n = malloc(sizeof(*n));
		if (!n)
			break;
		*n = (struct notice){t->event.sigev_notify_function, t->event.sigev_value};
		if (pthread_create(&thread, &t->attributes, notify, n) != 0)
			free(n);
		break;
	}
}

static void expire(struct timer *t)
{
	uint64_t times = t->interval ? (fabric_now() - t->at) / t->interval + 1 : 1;
	t->at = t->interval ? t->at + times * t->interval : 0;
	if (t->fd == CREATED)
		expire_created(t);
	else if (t->fd == ALARM)
		kill(getpid(), SIGALRM);
	else if (raw(SYS_kcmp, getpid(), getpid(), KCMP_FILE, t->fd, t->own) > 0)
		t->at = 0; /* the program has closed it */
	else
		raw(SYS_write, t->own, &times, sizeof(times));
}

static void *keep_timers(void *none)
{
	uint64_t n;
	sigset_t before;
	while (joined()) {
		uint64_t first = 0;
		lock_timers(&before);
		timers.event = mine.event;
		for (struct timer *t = timers.all; t; t = t->next) {
			if (t->at && t->at <= fabric_now())
				expire(t);
			if (t->at && (!first || t->at < first))
				first = t->at;
		}
		unlock_timers(&before);
		waits_until(first, false);
		raw(SYS_read, mine.event, &n, sizeof(n));
		waits_until(0, false);
	}
	return none;
}

/* timer_of returns the timer of a descriptor, or the alarm. With the timers locked. */
static struct timer *timer_of(int fd)
{
	struct timer *t = timers.all;
	while (t && t->fd != fd)
		t = t->next;
	return t;
}

/* created returns a timer of timer_create, NULL if the C library has created it. With the timers locked. */
static struct timer *created(timer_t id)
{
	struct timer *t = timers.all;
	while (t && (t != id || t->fd != CREATED))
		t = t->next;
	return t;
}

/* add_timer returns a new timer, NULL without memory. With the timers locked. */
static struct timer *add_timer(int fd, int own, uint64_t from)
{
	struct timer *t = fd >= 0 ? timer_of(fd) : NULL;
	if (t) { /* of a descriptor that the program has closed */
		close(t->own);
	} else {
		t = malloc(sizeof(*t));
		if (!t)
			return NULL;
		t->next = timers.all;
		timers.all = t;
	}
	*t = (struct timer){.next = t->next, .fd = fd, .own = own, .from = from};
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
		raw(SYS_write, timers.event, &(uint64_t){1}, sizeof(uint64_t));
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
		return (int)raw(SYS_timerfd_create, id, flags);
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
	if (set && (!valid(&set->it_value) || !valid(&set->it_interval)))
		return errno = EINVAL, -1;
	lock_timers(&before);
	struct timer *t = timer_of(fd);
	if (t) {
		struct pollfd one = {.fd = t->own, .events = POLLIN};
		if (set && raw(SYS_ppoll, &one, 1, &(struct timespec){0}, NULL, _NSIG / 8) > 0)
			raw(SYS_read, t->own, &n, sizeof(n)); /* it has not expired since it is set */
		struct itimerspec was = arm(t, set, flags & TFD_TIMER_ABSTIME);
		if (old)
			*old = was;
	}
	unlock_timers(&before);
	return t ? 0 : (int)(set ? raw(SYS_timerfd_settime, fd, flags, set, old) : raw(SYS_timerfd_gettime, fd, old));
}

EXPORT int timerfd_gettime(int fd, struct itimerspec *t)
{
	return timerfd_settime(fd, 0, NULL, t);
}

/* timer_create keeps timers by virtual time. Others, of processor time, are the C library's. */
EXPORT int timer_create(clockid_t id, struct sigevent *restrict event, timer_t *restrict timer)
{
	sigset_t before;
	if (!is_virtual(id) || (event && event->sigev_notify != SIGEV_NONE && event->sigev_notify != SIGEV_THREAD &&
				(event->sigev_signo < 1 || event->sigev_signo > SIGRTMAX)))
		return NEXT(timer_create)(id, event, timer);
	lock_timers(&before);
	struct timer *t = add_timer(CREATED, -1, offset_of(id));
	if (t) {
		t->number = timers.created++;
		t->event = event ? *event : (struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM, .sigev_value.sival_int = t->number};
		if (t->event.sigev_notify == SIGEV_THREAD && t->event.sigev_notify_attributes)
			t->attributes = *t->event.sigev_notify_attributes;
		else
			pthread_attr_init(&t->attributes);
		pthread_attr_setdetachstate(&t->attributes, PTHREAD_CREATE_DETACHED);
		*timer = t;
	}
	unlock_timers(&before);
	return t ? 0 : (errno = EAGAIN, -1);
}

EXPORT int timer_settime(timer_t id, int flags, const struct itimerspec *restrict set, struct itimerspec *restrict old)
{
	sigset_t before;
	lock_timers(&before);
	struct timer *t = created(id);
	bool right = t && set && valid(&set->it_value) && valid(&set->it_interval);
	if (right) {
		struct itimerspec was = arm(t, set, flags & TIMER_ABSTIME);
		t->overrun = 0;
		if (old)
			*old = was;
	}
	unlock_timers(&before);
	if (!t)
		return NEXT(timer_settime)(id, flags, set, old);
	return right ? 0 : (errno = EINVAL, -1);
}

EXPORT int timer_gettime(timer_t id, struct itimerspec *left)
{
	sigset_t before;
	lock_timers(&before);
	struct timer *t = created(id);
	if (t)
		*left = arm(t, NULL, false);
	unlock_timers(&before);
	return t ? 0 : NEXT(timer_gettime)(id, left);
}

EXPORT int timer_getoverrun(timer_t id)
{
	sigset_t before;
	lock_timers(&before);
	struct timer *t = created(id);
	int overrun = t ? t->overrun : 0;
	unlock_timers(&before);
	return t ? overrun : NEXT(timer_getoverrun)(id);
}

EXPORT int timer_delete(timer_t id)
{
	sigset_t before;
	lock_timers(&before);
	struct timer *t = created(id), **at = &timers.all;
	for (; t && *at != t; at = &(*at)->next)
		;
	if (t)
		*at = t->next;
	unlock_timers(&before);
	free(t);
	return t ? 0 : NEXT(timer_delete)(id);
}

EXPORT int setitimer(__itimer_which_t which, const struct itimerval *restrict set, struct itimerval *restrict old)
{
	sigset_t before;
	if (which != ITIMER_REAL || !joined())
		return (int)(set ? raw(SYS_setitimer, which, set, old) : raw(SYS_getitimer, which, old));
	struct itimerspec wanted = {0}, was = {0};
	if (set)
		wanted = (struct itimerspec){timespec_of(nanoseconds(&set->it_interval)), timespec_of(nanoseconds(&set->it_value))};
	lock_timers(&before);
	struct timer *t = timer_of(ALARM);
	t = t ? t : add_timer(ALARM, -1, 0);
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

/* forget_timers keeps a child's timers of descriptors, which are its parent's. It has no others. */
void forget_timers(void)
{
	timers.event = -1;
	timers.started = false;
	pthread_mutex_init(&timers.mutex, NULL);
	for (struct timer **at = &timers.all, *t; (t = *at);) {
		t->at = 0;
		if (t->fd == CREATED) {
			*at = t->next;
			free(t);
		} else {
			at = &t->next;
		}
	}
}
