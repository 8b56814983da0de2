/* Sockets: time-outs of receiving, sending and connecting, and the times at which packets are sent and received. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock_parts.h"

static bool receive_limits, send_limits; /* the program has set SO_RCVTIMEO or SO_SNDTIMEO of a socket */

EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	receive_limits |= level == SOL_SOCKET && name == SO_RCVTIMEO;
	send_limits |= level == SOL_SOCKET && name == SO_SNDTIMEO;
	return (int)raw(SYS_setsockopt, fd, level, name, value, length);
}

/* limit_of returns a time-out of a socket in ns, SO_RCVTIMEO or SO_SNDTIMEO; 0: none, or calls do not wait. */
static uint64_t limit_of(int fd, int option, int flags)
{
	struct timeval limit = {0};
	socklen_t length = sizeof(limit);
	int before = errno;
	bool limited = (option == SO_RCVTIMEO ? receive_limits : send_limits) && !(flags & (MSG_DONTWAIT | MSG_ERRQUEUE)) && joined() &&
		       getsockopt(fd, SOL_SOCKET, option, &limit, &length) == 0 && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
	errno = before;
	return limited ? nanoseconds(&limit) : 0;
}

/* await waits for data for the SO_RCVTIMEO of a socket. It returns false, with errno, if none comes. */
static bool await(int fd, int flags)
{
	if (mine.connected)
		called();
	uint64_t limit = limit_of(fd, SO_RCVTIMEO, flags);
	if (!limit)
		return true;
	int before = errno, found = poll_for(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, limit, NULL);
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
	return recvfrom(fd, data, count, flags, NULL, NULL);
}

EXPORT ssize_t recvfrom(int fd, void *restrict data, size_t count, int flags, struct sockaddr *restrict from, socklen_t *restrict length)
{
	return await(fd, flags) ? CANCELABLE(raw(SYS_recvfrom, fd, data, count, flags, from, length)) : -1;
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t n = await(fd, flags) ? CANCELABLE(raw(SYS_recvmsg, fd, m, flags)) : -1;
	if (n >= 0 && m->msg_controllen > 0 && joined())
		stamp(m);
	return n;
}

/* recvmmsg looks at its time-out after each message, as the kernel does. */
EXPORT int recvmmsg(int fd, struct mmsghdr *all, unsigned int count, int flags, struct timespec *most)
{
	if (!joined())
		return (int)CANCELABLE(raw(SYS_recvmmsg, fd, all, count, flags, most));
	uint64_t end = most ? now() + span(most) : UINT64_MAX;
	unsigned int got = 0;
	int before = errno, wait = flags & ~MSG_WAITFORONE;
	while (got < count) {
		ssize_t n = recvmsg(fd, &all[got].msg_hdr, wait);
		if (n < 0)
			break;
		all[got++].msg_len = (unsigned int)n;
		wait |= flags & MSG_WAITFORONE ? MSG_DONTWAIT : 0;
		if (now() >= end)
			break;
	}
	if (got && most && end != UINT64_MAX)
		*most = timespec_of(end > now() ? end - now() : 0);
	errno = got ? before : errno;
	return got || !count ? (int)got : -1;
}

EXPORT ssize_t read(int fd, void *data, size_t count)
{
	return await(fd, 0) ? CANCELABLE(raw(SYS_read, fd, data, count)) : -1;
}

EXPORT ssize_t readv(int fd, const struct iovec *data, int count)
{
	return await(fd, 0) ? CANCELABLE(raw(SYS_readv, fd, data, count)) : -1;
}

EXPORT int accept4(int fd, struct sockaddr *restrict from, socklen_t *restrict length, int flags)
{
	return await(fd, 0) ? (int)CANCELABLE(raw(SYS_accept4, fd, from, length, flags)) : -1;
}

EXPORT int accept(int fd, struct sockaddr *restrict from, socklen_t *restrict length)
{
	return accept4(fd, from, length, 0);
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

/* send_for sends for a time in ns, and returns how much, as the kernel does for SO_SNDTIMEO. */
static ssize_t send_for(int fd, const struct msghdr *m, int flags, uint64_t most)
{
	struct iovec parts[IOV_MAX];
	struct msghdr rest = *m;
	struct pollfd one = {.fd = fd, .events = POLLOUT};
	uint64_t end = now() + most;
	size_t sent = 0, total = 0;
	bool ready = false;
	if (m->msg_iovlen > IOV_MAX)
		return errno = EMSGSIZE, -1;
	if (m->msg_iovlen > 0)
		memcpy(parts, m->msg_iov, m->msg_iovlen * sizeof(*parts));
	for (size_t i = 0; i < m->msg_iovlen; i++)
		total += parts[i].iov_len;
	rest.msg_iov = parts;
	for (;;) {
		ssize_t n = raw(SYS_sendmsg, fd, &rest, flags | MSG_DONTWAIT);
		if (n >= 0) {
			sent += (size_t)n;
			if (sent == total)
				return (ssize_t)sent;
			for (; rest.msg_iovlen > 0 && (size_t)n >= rest.msg_iov->iov_len; rest.msg_iovlen--)
				n -= (ssize_t)rest.msg_iov++->iov_len;
			rest.msg_iov->iov_base = (char *)rest.msg_iov->iov_base + n;
			rest.msg_iov->iov_len -= (size_t)n;
			rest.msg_controllen = 0;
			ready = false;
			continue;
		}
		if (errno != EAGAIN)
			break;
		if (ready) /* a full queue of a peer, which poll does not see */
			sleep_until(now() + RECHECK);
		int found = now() < end ? poll_until(&one, 1, end, NULL) : 0;
		if (!found)
			errno = EAGAIN;
		if (found <= 0)
			break;
		ready = true;
	}
	return sent ? (ssize_t)sent : -1;
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	sends();
	uint64_t limit = limit_of(fd, SO_SNDTIMEO, flags);
	return limit ? send_for(fd, m, flags, limit) : CANCELABLE(raw(SYS_sendmsg, fd, m, flags));
}

EXPORT int sendmmsg(int fd, struct mmsghdr *all, unsigned int count, int flags)
{
	sends();
	uint64_t limit = limit_of(fd, SO_SNDTIMEO, flags);
	if (!limit)
		return (int)CANCELABLE(raw(SYS_sendmmsg, fd, all, count, flags));
	unsigned int sent = 0;
	for (ssize_t n = 0; sent < count && (n = send_for(fd, &all[sent].msg_hdr, flags, limit)) >= 0; sent++)
		all[sent].msg_len = (unsigned int)n;
	return sent || !count ? (int)sent : -1;
}

EXPORT ssize_t sendto(int fd, const void *data, size_t count, int flags, const struct sockaddr *to, socklen_t length)
{
	sends();
	uint64_t limit = limit_of(fd, SO_SNDTIMEO, flags);
	if (!limit)
		return CANCELABLE(raw(SYS_sendto, fd, data, count, flags, to, length));
	struct iovec one = {(void *)data, count};
	return send_for(fd, &(struct msghdr){.msg_name = (void *)to, .msg_namelen = length, .msg_iov = &one, .msg_iovlen = 1}, flags, limit);
}

EXPORT ssize_t send(int fd, const void *data, size_t count, int flags)
{
	return sendto(fd, data, count, flags, NULL, 0);
}

EXPORT ssize_t writev(int fd, const struct iovec *data, int count)
{
	sends();
	uint64_t limit = limit_of(fd, SO_SNDTIMEO, 0);
	if (!limit || count < 0)
		return CANCELABLE(raw(SYS_writev, fd, data, count));
	return send_for(fd, &(struct msghdr){.msg_iov = (struct iovec *)data, .msg_iovlen = (size_t)count}, 0, limit);
}

EXPORT ssize_t write(int fd, const void *data, size_t count)
{
	sends();
	uint64_t limit = limit_of(fd, SO_SNDTIMEO, 0);
	struct iovec one = {(void *)data, count};
	return limit ? send_for(fd, &(struct msghdr){.msg_iov = &one, .msg_iovlen = 1}, 0, limit) : CANCELABLE(raw(SYS_write, fd, data, count));
}

EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t count)
{
	sends();
	return CANCELABLE(raw(SYS_sendfile, to, from, offset, count));
}

EXPORT ssize_t sendfile64(int to, int from, off64_t *offset, size_t count)
{
	return sendfile(to, from, offset, count);
}

/* connect waits for the SO_SNDTIMEO of a socket. It does not wait for a full queue of a local socket. */
EXPORT int connect(int fd, const struct sockaddr *to, socklen_t length)
{
	uint64_t limit = to && to->sa_family != AF_UNIX ? limit_of(fd, SO_SNDTIMEO, 0) : 0;
	if (!limit)
		return (int)CANCELABLE(raw(SYS_connect, fd, to, length));
	int flags = fcntl(fd, F_GETFL), error = 0;
	socklen_t size = sizeof(error);
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	sends();
	int result = (int)raw(SYS_connect, fd, to, length);
	if (result < 0 && errno == EINPROGRESS) {
		int found = poll_for(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, limit, NULL);
		if (found < 0)
			error = errno;
		else if (!found)
			error = EINPROGRESS;
		else
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	} else if (result < 0) {
		error = errno;
	}
	fcntl(fd, F_SETFL, flags);
	return error ? errno = error, -1 : 0;
}

/* What programs call instead that are compiled with _FORTIFY_SOURCE. */

EXPORT ssize_t __read_chk(int fd, void *data, size_t count, size_t room)
{
	return count > room ? __chk_fail(), -1 : read(fd, data, count);
}

EXPORT ssize_t __recv_chk(int fd, void *data, size_t count, size_t room, int flags)
{
	return count > room ? __chk_fail(), -1 : recv(fd, data, count, flags);
}

EXPORT ssize_t __recvfrom_chk(int fd, void *data, size_t count, size_t room, int flags, struct sockaddr *from, socklen_t *length)
{
	return count > room ? __chk_fail(), -1 : recvfrom(fd, data, count, flags, from, length);
}
