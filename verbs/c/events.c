#include <sys/socket.h>

#include "library.h"

/* The program's objects that events are about, by their numbers. The mutex protects them, and keeps events in their channels meanwhile. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct known *buckets[1024];
static uint64_t last_number;

/* place_of returns where the link to the object of a number is, or would be. */
static struct known **place_of(uint64_t number)
{
	struct known **at = &buckets[number % (sizeof(buckets) / sizeof(buckets[0]))];
	while (*at && (*at)->number != number)
		at = &(*at)->next;
	return at;
}

uint64_t pausenet_know(struct known *k)
{
	pthread_mutex_lock(&mutex);
	k->number = ++last_number;
	*place_of(k->number) = k;
	pthread_mutex_unlock(&mutex);
	return k->number;
}

void pausenet_forget(struct known *k, int fd, size_t at)
{
	pthread_mutex_lock(&mutex);
	*place_of(k->number) = k->next;
	pthread_mutex_unlock(&mutex);
	if (fd >= 0)
		pausenet_skip(fd, at);
}

void pausenet_skip(int fd, size_t at)
{
	uint64_t words[2];
	ssize_t least = (ssize_t)((at + 1) * sizeof(words[0]));
	pthread_mutex_lock(&mutex);
	while (recv(fd, words, sizeof(words), MSG_PEEK | MSG_DONTWAIT) >= least && !*place_of(words[at]))
		recv(fd, words, sizeof(words), MSG_DONTWAIT);
	pthread_mutex_unlock(&mutex);
}

ssize_t pausenet_take(int fd, uint64_t *words, size_t count, size_t at, struct known **about)
{
	for (;;) {
		pthread_mutex_lock(&mutex);
		ssize_t n = recv(fd, words, count * sizeof(*words), MSG_DONTWAIT);
		*about = n >= (ssize_t)((at + 1) * sizeof(*words)) ? *place_of(words[at]) : NULL;
		pthread_mutex_unlock(&mutex);
		if (*about)
			return n;
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return n;
		if (n < 0) { /* wait, unless the program wants none to wait, without taking what another thread may */
			n = recv(fd, words, sizeof(*words), MSG_PEEK);
			if (n == 0 || (n < 0 && errno != EINTR))
				return n;
		}
	}
}
