#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "library.h"

int pausenet_connect(struct connection *c)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	memcpy(name.sun_path + 1, SOCKET_NAME, sizeof(SOCKET_NAME) - 1);
	if (connect(fd, (struct sockaddr *)&name, offsetof(struct sockaddr_un, sun_path) + sizeof(SOCKET_NAME)) < 0) {
		int error = errno;
		close(fd);
		return error;
	}
	c->fd = fd;
	pthread_mutex_init(&c->mutex, NULL);
	return 0;
}

int pausenet_reply(struct connection *c, uint64_t *reply, size_t most, int *files, size_t most_files)
{
	uint64_t words[REPLY_WORDS] = {EIO};
	struct iovec v = {words, sizeof(words)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t n;
	do
		n = recvmsg(c->fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)sizeof(uint64_t))
		return n < 0 ? errno : EIO; /* the fabric has ended */
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int file;
			memcpy(&file, CMSG_DATA(h) + i * sizeof(int), sizeof(int));
			if (i < most_files)
				files[i] = file;
			else
				close(file);
		}
	}
	if (most > (size_t)n / sizeof(uint64_t) - 1)
		most = (size_t)n / sizeof(uint64_t) - 1;
	if (most > 0)
		memcpy(reply, words + 1, most * sizeof(uint64_t));
	return (int)words[0];
}

int pausenet_call(struct connection *c, const uint64_t *request, size_t words, uint64_t *reply, size_t most, int *files, size_t most_files)
{
	int error = 0, cancel;
	ssize_t n;
	/* A thread that is cancelled here would leave the mutex locked, and a reply for the next. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&c->mutex);
	if (pausenet_clock_busy)
		pausenet_clock_busy(true);
	do
		n = send(c->fd, request, words * sizeof(uint64_t), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	error = n < 0 ? errno : pausenet_reply(c, reply, most, files, most_files);
	if (pausenet_clock_busy)
		pausenet_clock_busy(false);
	pthread_mutex_unlock(&c->mutex);
	pthread_setcancelstate(cancel, NULL);
	return error;
}
