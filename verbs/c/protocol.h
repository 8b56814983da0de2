/* What the library and its server (orchestrator/verbs) say to each other: messages of 64-bit words of this machine's byte order, over a
 * SOCK_SEQPACKET socket. A request begins with its operation, its reply with an error number of errno(3), 0 for none. Objects are named by
 * handles of the connection that made them. The server's copy of these numbers is compared with them by a test.
 */
#ifndef PAUSENET_PROTOCOL_H
#define PAUSENET_PROTOCOL_H

/* The abstract name of the socket in each host's network namespace, without the zero byte before it. */
#define SOCKET_NAME "pausenet-verbs"

enum {
	PROTOCOL_VERSION = 5,
	MESSAGE_WORDS = 8192, /* of a request, at most */
	REPLY_WORDS = 64,
	MAX_DEVICES = 8,
	MAX_SGE = 16,      /* of a work request */
	MAX_INLINE = 1024, /* bytes */
	MAX_PRIVATE = 196, /* bytes of private data of the connection manager */
	MAX_WORK = 16384,  /* work requests of a queue */
	MAX_CQE = 1048576, /* the memory of a ring is used as it fills */
	RING_HEADER = 128, /* bytes: what the server has written at 0, what the program has read at 64, both counts of 32 bits */
	RING_ENTRY = 64,   /* bytes; see struct entry */
	ADDRESS_IPV6 = 32, /* bit of an address, beside an IPv4 address: it is the IPv6 address of the fabric that stands for that, fd00::/96 and its 32 bits */
};

/* Operations: request -> reply; + files that come with it. */
enum {
	OP_DEVICES = 1,   /* version -> count, then of each: IPv4 address, MTU, rate (bit/s), index of its interface */
	OP_OPEN,          /* version, device + /proc/self/mem -> + page, asynchronous events */
	OP_DESTROY,       /* object */
	OP_ALLOC_PD,      /* -> pd */
	OP_REG_MR,        /* pd, address, length, address for peers, access -> mr, key */
	OP_REREG_MR,      /* as OP_REG_MR, then mr: it changes that one, and keeps its key */
	OP_TIME,          /* -> virtual time in ns: the clock of completions */
	OP_CHANNEL,       /* -> channel + its events */
	OP_CREATE_CQ,     /* entries, channel or 0, cookie -> cq, entries + ring */
	OP_NOTIFY,        /* cq, solicited */
	OP_CREATE_SRQ,    /* pd, work requests, cookie -> srq */
	OP_MODIFY_SRQ,    /* srq, limit */
	OP_CREATE_QP,     /* pd, send cq, receive cq, srq or 0, send and receive work requests, signal all, cookie, service
			 * -> qp, number */
	OP_MODIFY_QP,     /* qp, state, mask (enum ibv_qp_attr_mask), access, address and number of the peer, receive PSN, MTU in bytes,
			 * reads as destination, RNR timer, send PSN, reads as requester, timeout, retries, RNR retries, Q_Key, class */
	OP_QUERY_QP,      /* qp -> state */
	OP_POST_SEND,     /* qp, count, then of each: id, operation | flags << 32, remote address, key | immediate << 32, compare, swap,
			 * elements | bytes of inline data << 32, then elements (address, length | key << 32), or the inline data -> count. Of a
			 * datagram the remote address is the host's, key the Q_Key, compare the queue pair's number and swap the class */
	OP_POST_RECV,     /* qp or srq, count, then of each: id, elements, elements as above -> count */
	OP_CM_ID,         /* channel, cookie, service -> id */
	OP_CM_BIND,       /* id, address or 0, port or 0, whether of the family of the address alone -> address, port, device */
	OP_CM_LISTEN,     /* id */
	OP_CM_RESOLVE,    /* id, address -> address, port, device of this host's end */
	OP_CM_ROUTE,      /* id */
	OP_CM_CONNECT,    /* id, port, QP number, responder resources, initiator depth, retries, RNR retries, type of service,
			 * bytes of private data, these */
	OP_CM_ACCEPT,     /* id, 0, the rest like OP_CM_CONNECT's */
	OP_CM_REJECT,     /* id, bytes of private data, these */
	OP_CM_ESTABLISH,  /* id */
	OP_CM_DISCONNECT, /* id */
	OP_CM_MOVE,       /* id, channel, cookie */
	OP_CLOCK,         /* + what wakes the thread -> its slot + the page: see clock.h */
	OP_LAST = OP_CLOCK,
};

/* Operations of a work request (hostagent.WorkOp) and its flags. */
enum { WORK_SEND,
       WORK_SEND_IMM,
       WORK_WRITE,
       WORK_WRITE_IMM,
       WORK_READ,
       WORK_COMPARE_SWAP,
       WORK_FETCH_ADD };
enum { FLAG_SIGNALED = 1,
       FLAG_SOLICITED = 2,
       FLAG_FENCE = 4,
       FLAG_INLINE = 8 };

/* Of a completion. */
enum { DONE_IMM = 1,
       DONE_GRH = 2,
       DONE_IPV6 = 4 };

/* Of a queue pair. A class is 0, for the fabric's own, or a priority plus 1. */
enum { SERVICE_RELIABLE,
       SERVICE_DATAGRAM };

/* A message of a channel for the connection manager: type, cookie, status, new id, addresses and ports of this end and of the other, QP number,
 * responder resources, initiator depth, retries, RNR retries, type of service, bytes of private data, these. Of a channel for completions: a cookie. Of
 * asynchronous events: type, cookie.
 */
enum { CM_EVENT_WORDS = 15 };

#endif
