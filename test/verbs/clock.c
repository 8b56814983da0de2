/* Waits by each call that the library of programs' clocks has (verbs/c/clock.c), and compares the virtual time that passed with
 * the time that was asked for. It prints the calls that differ. The command's TestLockstepCalls runs it on a host of a fabric in
 * lock step.
 */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { US = 1000,
       MS = 1000000,
       SECOND = 1000000000 };

/* What calls cost (verbs/c/clock.c), for a test that makes a few of them. */
enum { COSTS = 2000 };

static bool failed;
static long long began;

static long long now(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (long long)t.tv_sec * SECOND + t.tv_nsec;
}

static struct timespec in(clockid_t id, long long ns)
{
	ns += now(id);
	return (struct timespec){ns / SECOND, ns % SECOND};
}

static void check(const char *call, bool right, long long want, long long late)
{
	long long got = now(CLOCK_MONOTONIC) - began;
	if (!right || got < want || got > want + late) {
		printf("%s: %s, took %lld ns, want %lld to %lld\n", call, right ? "right result" : "wrong result", got, want, want + late);
		failed = true;
	}
}

/* TRY makes a call whose result must be true after a time in ns. */
#define TRY(name, ns, call) (began = now(CLOCK_MONOTONIC), check(name, call, ns, COSTS))

static int pipes[2];
static sem_t semaphore;
static volatile sig_atomic_t alarms;

static pthread_barrier_t ready;

/* begin has a thread register, and waits for the one that made it. */
static void begin(void)
{
	now(CLOCK_MONOTONIC);
	pthread_barrier_wait(&ready);
}

static void *writes(void *none)
{
	char byte = 0;
	begin();
	usleep(250);
	return write(pipes[1], &byte, 1) == 1 ? none : NULL;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static cnd_t c11_condition;
static int word;
static bool done;

static void *posts(void *none)
{
	begin();
	usleep(250);
	sem_post(&semaphore);
	return none;
}

static void *notifies(void *none)
{
	begin();
	usleep(250);
	pthread_mutex_lock(&mutex);
	done = true;
	pthread_cond_signal(&condition);
	cnd_signal(&c11_condition);
	pthread_mutex_unlock(&mutex);
	return none;
}

static void *wakes(void *none)
{
	begin();
	usleep(250);
	return syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 1 ? none : &word;
}

static void *holds(void *none)
{
	pthread_mutex_lock(&mutex);
	pthread_rwlock_wrlock(&rwlock);
	begin();
	usleep(2000);
	pthread_rwlock_unlock(&rwlock);
	pthread_mutex_unlock(&mutex);
	return none;
}

static void *sleeps_long(void *none)
{
	begin();
	usleep(1000000000);
	return none;
}

static void *reads(void *none)
{
	char byte;
	begin();
	return read(pipes[0], &byte, 1) == 1 ? none : NULL;
}

static void rings(int number)
{
	(void)number;
	alarms++;
}

/* interrupt makes SIGALRM interrupt calls after a time in us. */
static bool interrupt(long us)
{
	struct sigaction own = {.sa_handler = rings};
	sigaction(SIGALRM, &own, NULL);
	return setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = us}}, NULL) == 0;
}

static void sleeps(void)
{
	struct timespec t = {.tv_nsec = 300 * US};
	TRY("nanosleep", 300 * US, nanosleep(&t, NULL) == 0);
	TRY("usleep", 300 * US, usleep(300) == 0);
	TRY("clock_nanosleep", 300 * US, clock_nanosleep(CLOCK_REALTIME, 0, &t, NULL) == 0);
	t = in(CLOCK_MONOTONIC, 300 * US);
	TRY("clock_nanosleep until a time", 300 * US - COSTS / 2, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == 0);
	t = (struct timespec){.tv_nsec = 300 * US};
	TRY("thrd_sleep", 300 * US, thrd_sleep(&t, NULL) == 0);
	TRY("syscall(SYS_clock_nanosleep)", 300 * US, syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL) == 0);
	TRY("syscall(SYS_nanosleep)", 300 * US, syscall(SYS_nanosleep, &t, NULL) == 0);
	TRY("sleep", SECOND, sleep(1) == 0);
}

/* clocks compares other calls that read a clock with clock_gettime. */
static void clocks(void)
{
	struct timespec t;
	struct timeval v;
	struct tms processor;
	long long at = now(CLOCK_REALTIME);
	TRY("gettimeofday", 0, gettimeofday(&v, NULL) == 0 && v.tv_sec * 1000000LL + v.tv_usec - at / US <= COSTS / US);
	TRY("time", 0, time(NULL) - now(CLOCK_REALTIME) / SECOND == 0);
	TRY("timespec_get", 0, timespec_get(&t, TIME_UTC) == TIME_UTC && t.tv_sec * (long long)SECOND + t.tv_nsec - at < 2 * COSTS);
	TRY("CLOCK_TAI", 0, now(CLOCK_TAI) - now(CLOCK_REALTIME) <= 0);
	TRY("clock_getres", 0, clock_getres(CLOCK_MONOTONIC, &t) == 0 && t.tv_sec == 0 && t.tv_nsec == 1);
	TRY("syscall(SYS_clock_gettime)", 0,
	    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t) == 0 && t.tv_sec * (long long)SECOND + t.tv_nsec - began < COSTS);
	clock_t before = times(&processor);
	TRY("times", 50 * MS, usleep(50000) == 0 && times(&processor) - before == 5);
}

static void polls(void)
{
	char byte;
	pthread_t thread;
	fd_set set;
	struct timespec t = {.tv_nsec = 300 * US};
	struct timeval v = {.tv_usec = 300};
	struct pollfd one = {.fd = pipes[0], .events = POLLIN};
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], &event);
	FD_ZERO(&set);
	FD_SET(pipes[0], &set);
	TRY("poll", 1 * MS, poll(&one, 1, 1) == 0);
	TRY("poll of nothing", 1 * MS, poll(NULL, 0, 1) == 0);
	TRY("ppoll", 300 * US, ppoll(&one, 1, &t, NULL) == 0);
	TRY("epoll_wait", 1 * MS, epoll_wait(epoll, &event, 1, 1) == 0);
	TRY("epoll_pwait", 1 * MS, epoll_pwait(epoll, &event, 1, 1, NULL) == 0);
	TRY("epoll_pwait2", 300 * US, epoll_pwait2(epoll, &event, 1, &t, NULL) == 0);
	TRY("syscall(SYS_epoll_pwait)", 1 * MS, syscall(SYS_epoll_pwait, epoll, &event, 1, 1, NULL, 8) == 0);
	TRY("syscall(SYS_ppoll)", 300 * US, syscall(SYS_ppoll, &one, 1, &t, NULL, 8) == 0);
	volatile nfds_t one_of = 1;
	TRY("poll, checked for overflows", 1 * MS, poll(&one, one_of, 1) == 0);
	TRY("select", 300 * US, select(pipes[0] + 1, &set, NULL, NULL, &v) == 0 && !FD_ISSET(pipes[0], &set));
	v.tv_usec = 5000;
	TRY("select, interrupted", 300 * US, interrupt(300) && select(0, NULL, NULL, NULL, &v) < 0 && v.tv_usec <= 4700 && v.tv_usec >= 4697);
	TRY("pselect", 300 * US, pselect(0, NULL, NULL, NULL, &t, NULL) == 0);
	TRY("poll without waiting", 0, poll(&one, 1, 0) == 0);
	pthread_create(&thread, NULL, writes, NULL);
	pthread_barrier_wait(&ready);
	began = now(CLOCK_MONOTONIC);
	bool found = poll(&one, 1, 1000) == 1 && one.revents == POLLIN;
	check("poll, with data", found, 250 * US - COSTS, 2 * COSTS);
	TRY("epoll_wait, with data", 0, epoll_wait(epoll, &event, 1, 1000) == 1);
	FD_SET(pipes[0], &set);
	TRY("select, with data", 0, select(pipes[0] + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(pipes[0], &set));
	TRY("read, with data", 0, read(pipes[0], &byte, 1) == 1);
	pthread_join(thread, NULL);
	close(epoll);
}

static void locks(void)
{
	pthread_t thread;
	struct timespec t = in(CLOCK_REALTIME, 300 * US);
	int error = 0;
	sem_init(&semaphore, 0, 0);
	pthread_mutex_lock(&mutex);
	began = now(CLOCK_MONOTONIC);
	while (!error)
		error = pthread_cond_timedwait(&condition, &mutex, &t);
	check("pthread_cond_timedwait", error == ETIMEDOUT, 300 * US - COSTS / 2, COSTS);
	t = in(CLOCK_MONOTONIC, 300 * US);
	began = now(CLOCK_MONOTONIC);
	for (error = 0; !error;)
		error = pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &t);
	check("pthread_cond_clockwait", error == ETIMEDOUT, 300 * US - COSTS / 2, COSTS);
	pthread_mutex_unlock(&mutex);
	t = in(CLOCK_REALTIME, 300 * US);
	TRY("sem_timedwait", 300 * US - COSTS / 2, sem_timedwait(&semaphore, &t) < 0 && errno == ETIMEDOUT);
	t = in(CLOCK_MONOTONIC, 300 * US);
	TRY("sem_clockwait", 300 * US - COSTS / 2, sem_clockwait(&semaphore, CLOCK_MONOTONIC, &t) < 0 && errno == ETIMEDOUT);
	pthread_create(&thread, NULL, posts, NULL);
	pthread_barrier_wait(&ready);
	t = in(CLOCK_REALTIME, SECOND);
	began = now(CLOCK_MONOTONIC);
	bool taken = sem_timedwait(&semaphore, &t) == 0;
	check("sem_timedwait, posted", taken, 250 * US - COSTS, 2 * COSTS);
	pthread_join(thread, NULL);
	t = in(CLOCK_REALTIME, SECOND);
	TRY("sem_timedwait, interrupted", 300 * US, interrupt(300) && sem_timedwait(&semaphore, &t) < 0 && errno == EINTR);
	for (int i = 0; i < 2; i++) {
		done = false;
		pthread_create(&thread, NULL, notifies, NULL);
		pthread_barrier_wait(&ready);
		pthread_mutex_lock(&mutex);
		t = in(CLOCK_REALTIME, SECOND);
		began = now(CLOCK_MONOTONIC);
		for (error = 0; !done && !error;)
			error = i ? cnd_timedwait(&c11_condition, (mtx_t *)&mutex, &t) != thrd_success : pthread_cond_timedwait(&condition, &mutex, &t);
		check(i ? "cnd_timedwait, signaled" : "pthread_cond_timedwait, signaled", done, 250 * US - COSTS, 2 * COSTS);
		pthread_mutex_unlock(&mutex);
		pthread_join(thread, NULL);
	}
	t = in(CLOCK_REALTIME, 300 * US);
	pthread_mutex_lock(&mutex);
	began = now(CLOCK_MONOTONIC);
	for (error = thrd_success; error == thrd_success;)
		error = cnd_timedwait(&c11_condition, (mtx_t *)&mutex, &t);
	check("cnd_timedwait", error == thrd_timedout, 300 * US - COSTS / 2, COSTS);
	pthread_mutex_unlock(&mutex);
}

/* UNTIL makes a call until 300 us from now on a clock. It has the result. */
#define UNTIL(name, id, result, call) (t = in(id, 300 * US), TRY(name, 300 * US - COSTS / 2, (call) == (result)))

/* others waits for locks that another thread has, for it to end, and for it to be canceled. */
static void others(void)
{
	pthread_t thread;
	struct timespec t;
	void *result;
	pthread_create(&thread, NULL, holds, NULL);
	pthread_barrier_wait(&ready);
	long long from = now(CLOCK_MONOTONIC);
	UNTIL("pthread_mutex_timedlock", CLOCK_REALTIME, ETIMEDOUT, pthread_mutex_timedlock(&mutex, &t));
	UNTIL("pthread_mutex_clocklock", CLOCK_MONOTONIC, ETIMEDOUT, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &t));
	UNTIL("pthread_rwlock_timedrdlock", CLOCK_REALTIME, ETIMEDOUT, pthread_rwlock_timedrdlock(&rwlock, &t));
	UNTIL("pthread_rwlock_timedwrlock", CLOCK_REALTIME, ETIMEDOUT, pthread_rwlock_timedwrlock(&rwlock, &t));
	UNTIL("mtx_timedlock", CLOCK_REALTIME, thrd_timedout, mtx_timedlock((mtx_t *)&mutex, &t));
	UNTIL("pthread_timedjoin_np", CLOCK_REALTIME, ETIMEDOUT, pthread_timedjoin_np(thread, NULL, &t));
	t = in(CLOCK_REALTIME, SECOND);
	bool taken = pthread_mutex_timedlock(&mutex, &t) == 0;
	began = from;
	check("pthread_mutex_timedlock, unlocked", taken, 2000 * US - COSTS, 100 * US + 2 * COSTS); /* it looks each 100 us */
	pthread_mutex_unlock(&mutex);
	t = in(CLOCK_MONOTONIC, SECOND);
	TRY("pthread_rwlock_clockrdlock, free", 0, pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &t) == 0);
	UNTIL("pthread_rwlock_clockwrlock", CLOCK_MONOTONIC, ETIMEDOUT, pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &t));
	pthread_rwlock_unlock(&rwlock);
	pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &t);
	pthread_create(&thread, NULL, sleeps_long, NULL);
	pthread_barrier_wait(&ready);
	usleep(100);
	TRY("usleep, canceled", 0, pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
	pthread_create(&thread, NULL, reads, NULL);
	pthread_barrier_wait(&ready);
	usleep(100);
	TRY("read, canceled", 0, pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
}

static long futex(int op, int value, const struct timespec *t)
{
	return syscall(SYS_futex, &word, op, value, t, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void futexes(void)
{
	pthread_t thread;
	void *failure;
	struct timespec t = {.tv_nsec = 300 * US};
	TRY("FUTEX_WAIT", 300 * US, futex(FUTEX_WAIT_PRIVATE, 0, &t) < 0 && errno == ETIMEDOUT);
	TRY("FUTEX_WAIT, shared", 300 * US, futex(FUTEX_WAIT, 0, &t) < 0 && errno == ETIMEDOUT);
	TRY("FUTEX_WAIT of another value", 0, futex(FUTEX_WAIT_PRIVATE, 1, &t) < 0 && errno == EAGAIN);
	UNTIL("FUTEX_WAIT_BITSET", CLOCK_MONOTONIC, -1, futex(FUTEX_WAIT_BITSET_PRIVATE, 0, &t));
	UNTIL("FUTEX_WAIT_BITSET, date", CLOCK_REALTIME, -1, futex(FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 0, &t));
	t = (struct timespec){.tv_sec = 1};
	TRY("FUTEX_WAIT, interrupted", 300 * US, interrupt(300) && futex(FUTEX_WAIT_PRIVATE, 0, &t) < 0 && errno == EINTR);
	pthread_create(&thread, NULL, wakes, NULL);
	pthread_barrier_wait(&ready);
	began = now(CLOCK_MONOTONIC);
	bool woken = futex(FUTEX_WAIT_PRIVATE, 0, &t) == 0;
	check("FUTEX_WAIT, woken", woken, 250 * US - COSTS, 2 * COSTS);
	pthread_join(thread, &failure);
	TRY("FUTEX_WAKE", 0, !failure);
}

static void queues(void)
{
	char byte = 0, name[32];
	struct timespec t;
	struct mq_attr one = {.mq_maxmsg = 1, .mq_msgsize = 1};
	snprintf(name, sizeof(name), "/pausenet-%d", getpid());
	mqd_t q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &one);
	mq_unlink(name);
	UNTIL("mq_timedreceive", CLOCK_REALTIME, -1, mq_timedreceive(q, &byte, 1, NULL, &t));
	TRY("mq_timedsend", 0, mq_timedsend(q, &byte, 1, 0, &t) == 0);
	UNTIL("mq_timedsend, full", CLOCK_REALTIME, ETIMEDOUT, mq_timedsend(q, &byte, 1, 0, &t) < 0 ? errno : 0);
	TRY("mq_timedreceive, with data", 0, mq_timedreceive(q, &byte, 1, NULL, &t) == 1);
	mq_close(q);

	int set = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf take = {.sem_op = -1};
	t = (struct timespec){.tv_nsec = 300 * US};
	TRY("semtimedop", 300 * US, semtimedop(set, &take, 1, &t) < 0 && errno == EAGAIN);
	take.sem_flg = IPC_NOWAIT;
	TRY("semtimedop without waiting", 0, semtimedop(set, &take, 1, &t) < 0 && errno == EAGAIN);
	semctl(set, 0, IPC_RMID);

	struct aiocb operation = {.aio_fildes = pipes[0], .aio_buf = &byte, .aio_nbytes = 1};
	const struct aiocb *all[] = {&operation};
	aio_read(&operation);
	TRY("aio_suspend", 300 * US, aio_suspend(all, 1, &t) < 0 && errno == EAGAIN);
	bool written = write(pipes[1], &byte, 1) == 1;
	t.tv_sec = 1;
	began = now(CLOCK_MONOTONIC);
	check("aio_suspend, with data", written && aio_suspend(all, 1, &t) == 0 && aio_return(&operation) == 1, 0, 100 * US + COSTS);
}

static void descriptors(void)
{
	unsigned long long n = 0;
	struct itimerspec set = {.it_value = {.tv_nsec = 300 * US}}, left;
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	struct pollfd one = {.fd = fd, .events = POLLIN};
	TRY("timerfd", 300 * US, !timerfd_settime(fd, 0, &set, NULL) && read(fd, &n, sizeof(n)) == sizeof(n) && n == 1);
	TRY("timerfd, polled", 300 * US, !timerfd_settime(fd, 0, &set, NULL) && poll(&one, 1, 1000) == 1);
	TRY("timerfd, set again", 300 * US, !timerfd_settime(fd, 0, &set, NULL) && read(fd, &n, sizeof(n)) == sizeof(n) && n == 1);
	timerfd_settime(fd, 0, &set, NULL);
	usleep(100);
	timerfd_gettime(fd, &left);
	began = now(CLOCK_MONOTONIC);
	check("timerfd_gettime", left.it_value.tv_nsec <= 200 * US && left.it_value.tv_nsec > 200 * US - COSTS, 0, COSTS);
	set.it_interval.tv_nsec = 100 * US;
	TRY("timerfd, each 100 us", 500 * US,
	    !timerfd_settime(fd, 0, &set, NULL) && !usleep(450) && read(fd, &n, sizeof(n)) == sizeof(n) && n == 2 &&
		    read(fd, &n, sizeof(n)) == sizeof(n) && n == 1);
	set = (struct itimerspec){.it_value = in(CLOCK_MONOTONIC, 300 * US)};
	TRY("timerfd until a time", 300 * US - COSTS / 2,
	    !timerfd_settime(fd, TFD_TIMER_ABSTIME, &set, NULL) && read(fd, &n, sizeof(n)) == sizeof(n));
	set.it_value = (struct timespec){0};
	timerfd_settime(fd, 0, &set, NULL);
	TRY("timerfd, stopped", 1 * MS, poll(&one, 1, 1) == 0);
	close(fd);
}

static void signals(void)
{
	int status = 1;
	struct itimerval t = {.it_value = {.tv_usec = 300}}, left;
	signal(SIGALRM, rings);
	alarms = 0;
	TRY("setitimer", 300 * US, setitimer(ITIMER_REAL, &t, NULL) == 0 && pause() < 0 && alarms == 1);
	TRY("usleep, interrupted", 300 * US, setitimer(ITIMER_REAL, &t, NULL) == 0 && usleep(900) < 0 && errno == EINTR && alarms == 2);
	TRY("poll, interrupted", 300 * US, setitimer(ITIMER_REAL, &t, NULL) == 0 && poll(NULL, 0, 900) < 0 && errno == EINTR && alarms == 3);
	t.it_interval.tv_usec = 100;
	TRY("setitimer, each 100 us", 500 * US, setitimer(ITIMER_REAL, &t, NULL) == 0 && pause() < 0 && pause() < 0 && pause() < 0 && alarms == 6);
	t = (struct itimerval){0};
	setitimer(ITIMER_REAL, &t, NULL);
	alarm(2);
	usleep(300);
	TRY("getitimer", 0, getitimer(ITIMER_REAL, &left) == 0 && left.it_value.tv_sec == 1 && left.it_value.tv_usec > 999690);
	pid_t child = fork();
	if (!child) {
		t.it_value.tv_usec = 100;
		_exit(alarm(0) || setitimer(ITIMER_REAL, &t, NULL) || pause() == 0 || alarms != 7);
	}
	waitpid(child, &status, 0);
	TRY("alarm of a child", 0, status == 0);
	TRY("alarm", 0, alarm(0) == 2 && alarm(0) == 0 && alarms == 6);
}

static volatile sig_atomic_t rung, value, code;

static void tells(int number, siginfo_t *info, void *none)
{
	(void)number;
	(void)none;
	rung++;
	code = info->si_code;
	value = info->si_value.sival_int;
}

static void called(union sigval value)
{
	sem_post(value.sival_ptr);
}

static void timers(void)
{
	timer_t timer;
	sigset_t set, before;
	siginfo_t info;
	struct sigaction own = {.sa_sigaction = tells, .sa_flags = SA_SIGINFO};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1, .sigev_value.sival_int = 42};
	const struct itimerspec once = {.it_value = {.tv_nsec = 300 * US}}, never = {0};
	struct itimerspec each = {{0, 100 * US}, {0, 100 * US}}, left;
	struct timespec t = {.tv_nsec = 300 * US};
	sigaction(SIGRTMIN + 1, &own, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	TRY("timer_settime", 300 * US,
	    timer_settime(timer, 0, &once, NULL) == 0 && pause() < 0 && rung == 1 && value == 42 && code == SI_TIMER && !timer_getoverrun(timer));
	TRY("timer_settime, each 100 us", 300 * US,
	    timer_settime(timer, 0, &each, NULL) == 0 && pause() < 0 && pause() < 0 && pause() < 0 && rung == 4);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &set, &before);
	timer_settime(timer, 0, &each, NULL);
	usleep(550); /* at 100 us it sends the signal, and then expires four times more */
	timer_settime(timer, 0, &never, &left);
	began = now(CLOCK_MONOTONIC);
	check("timer_settime, what is left",
	      left.it_interval.tv_nsec == 100 * US && left.it_value.tv_nsec <= 50 * US && left.it_value.tv_nsec > 50 * US - COSTS, 0, COSTS);
	TRY("sigtimedwait, pending", 0,
	    sigtimedwait(&set, &info, &t) == SIGRTMIN + 1 && info.si_value.sival_int == 42 && info.si_code == SI_TIMER);
	TRY("sigtimedwait", 300 * US, sigtimedwait(&set, NULL, &t) < 0 && errno == EAGAIN);
	t.tv_sec = 1;
	TRY("sigtimedwait for a timer", 300 * US, timer_settime(timer, 0, &once, NULL) == 0 && sigtimedwait(&set, NULL, &t) == SIGRTMIN + 1);
	timer_settime(timer, 0, &each, NULL);
	usleep(550);
	sigprocmask(SIG_SETMASK, &before, NULL);
	TRY("timer_getoverrun", 0, timer_getoverrun(timer) == 4 && rung == 5);
	TRY("timer_getoverrun after a signal", 50 * US - COSTS, pause() < 0 && timer_getoverrun(timer) == 0 && rung == 6);
	each.it_value = in(CLOCK_MONOTONIC, 300 * US);
	each.it_interval.tv_nsec = 0;
	TRY("timer_settime until a time", 300 * US - COSTS / 2, timer_settime(timer, TIMER_ABSTIME, &each, NULL) == 0 && pause() < 0 && rung == 7);
	timer_settime(timer, 0, &once, NULL);
	TRY("timer_delete", 1 * MS, timer_delete(timer) == 0 && usleep(1000) == 0 && rung == 7);

	event = (struct sigevent){.sigev_notify = SIGEV_THREAD, .sigev_notify_function = called, .sigev_value.sival_ptr = &semaphore};
	timer_create(CLOCK_REALTIME, &event, &timer);
	t = in(CLOCK_REALTIME, SECOND);
	TRY("SIGEV_THREAD", 300 * US, timer_settime(timer, 0, &once, NULL) == 0 && sem_timedwait(&semaphore, &t) == 0);
	timer_delete(timer);
	event = (struct sigevent){.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 1, ._sigev_un._tid = gettid()};
	timer_create(CLOCK_BOOTTIME, &event, &timer);
	TRY("SIGEV_THREAD_ID", 300 * US, timer_settime(timer, 0, &once, NULL) == 0 && pause() < 0 && rung == 8);
	timer_delete(timer);
	event.sigev_notify = SIGEV_NONE;
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &once, NULL);
	usleep(100);
	timer_gettime(timer, &left);
	began = now(CLOCK_MONOTONIC);
	check("timer_gettime", left.it_value.tv_nsec <= 200 * US && left.it_value.tv_nsec > 200 * US - COSTS, 0, COSTS);
	usleep(300);
	TRY("timer_gettime, expired", 0, timer_gettime(timer, &left) == 0 && !left.it_value.tv_sec && !left.it_value.tv_nsec && rung == 8);
	each.it_value.tv_nsec = SECOND;
	TRY("timer_settime of no time", 0, timer_settime(timer, 0, &each, NULL) < 0 && errno == EINVAL);
	timer_delete(timer);
	event = (struct sigevent){.sigev_notify = SIGEV_NONE};
	TRY("timer_create of processor time", 0,
	    timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0 && timer_settime(timer, 0, &once, NULL) == 0 && timer_delete(timer) == 0);
}

static void sockets(void)
{
	char byte = 0, space[128];
	int on = 1, fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(own);
	struct timeval limit = {.tv_usec = 20000};
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
	struct timespec stamp = {0};
	bind(fd, (struct sockaddr *)&own, sizeof(own));
	getsockname(fd, (struct sockaddr *)&own, &length);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	TRY("recv", 20 * MS, recv(fd, &byte, 1, 0) < 0 && errno == EAGAIN);
	TRY("recvfrom", 20 * MS, recvfrom(fd, &byte, 1, 0, NULL, NULL) < 0 && errno == EAGAIN);
	TRY("recvmsg", 20 * MS, recvmsg(fd, &m, 0) < 0 && errno == EAGAIN);
	TRY("read", 20 * MS, read(fd, &byte, 1) < 0 && errno == EAGAIN);
	TRY("recv without waiting", 0, recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	long long sent = now(CLOCK_REALTIME);
	TRY("recvmsg, with data", 0, sendto(fd, &byte, 1, 0, (struct sockaddr *)&own, length) == 1 && recvmsg(fd, &m, 0) == 1);
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h))
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SO_TIMESTAMPNS)
			memcpy(&stamp, CMSG_DATA(h), sizeof(stamp));
	long long at = (long long)stamp.tv_sec * SECOND + stamp.tv_nsec;
	TRY("SO_TIMESTAMPNS", 0, at >= sent && at < sent + COSTS);
	struct mmsghdr many[2] = {{.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}}, {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}}};
	struct timespec most = {.tv_nsec = 10 * MS};
	sendto(fd, &byte, 1, 0, (struct sockaddr *)&own, length);
	TRY("recvmmsg, in part", 20 * MS, recvmmsg(fd, many, 2, 0, &most) == 1 && many[0].msg_len == 1);
	sendto(fd, &byte, 1, 0, (struct sockaddr *)&own, length);
	TRY("recvmmsg, for one", 0, recvmmsg(fd, many, 2, MSG_WAITFORONE, NULL) == 1);
	close(fd);
}

/* So much that the thread that reads it takes longer than what polls its memory may (lockstep.Quantum). */
enum { MUCH = 64 * 1024 * 1024 };
static char much[MUCH], got[MUCH];

static void *drains(void *fd)
{
	begin();
	usleep(250);
	for (size_t at = 0; at < MUCH;) {
		ssize_t n = read(*(int *)fd, got + at, MUCH - at);
		if (n <= 0)
			return fd;
		at += (size_t)n;
	}
	return NULL;
}

static void sends(void)
{
	int ends[2], server = socket(AF_INET, SOCK_STREAM, 0), clients[2];
	pthread_t thread;
	void *failure;
	struct timeval limit = {.tv_usec = 20000};
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(own);
	struct iovec parts[2] = {{much, MUCH / 2 - 1}, {much + MUCH / 2 - 1, MUCH / 2 + 1}};
	for (int i = 0; i < MUCH; i++)
		much[i] = (char)(i * 31 >> 3);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	TRY("write, in part", 20 * MS, (write(ends[0], much, MUCH) + MUCH - 1) / MUCH == 1);
	TRY("send", 20 * MS, send(ends[0], much, MUCH, 0) < 0 && errno == EAGAIN);
	TRY("sendto", 20 * MS, sendto(ends[0], much, 1, 0, NULL, 0) < 0 && errno == EAGAIN);
	TRY("writev", 20 * MS, writev(ends[0], parts, 2) < 0 && errno == EAGAIN);
	TRY("sendmsg", 20 * MS, sendmsg(ends[0], &(struct msghdr){.msg_iov = parts, .msg_iovlen = 2}, 0) < 0 && errno == EAGAIN);
	TRY("send without waiting", 0, send(ends[0], much, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	close(ends[0]);
	close(ends[1]);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	pthread_create(&thread, NULL, drains, &ends[1]);
	pthread_barrier_wait(&ready);
	began = now(CLOCK_MONOTONIC);
	bool all = writev(ends[0], parts, 2) == MUCH;
	check("writev, read after a while", all, 250 * US - COSTS, 1 * MS);
	shutdown(ends[0], SHUT_WR); /* else the thread would wait for what was not sent */
	pthread_join(thread, &failure);
	TRY("writev, data", 0, !failure && memcmp(much, got, MUCH) == 0);
	close(ends[0]);
	close(ends[1]);

	bind(server, (struct sockaddr *)&own, sizeof(own));
	listen(server, 0); /* one connection may wait */
	getsockname(server, (struct sockaddr *)&own, &length);
	setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	TRY("accept", 20 * MS, accept(server, NULL, NULL) < 0 && errno == EAGAIN);
	for (int i = 0; i < 2; i++) {
		clients[i] = socket(AF_INET, SOCK_STREAM, 0);
		setsockopt(clients[i], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	}
	TRY("connect", 0, connect(clients[0], (struct sockaddr *)&own, length) == 0 && !(fcntl(clients[0], F_GETFL) & O_NONBLOCK));
	TRY("connect, full", 20 * MS, connect(clients[1], (struct sockaddr *)&own, length) < 0 && errno == EINPROGRESS);
	TRY("accept, connected", 0, accept(server, NULL, NULL) >= 0);
}

static pthread_key_t first;

/* reads_early creates a key and reads the clock before the constructors of libraries, as constructors of other libraries may. */
static void reads_early(void)
{
	pthread_key_create(&first, NULL);
	now(CLOCK_MONOTONIC);
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = reads_early;

int main(void)
{
	TRY("pthread_getspecific of a key without a value", 0, !pthread_getspecific(first));
	pthread_barrier_init(&ready, NULL, 2);
	if (pipe(pipes) < 0)
		return 1;
	cnd_init(&c11_condition);
	sleeps();
	clocks();
	polls();
	locks();
	others();
	futexes();
	queues();
	descriptors();
	signals();
	timers();
	sockets();
	sends();
	return failed;
}
