/* Waits by each call that the library of programs' clocks has (verbs/c/clock.c), and compares the virtual time that passed with
 * the time that was asked for. It prints the calls that differ. The command's TestLockstepCalls runs it on a host of a fabric in
 * lock step.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
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

static pthread_barrier_t ready; /* virtual time may pass while a thread starts */

static void *writes(void *none)
{
	char byte = 0;
	now(CLOCK_MONOTONIC);
	pthread_barrier_wait(&ready);
	usleep(200);
	return write(pipes[1], &byte, 1) == 1 ? none : NULL;
}

static void *posts(void *none)
{
	now(CLOCK_MONOTONIC);
	pthread_barrier_wait(&ready);
	usleep(200);
	sem_post(&semaphore);
	return none;
}

static void rings(int number)
{
	(void)number;
	alarms++;
}

static void sleeps(void)
{
	struct timespec t = {.tv_nsec = 300 * US};
	TRY("nanosleep", 300 * US, nanosleep(&t, NULL) == 0);
	TRY("usleep", 300 * US, usleep(300) == 0);
	TRY("clock_nanosleep", 300 * US, clock_nanosleep(CLOCK_REALTIME, 0, &t, NULL) == 0);
	t = in(CLOCK_MONOTONIC, 300 * US);
	TRY("clock_nanosleep until a time", 300 * US - COSTS / 2, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == 0);
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
	TRY("select", 300 * US, select(pipes[0] + 1, &set, NULL, NULL, &v) == 0 && !FD_ISSET(pipes[0], &set));
	TRY("pselect", 300 * US, pselect(0, NULL, NULL, NULL, &t, NULL) == 0);
	TRY("poll without waiting", 0, poll(&one, 1, 0) == 0);
	pthread_create(&thread, NULL, writes, NULL);
	pthread_barrier_wait(&ready);
	began = now(CLOCK_MONOTONIC);
	bool found = poll(&one, 1, 1000) == 1 && one.revents == POLLIN;
	check("poll, with data", found, 200 * US - COSTS, 2 * COSTS);
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
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
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
	check("sem_timedwait, posted", taken, 200 * US - COSTS, 100 * US + 2 * COSTS); /* it looks each 100 us */
	pthread_join(thread, NULL);
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
	close(fd);
}

int main(void)
{
	pthread_barrier_init(&ready, NULL, 2);
	if (pipe(pipes) < 0)
		return 1;
	sleeps();
	polls();
	locks();
	descriptors();
	signals();
	sockets();
	return failed;
}
