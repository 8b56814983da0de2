#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

enum { LIST_HEADER = 3, /* words of a request before its list */
       WORK_WORDS = 7,  /* of a send work request before its elements */
       MOST_OF_WORK = WORK_WORDS + MAX_INLINE / 8 + 2 * MAX_SGE };

/* A list of work requests that is being written. */
struct list {
	uint64_t words[MESSAGE_WORDS];
	size_t used;
	uint64_t count;
};

/* submit sends a list; *accepted says how many of it were. */
static int submit(struct ibv_context *context, uint64_t op, uint32_t handle, uint64_t *words, size_t used, uint64_t count, uint64_t *accepted)
{
	*accepted = 0;
	words[0] = op;
	words[1] = handle;
	words[2] = count;
	return explain(pausenet_call(connection_of(context), words, used, accepted, 1, NULL, 0), 0);
}

static size_t put_elements(uint64_t *to, const struct ibv_sge *sges, int count)
{
	for (int i = 0; i < count; i++) {
		to[2 * i] = sges[i].addr;
		to[2 * i + 1] = sges[i].length | (uint64_t)sges[i].lkey << 32;
	}
	return 2 * (size_t)count;
}

static int work_of(enum ibv_wr_opcode op)
{
	switch (op) {
	case IBV_WR_SEND:
		return WORK_SEND;
	case IBV_WR_SEND_WITH_IMM:
		return WORK_SEND_IMM;
	case IBV_WR_RDMA_WRITE:
		return WORK_WRITE;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return WORK_WRITE_IMM;
	case IBV_WR_RDMA_READ:
		return WORK_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return WORK_COMPARE_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return WORK_FETCH_ADD;
	default:
		return -1;
	}
}

static uint64_t flags_of(unsigned int flags)
{
	return (flags & IBV_SEND_SIGNALED ? FLAG_SIGNALED : 0) | (flags & IBV_SEND_SOLICITED ? FLAG_SOLICITED : 0) |
	       (flags & IBV_SEND_FENCE ? FLAG_FENCE : 0);
}

/* put_destination writes where a datagram goes. A Q_Key with its highest bit is the queue pair's own (IBTA volume 1 section 10.2.5). */
static void put_destination(uint64_t *w, const struct qp *q, const struct ibv_ah *ah, uint32_t number, uint32_t qkey)
{
	w[2] = ((const struct ah *)ah)->address;
	w[3] = (w[3] & ~(uint64_t)UINT32_MAX) | (qkey & 0x80000000 ? q->attr.qkey : qkey);
	w[4] = number;
	w[5] = ((const struct ah *)ah)->class;
}

/* put_work writes a work request, at the end of a list with room for the largest. */
static int put_work(struct list *l, const struct qp *q, const struct ibv_send_wr *wr)
{
	uint64_t *w = l->words + l->used, flags = flags_of(wr->send_flags), bytes = 0;
	int op = work_of(wr->opcode);
	if (op < 0)
		return EOPNOTSUPP;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > q->attr.cap.max_send_sge)
		return EINVAL;
	bool atomic = op == WORK_COMPARE_SWAP || op == WORK_FETCH_ADD, datagram = q->ibv.qp_base.qp_type == IBV_QPT_UD;
	if (datagram && (op > WORK_SEND_IMM || !wr->wr.ud.ah))
		return EINVAL;
	if (wr->send_flags & IBV_SEND_INLINE) {
		uint8_t *to = (uint8_t *)(w + WORK_WORDS);
		if (op == WORK_READ || atomic)
			return EINVAL;
		for (int i = 0; i < wr->num_sge; i++) {
			if (wr->sg_list[i].length > MAX_INLINE - bytes)
				return EINVAL;
			memcpy(to + bytes, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
			bytes += wr->sg_list[i].length;
		}
		flags |= FLAG_INLINE;
		l->used += WORK_WORDS + (bytes + 7) / 8;
	} else {
		l->used += WORK_WORDS + put_elements(w + WORK_WORDS, wr->sg_list, wr->num_sge);
	}
	w[0] = wr->wr_id;
	w[1] = (uint64_t)op | flags << 32;
	w[2] = atomic ? wr->wr.atomic.remote_addr : wr->wr.rdma.remote_addr;
	w[3] = (atomic ? wr->wr.atomic.rkey : wr->wr.rdma.rkey) | (uint64_t)ntohl(wr->imm_data) << 32;
	/* A fetch and add has what is added where a compare and swap has what is compared. */
	w[4] = op == WORK_COMPARE_SWAP ? wr->wr.atomic.compare_add : 0;
	w[5] = op == WORK_COMPARE_SWAP ? wr->wr.atomic.swap : op == WORK_FETCH_ADD ? wr->wr.atomic.compare_add
										   : 0;
	w[6] = (flags & FLAG_INLINE ? 0 : (uint64_t)wr->num_sge) | bytes << 32;
	if (datagram)
		put_destination(w, q, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	l->count++;
	return 0;
}

int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct list l;
	while (wr) {
		struct ibv_send_wr *first = wr;
		int error = 0, put = 0;
		uint64_t accepted = 0;
		l.used = LIST_HEADER;
		l.count = 0;
		for (; wr && l.used + MOST_OF_WORK <= MESSAGE_WORDS; wr = wr->next) {
			put = put_work(&l, (struct qp *)qp, wr);
			if (put)
				break;
		}
		if (l.count > 0)
			error = submit(qp->context, OP_POST_SEND, qp->handle, l.words, l.used, l.count, &accepted);
		if (error) {
			for (; accepted > 0; accepted--)
				first = first->next;
			*bad = first;
			return error;
		}
		if (put) {
			*bad = wr;
			return put;
		}
	}
	return 0;
}

static int post_receives(struct ibv_context *context, uint32_t handle, uint32_t most, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct list l;
	while (wr) {
		struct ibv_recv_wr *first = wr;
		int error = 0;
		uint64_t accepted = 0;
		l.used = LIST_HEADER;
		l.count = 0;
		bool wrong = false;
		for (; wr && l.used + MOST_OF_WORK <= MESSAGE_WORDS; wr = wr->next) {
			if (wr->num_sge < 0 || (uint32_t)wr->num_sge > most) {
				wrong = true;
				break;
			}
			l.words[l.used] = wr->wr_id;
			l.words[l.used + 1] = (uint64_t)wr->num_sge;
			l.used += 2;
			l.used += put_elements(l.words + l.used, wr->sg_list, wr->num_sge);
			l.count++;
		}
		if (l.count > 0)
			error = submit(context, OP_POST_RECV, handle, l.words, l.used, l.count, &accepted);
		if (error) {
			for (; accepted > 0; accepted--)
				first = first->next;
			*bad = first;
			return error;
		}
		if (wrong) {
			*bad = wr;
			return EINVAL;
		}
	}
	return 0;
}

int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return post_receives(qp->context, qp->handle, ((struct qp *)qp)->attr.cap.max_recv_sge, wr, bad);
}

int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return post_receives(srq->context, srq->handle, ((struct srq *)srq)->attr.max_sge, wr, bad);
}

/* The calls below build a list between wr_start and wr_complete, or wr_abort. */

static void start(struct ibv_qp_ex *qp)
{
	struct qp *q = (struct qp *)qp;
	pthread_mutex_lock(&q->building);
	if (!q->list)
		q->list = malloc(MESSAGE_WORDS * sizeof(uint64_t));
	q->failed = q->list ? 0 : ENOMEM;
	q->words = LIST_HEADER;
	q->last = 0;
	q->count = 0;
}

static void begin(struct ibv_qp_ex *qp, uint64_t op, uint64_t remote, uint32_t key, uint32_t immediate, uint64_t compare, uint64_t swap)
{
	struct qp *q = (struct qp *)qp;
	if (!q->failed && q->words + MOST_OF_WORK > MESSAGE_WORDS)
		q->failed = ENOMEM;
	if (q->failed)
		return;
	uint64_t *w = q->list + q->words;
	q->last = q->words;
	w[0] = qp->wr_id;
	w[1] = op | flags_of(qp->wr_flags) << 32;
	w[2] = remote;
	w[3] = key | (uint64_t)immediate << 32;
	w[4] = compare;
	w[5] = swap;
	w[6] = 0;
	q->words += WORK_WORDS;
	q->count++;
}

static void with_compare_swap(struct ibv_qp_ex *qp, uint32_t key, uint64_t remote, uint64_t compare, uint64_t swap)
{
	begin(qp, WORK_COMPARE_SWAP, remote, key, 0, compare, swap);
}

static void with_fetch_add(struct ibv_qp_ex *qp, uint32_t key, uint64_t remote, uint64_t add)
{
	begin(qp, WORK_FETCH_ADD, remote, key, 0, 0, add);
}

static void with_read(struct ibv_qp_ex *qp, uint32_t key, uint64_t remote)
{
	begin(qp, WORK_READ, remote, key, 0, 0, 0);
}

static void with_write(struct ibv_qp_ex *qp, uint32_t key, uint64_t remote)
{
	begin(qp, WORK_WRITE, remote, key, 0, 0, 0);
}

static void with_write_immediate(struct ibv_qp_ex *qp, uint32_t key, uint64_t remote, __be32 immediate)
{
	begin(qp, WORK_WRITE_IMM, remote, key, ntohl(immediate), 0, 0);
}

static void with_send(struct ibv_qp_ex *qp)
{
	begin(qp, WORK_SEND, 0, 0, 0, 0, 0);
}

static void with_send_immediate(struct ibv_qp_ex *qp, __be32 immediate)
{
	begin(qp, WORK_SEND_IMM, 0, 0, ntohl(immediate), 0, 0);
}

static void to_address(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t number, uint32_t qkey)
{
	struct qp *q = (struct qp *)qp;
	if (!q->failed && q->last == 0)
		q->failed = EINVAL;
	if (!q->failed)
		put_destination(q->list + q->last, q, ah, number, qkey);
}

static void elements(struct ibv_qp_ex *qp, size_t count, const struct ibv_sge *sges)
{
	struct qp *q = (struct qp *)qp;
	if (!q->failed && (count > q->attr.cap.max_send_sge || q->last == 0))
		q->failed = EINVAL;
	if (q->failed)
		return;
	q->list[q->last + WORK_WORDS - 1] = count;
	q->words = q->last + WORK_WORDS + put_elements(q->list + q->last + WORK_WORDS, sges, (int)count);
}

static void element(struct ibv_qp_ex *qp, uint32_t key, uint64_t address, uint32_t length)
{
	struct ibv_sge one = {.addr = address, .length = length, .lkey = key};
	elements(qp, 1, &one);
}

static void inline_list(struct ibv_qp_ex *qp, size_t count, const struct ibv_data_buf *buffers)
{
	struct qp *q = (struct qp *)qp;
	uint64_t bytes = 0;
	if (!q->failed && q->last == 0)
		q->failed = EINVAL;
	for (size_t i = 0; !q->failed && i < count; i++) {
		if (buffers[i].length > MAX_INLINE - bytes) {
			q->failed = EINVAL;
			return;
		}
		memcpy((uint8_t *)(q->list + q->last + WORK_WORDS) + bytes, buffers[i].addr, buffers[i].length);
		bytes += buffers[i].length;
	}
	if (q->failed)
		return;
	q->list[q->last + 1] |= (uint64_t)FLAG_INLINE << 32;
	q->list[q->last + WORK_WORDS - 1] = bytes << 32;
	q->words = q->last + WORK_WORDS + (bytes + 7) / 8;
}

static void inline_data(struct ibv_qp_ex *qp, void *address, size_t length)
{
	struct ibv_data_buf one = {.addr = address, .length = length};
	inline_list(qp, 1, &one);
}

static int complete(struct ibv_qp_ex *qp)
{
	struct qp *q = (struct qp *)qp;
	uint64_t accepted;
	int error = q->failed;
	if (!error && q->count > 0)
		error = submit(qp->qp_base.context, OP_POST_SEND, qp->qp_base.handle, q->list, q->words, q->count, &accepted);
	pthread_mutex_unlock(&q->building);
	return error;
}

static void give_up(struct ibv_qp_ex *qp)
{
	pthread_mutex_unlock(&((struct qp *)qp)->building);
}

void set_building(struct qp *q)
{
	struct ibv_qp_ex *e = &q->ibv;
	e->wr_atomic_cmp_swp = with_compare_swap;
	e->wr_atomic_fetch_add = with_fetch_add;
	e->wr_rdma_read = with_read;
	e->wr_rdma_write = with_write;
	e->wr_rdma_write_imm = with_write_immediate;
	e->wr_send = with_send;
	e->wr_send_imm = with_send_immediate;
	e->wr_set_inline_data = inline_data;
	e->wr_set_inline_data_list = inline_list;
	e->wr_set_sge = element;
	e->wr_set_ud_addr = to_address;
	e->wr_set_sge_list = elements;
	e->wr_start = start;
	e->wr_complete = complete;
	e->wr_abort = give_up;
}
