#include "library.h"

/* Sockets over RDMA (rsocket(7)) are not offered. */
#define REFUSED(name)                                                                                                       \
	EXPORT long name(void);                                                                                             \
	EXPORT long name(void)                                                                                              \
	{                                                                                                                   \
		errno = pausenet_refused("a socket over RDMA (rsocket)", "a TCP socket, or queue pairs by rdma_create_ep"); \
		return -1;                                                                                                  \
	}

REFUSED(raccept)
REFUSED(rbind)
REFUSED(rclose)
REFUSED(rconnect)
REFUSED(rfcntl)
REFUSED(rgetpeername)
REFUSED(rgetsockname)
REFUSED(rgetsockopt)
REFUSED(riomap)
REFUSED(riounmap)
REFUSED(riowrite)
REFUSED(rlisten)
REFUSED(rread)
REFUSED(rreadv)
REFUSED(rrecv)
REFUSED(rrecvfrom)
REFUSED(rrecvmsg)
REFUSED(rselect)
REFUSED(rsend)
REFUSED(rsendmsg)
REFUSED(rsendto)
REFUSED(rsetsockopt)
REFUSED(rshutdown)
REFUSED(rsocket)
REFUSED(rwrite)
REFUSED(rwritev)
