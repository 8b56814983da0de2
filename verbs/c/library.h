/* What the files of the two libraries share. */
#ifndef PAUSENET_LIBRARY_H
#define PAUSENET_LIBRARY_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

#include "protocol.h"

/* They are macros in verbs.h, for what is compiled against it. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_get_device_list

#define EXPORT __attribute__((visibility("default")))

/* A connection to the server. */
struct connection {
	int fd;
	pthread_mutex_t mutex;
};

/* Connects to the server of this host; the error is an errno. */
EXPORT int pausenet_connect(struct connection *c);

/* Sends a request and waits for its reply, whose words behind the status go to reply, its files to files. The result is an errno. */
EXPORT int pausenet_call(struct connection *c, const uint64_t *request, size_t words, uint64_t *reply, size_t most, int *files, size_t most_files);

/* Takes the reply to a request that was sent already. */
EXPORT int pausenet_reply(struct connection *c, uint64_t *reply, size_t most, int *files, size_t most_files);

/* A call of words given one by one. */
#define CALL(c, reply, most, ...) \
	pausenet_call(c, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), reply, most, NULL, 0)

/* An object that events are about. Events name it by a number that no other object of the process has or had, as one may come after its end. */
struct known {
	uint64_t number;
	struct known *next; /* of the same bucket */
};

/* OWNER is the structure of a type that has a known object among its members. */
#define OWNER(type, k) ((type *)(void *)((uint8_t *)(k)-offsetof(type, known)))

/* Gives an object a number, and returns it. */
EXPORT uint64_t pausenet_know(struct known *k);

/* Forgets an object, and skips at a channel (-1: none) whose messages have the number in a word. */
EXPORT void pausenet_forget(struct known *k, int fd, size_t at);

/* Takes the events of objects that are not known from the front of a channel, so that poll finds none of them. */
EXPORT void pausenet_skip(int fd, size_t at);

/* Takes the next event of a known object from a channel: its bytes, 0 at the channel's end, or -1 and errno. */
EXPORT ssize_t pausenet_take(int fd, uint64_t *words, size_t count, size_t at, struct known **about);

struct device {
	struct ibv_device ibv;
	void *none[32]; /* where providers' own libraries look for what is theirs */
	unsigned int number;
	uint32_t address; /* IPv4, as a number */
	uint32_t mtu;
	uint64_t rate;
	uint32_t interface;
};

/* A port's GIDs, each RoCE v2: IPv4-mapped (RFC 4291 section 2.5.5.2; IBTA annex A17), and the fabric's IPv6 address. */
enum { GIDS = 2 };

/* to_gid makes an address of the protocol's a GID. */
static inline void to_gid(uint64_t address, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (address >> ADDRESS_IPV6)
		gid->raw[0] = 0xfd;
	else
		gid->raw[10] = gid->raw[11] = 0xff;
	for (int i = 0; i < 4; i++)
		gid->raw[12 + i] = (uint8_t)(address >> (24 - 8 * i));
}

/* of_gid is to_gid's way back; 0: it is no address of the fabric's. */
static inline uint64_t of_gid(const uint8_t raw[16])
{
	uint64_t address = (uint64_t)raw[12] << 24 | (uint64_t)raw[13] << 16 | (uint64_t)raw[14] << 8 | raw[15];
	for (uint64_t i = 0; i < GIDS; i++) {
		union ibv_gid gid;
		to_gid(i << ADDRESS_IPV6 | address, &gid);
		if (!memcmp(gid.raw, raw, sizeof(gid.raw)))
			return i << ADDRESS_IPV6 | address;
	}
	return 0;
}

struct page {
	uint32_t completions; /* grows with each of any queue */
	uint32_t sleepers;
};

struct context {
	struct connection connection;
	struct page *page;
	struct verbs_context verbs; /* last */
};

struct pd {
	struct ibv_pd ibv;
};

struct mr {
	struct ibv_mr ibv;
	uint64_t iova;
	unsigned int access;
};

struct entry {
	uint64_t id;
	uint32_t status, opcode, length, immediate, qp, source, flags, none;
	uint64_t time; /* virtual, in ns */
	uint64_t more[2];
};

struct cq {
	struct ibv_cq_ex ibv;
	struct known known;
	pthread_spinlock_t lock;
	uint8_t *ring;
	uint32_t size; /* entries, a power of 2 */
	size_t bytes;
	struct entry now; /* of the extended poll */
};

struct srq {
	struct ibv_srq ibv;
	struct known known;
	struct ibv_srq_attr attr;
};

/* Where datagrams go. */
struct ah {
	struct ibv_ah ibv;
	uint64_t address;
	uint64_t class;
};

struct qp {
	struct ibv_qp_ex ibv;
	struct known known;
	struct ibv_qp_attr attr; /* as it was set */
	struct ibv_qp_init_attr init;
	bool extended;
	pthread_mutex_t building; /* of a list of work requests */
	uint64_t *list;
	size_t words, last; /* of the list; where its last request begins */
	uint64_t count;
	int failed;
};

static inline struct context *context_of(struct ibv_context *c)
{
	return (struct context *)((uint8_t *)c - offsetof(struct context, verbs.context));
}

static inline struct connection *connection_of(struct ibv_context *c)
{
	return &context_of(c)->connection;
}

static inline struct device *device_of(struct ibv_device *d)
{
	return (struct device *)d;
}

/* Sets errno. */
static inline void *fail(int error)
{
	errno = error;
	return NULL;
}

/* explain says what a class is refused for, if that is the error, and returns what the program is to have. A class of 0 is an address handle's. */
int explain(int error, uint64_t class);

/* pausenet_refused says once for each kind of thing that it is not supported, and what to use instead, and returns the error. */
EXPORT int pausenet_refused(const char *what, const char *instead);

void set_operations(struct verbs_context *v);
void set_building(struct qp *q);

/* drop_completions drops those of a queue pair that is reset, which the server has written all. */
void drop_completions(struct ibv_cq *cq, uint32_t qp);

int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc);
int notify_cq(struct ibv_cq *cq, int solicited);
int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		    struct ibv_device_attr_ex *attr, size_t size);
int query_time(struct ibv_context *context, struct ibv_values_ex *values);
int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size);
struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
void set_polling(struct cq *q);

#endif
