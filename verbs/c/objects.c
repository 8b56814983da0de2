#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "library.h"

static int destroy(struct ibv_context *context, uint32_t handle)
{
	return CALL(connection_of(context), NULL, 0, OP_DESTROY, handle);
}

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	uint64_t reply[1] = {0};
	struct pd *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	int error = CALL(connection_of(context), reply, 1, OP_ALLOC_PD);
	if (error) {
		free(p);
		return fail(error);
	}
	p->ibv.context = context;
	p->ibv.handle = (uint32_t)reply[0];
	return &p->ibv;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int error = destroy(pd->context, pd->handle);
	if (!error)
		free(pd);
	return error;
}

int pausenet_refused(const char *what, const char *instead)
{
	static const char *said;
	if (said != what)
		fprintf(stderr, "pausenet: %s is not supported here: use %s\n", what, instead);
	said = what;
	return EOPNOTSUPP;
}

/* region registers a region, or changes one, and returns an errno. */
static int region(uint64_t op, struct mr *m, uint64_t reply[2])
{
	/* What is optional may be left out. Memory is never pinned, so all regions are on demand, and huge pages make no difference. */
	m->access &= ~(unsigned int)(IBV_ACCESS_OPTIONAL_RANGE | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB);
	if (m->access & (IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED))
		return EOPNOTSUPP;
	int error = CALL(connection_of(m->ibv.context), reply, reply ? 2 : 0, op, m->ibv.pd->handle,
			 (uintptr_t)m->ibv.addr, m->ibv.length, m->iova, m->access, m->ibv.handle);
	return error == EMEDIUMTYPE ? pausenet_refused("a memory region that is a file on a disk, FUSE or a network",
						       "anonymous memory or tmpfs")
				    : error;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
	uint64_t reply[2] = {0};
	struct mr *m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	*m = (struct mr){.ibv = {.context = pd->context, .pd = pd, .addr = address, .length = length}, .iova = iova, .access = access};
	int error = region(OP_REG_MR, m, reply);
	if (error) {
		free(m);
		return fail(error);
	}
	m->ibv.handle = (uint32_t)reply[0];
	m->ibv.lkey = m->ibv.rkey = (uint32_t)reply[1];
	return &m->ibv;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, int access)
{
	return ibv_reg_mr_iova2(pd, address, length, iova, (unsigned int)access);
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, address, length, (uintptr_t)address, (unsigned int)access);
}

EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int file, int access)
{
	(void)pd;
	(void)offset;
	(void)length;
	(void)iova;
	(void)file;
	(void)access;
	return fail(EOPNOTSUPP);
}

/* ibv_rereg_mr changes a region in place, under its keys, or leaves it as it was. */
EXPORT int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *address, size_t length, int access)
{
	struct mr all = *(struct mr *)mr;
	if (flags & IBV_REREG_MR_CHANGE_PD)
		all.ibv.pd = pd;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		all.ibv.addr = address;
		all.ibv.length = length;
		all.iova = (uintptr_t)address;
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		all.access = (unsigned int)access;
	errno = EINVAL;
	if (!flags || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED || !all.ibv.pd || !all.ibv.addr || !all.ibv.length)
		return IBV_REREG_MR_ERR_INPUT;
	errno = region(OP_REREG_MR, &all, NULL);
	if (errno)
		return IBV_REREG_MR_ERR_CMD;
	*(struct mr *)mr = all;
	return 0;
}

/* advise_mr checks the ranges that a program will use, and needs to fetch nothing. */
static int advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *ranges, uint32_t count)
{
	(void)pd;
	(void)ranges;
	return advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT || flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || count == 0 ? EINVAL : 0;
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	int error = destroy(mr->context, mr->handle);
	if (!error)
		free(mr);
	return error;
}

/* A channel as programs know it, and its handle. */
struct channel {
	struct ibv_comp_channel ibv;
	uint32_t handle;
};

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	uint64_t request = OP_CHANNEL, reply[1] = {0};
	int file = -1;
	struct channel *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	int error = pausenet_call(connection_of(context), &request, 1, reply, 1, &file, 1);
	if (error) {
		free(c);
		return fail(error);
	}
	c->ibv.context = context;
	c->ibv.fd = file;
	c->handle = (uint32_t)reply[0];
	return &c->ibv;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct channel *c = (struct channel *)channel;
	if (channel->refcnt > 0)
		return EBUSY;
	int error = destroy(channel->context, c->handle);
	if (error)
		return error;
	close(channel->fd);
	free(c);
	return 0;
}

struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct channel *channel = (struct channel *)attr->channel;
	uint64_t reply[2] = {0};
	int file = -1;
	if (attr->cqe < 1 || attr->cqe >= MAX_CQE || attr->comp_vector != 0)
		return fail(EINVAL);
	if (attr->wc_flags & ~(uint64_t)(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP))
		return fail(EOPNOTSUPP);
	struct cq *q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	uint64_t request[] = {OP_CREATE_CQ, attr->cqe, channel ? channel->handle : 0, pausenet_know(&q->known)};
	int error = pausenet_call(connection_of(context), request, 4, reply, 2, &file, 1);
	if (error) {
		pausenet_forget(&q->known, -1, 0);
		free(q);
		return fail(error);
	}
	q->size = (uint32_t)reply[1];
	q->bytes = RING_HEADER + (size_t)q->size * RING_ENTRY;
	q->ring = mmap(NULL, q->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	error = errno;
	close(file);
	if (q->ring == MAP_FAILED) {
		destroy(context, (uint32_t)reply[0]);
		pausenet_forget(&q->known, -1, 0);
		free(q);
		return fail(error);
	}
	pthread_spin_init(&q->lock, PTHREAD_PROCESS_PRIVATE);
	q->ibv.context = context;
	q->ibv.channel = attr->channel;
	q->ibv.cq_context = attr->cq_context;
	q->ibv.handle = (uint32_t)reply[0];
	q->ibv.cqe = (int)q->size - 1;
	pthread_mutex_init(&q->ibv.mutex, NULL);
	pthread_cond_init(&q->ibv.cond, NULL);
	set_polling(q);
	if (attr->channel) {
		pthread_mutex_lock(&context->mutex);
		attr->channel->refcnt++;
		pthread_mutex_unlock(&context->mutex);
	}
	return &q->ibv;
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe > 0 ? (uint32_t)cqe : 0,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = (uint32_t)vector,
	};
	return (struct ibv_cq *)create_cq_ex(context, &attr);
}

EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	const uint8_t *ring = ((struct cq *)cq)->ring;
	uint32_t waiting = __atomic_load_n((const uint32_t *)ring, __ATOMIC_ACQUIRE) -
			   __atomic_load_n((const uint32_t *)(ring + RING_HEADER / 2), __ATOMIC_ACQUIRE);
	if (cqe < 1 || (uint32_t)cqe < waiting)
		return EINVAL;
	return cqe <= cq->cqe ? 0 : EOPNOTSUPP;
}

EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct cq *q = (struct cq *)cq;
	int error = destroy(cq->context, cq->handle);
	if (error)
		return error;
	pausenet_forget(&q->known, cq->channel ? cq->channel->fd : -1, 0);
	pausenet_skip(cq->context->async_fd, 1);
	if (cq->channel) {
		pthread_mutex_lock(&cq->context->mutex);
		cq->channel->refcnt--;
		pthread_mutex_unlock(&cq->context->mutex);
	}
	munmap(q->ring, q->bytes);
	free(q);
	return 0;
}

/* next takes an event of a channel, of so many words at least, whose last is the number of an object. */
static struct known *next(int fd, uint64_t *words, size_t count)
{
	struct known *about;
	ssize_t n = pausenet_take(fd, words, count, count - 1, &about);
	if (n == 0)
		return fail(EIO);
	if (n > 0)
		pausenet_skip(fd, count - 1);
	return n > 0 ? about : NULL;
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	uint64_t number;
	struct known *about = next(channel->fd, &number, 1);
	if (!about)
		return -1;
	*cq = (struct ibv_cq *)&OWNER(struct cq, about)->ibv;
	*cq_context = (*cq)->cq_context;
	return 0;
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int events)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += events;
	pthread_mutex_unlock(&cq->mutex);
}

EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	uint64_t words[2];
	struct known *about = next(context->async_fd, words, 2);
	if (!about)
		return -1;
	event->event_type = (enum ibv_event_type)words[0];
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		event->element.cq = (struct ibv_cq *)&OWNER(struct cq, about)->ibv;
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		event->element.srq = &OWNER(struct srq, about)->ibv;
		break;
	default:
		event->element.qp = &OWNER(struct qp, about)->ibv.qp_base;
	}
	return 0;
}

EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}

static void at_least_one(uint32_t *capacity)
{
	*capacity = *capacity ? *capacity : 1;
}

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	uint64_t reply[1] = {0};
	if (attr->attr.max_wr > MAX_WORK || attr->attr.max_sge > MAX_SGE)
		return fail(EINVAL);
	struct srq *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	int error = CALL(connection_of(pd->context), reply, 1, OP_CREATE_SRQ, pd->handle, attr->attr.max_wr, pausenet_know(&s->known));
	if (error) {
		pausenet_forget(&s->known, -1, 0);
		free(s);
		return fail(error);
	}
	s->ibv.context = pd->context;
	s->ibv.srq_context = attr->srq_context;
	s->ibv.pd = pd;
	s->ibv.handle = (uint32_t)reply[0];
	at_least_one(&attr->attr.max_sge);
	s->attr = attr->attr;
	pthread_mutex_init(&s->ibv.mutex, NULL);
	pthread_cond_init(&s->ibv.cond, NULL);
	return &s->ibv;
}

EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct srq *s = (struct srq *)srq;
	if (mask & ~IBV_SRQ_LIMIT)
		return EOPNOTSUPP;
	int error = CALL(connection_of(srq->context), NULL, 0, OP_MODIFY_SRQ, srq->handle, attr->srq_limit);
	if (!error)
		s->attr.srq_limit = attr->srq_limit;
	return error;
}

EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	*attr = ((struct srq *)srq)->attr;
	return 0;
}

EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	int error = destroy(srq->context, srq->handle);
	if (error)
		return error;
	pausenet_forget(&((struct srq *)srq)->known, srq->context->async_fd, 1);
	free(srq);
	return 0;
}

struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint64_t operations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
				    IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	const uint64_t of_datagrams = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	uint64_t reply[2] = {0};
	bool datagrams = attr->qp_type == IBV_QPT_UD;
	if (attr->qp_type == IBV_QPT_UC)
		return fail(pausenet_refused("a UC queue pair", "an RC queue pair"));
	if (attr->qp_type != IBV_QPT_RC && !datagrams)
		return fail(pausenet_refused("a queue pair that is neither RC nor UD", "either of these"));
	/* A datagram's multicast, which is refused, never comes back to its sender. */
	uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	if (attr->comp_mask & ~known || (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
					 attr->create_flags & ~(datagrams ? IBV_QP_CREATE_BLOCK_SELF_MCAST_LB : 0U)))
		return fail(EOPNOTSUPP);
	bool extended = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	if (extended && attr->send_ops_flags & ~(datagrams ? of_datagrams : operations))
		return fail(EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->send_cq || !attr->recv_cq || attr->cap.max_send_wr > MAX_WORK ||
	    attr->cap.max_recv_wr > MAX_WORK || attr->cap.max_send_sge > MAX_SGE || attr->cap.max_recv_sge > MAX_SGE ||
	    attr->cap.max_inline_data > MAX_INLINE)
		return fail(EINVAL);
	struct qp *q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	at_least_one(&attr->cap.max_send_wr);
	at_least_one(&attr->cap.max_send_sge);
	at_least_one(&attr->cap.max_recv_sge);
	int error = CALL(connection_of(context), reply, 2, OP_CREATE_QP, attr->pd->handle, attr->send_cq->handle, attr->recv_cq->handle,
			 attr->srq ? attr->srq->handle : 0, attr->cap.max_send_wr, attr->cap.max_recv_wr, attr->sq_sig_all, pausenet_know(&q->known),
			 datagrams ? SERVICE_DATAGRAM : SERVICE_RELIABLE);
	if (error) {
		pausenet_forget(&q->known, -1, 0);
		free(q);
		return fail(error);
	}
	struct ibv_qp *i = &q->ibv.qp_base;
	i->context = context;
	i->qp_context = attr->qp_context;
	i->pd = attr->pd;
	i->send_cq = attr->send_cq;
	i->recv_cq = attr->recv_cq;
	i->srq = attr->srq;
	i->handle = (uint32_t)reply[0];
	i->qp_num = (uint32_t)reply[1];
	i->state = IBV_QPS_RESET;
	i->qp_type = attr->qp_type;
	pthread_mutex_init(&i->mutex, NULL);
	pthread_cond_init(&i->cond, NULL);
	memcpy(&q->init, attr, offsetof(struct ibv_qp_init_attr_ex, comp_mask));
	q->attr.cap = attr->cap;
	q->extended = extended;
	pthread_mutex_init(&q->building, NULL);
	set_building(q);
	return i;
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex all = {.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd};
	memcpy(&all, attr, offsetof(struct ibv_qp_init_attr_ex, comp_mask)); /* they begin alike; attr may end in padding */
	struct ibv_qp *qp = create_qp_ex(pd->context, &all);
	if (qp)
		attr->cap = all.cap;
	return qp;
}

EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct qp *q = (struct qp *)qp;
	return q->extended ? &q->ibv : NULL;
}

/* destination is the address that an address vector leads to, as a number. Both ends' GIDs are of one kind. */
static bool destination(const struct ibv_ah_attr *attr, uint64_t *address)
{
	*address = of_gid(attr->grh.dgid.raw);
	return attr->is_global && *address && attr->grh.sgid_index == *address >> ADDRESS_IPV6;
}

/* class_of is the class that an address vector asks for. Switches go by the DSCP, of which the priority is the first three bits: the traffic class has it;
 * without one, a service level does (IBTA annex A17.9.1 leaves its mapping to the port).
 */
static bool class_of(const struct ibv_ah_attr *attr, uint64_t *class)
{
	unsigned int priority = attr->grh.traffic_class ? attr->grh.traffic_class >> 5 : attr->sl;
	*class = attr->grh.traffic_class || attr->sl ? 1 + priority : 0;
	return priority < 8;
}

int explain(int error, uint64_t class)
{
	char which[] = "a datagram's priority";
	if (error != EPROTONOSUPPORT)
		return error;
	if (class)
		snprintf(which, sizeof(which), "priority %d", (int)class - 1);
	fprintf(stderr,
		"pausenet: %s is not lossless here (the service level, or the traffic class >> 5): up --set switch.pfc.priorities= says which are "
		"(switch.cbfc.priorities with credits)\n",
		which);
	return EINVAL;
}

/* keep notes the attributes that were set, for ibv_query_qp. */
static void keep(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
#define KEEP(bit, member) \
	if (mask & (bit)) \
	to->member = from->member
	KEEP(IBV_QP_STATE, qp_state);
	KEEP(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	KEEP(IBV_QP_PKEY_INDEX, pkey_index);
	KEEP(IBV_QP_PORT, port_num);
	KEEP(IBV_QP_AV, ah_attr);
	KEEP(IBV_QP_PATH_MTU, path_mtu);
	KEEP(IBV_QP_TIMEOUT, timeout);
	KEEP(IBV_QP_RETRY_CNT, retry_cnt);
	KEEP(IBV_QP_RNR_RETRY, rnr_retry);
	KEEP(IBV_QP_RQ_PSN, rq_psn);
	KEEP(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	KEEP(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	KEEP(IBV_QP_SQ_PSN, sq_psn);
	KEEP(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	KEEP(IBV_QP_DEST_QPN, dest_qp_num);
	KEEP(IBV_QP_QKEY, qkey);
#undef KEEP
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct qp *q = (struct qp *)qp;
	uint64_t peer = 0;
	uint64_t class = 0;
	if (mask & (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_RATE_LIMIT))
		return mask & IBV_QP_RATE_LIMIT ? EOPNOTSUPP : EINVAL;
	if (mask & (qp->qp_type == IBV_QPT_UD ? IBV_QP_AV : IBV_QP_QKEY))
		return EINVAL;
	if (mask & IBV_QP_PORT && attr->port_num != 1)
		return EINVAL;
	if (mask & IBV_QP_AV && (!destination(&attr->ah_attr, &peer) || !class_of(&attr->ah_attr, &class)))
		return EINVAL;
	struct ibv_qp_attr all = q->attr;
	keep(&all, attr, mask);
	all.qp_access_flags &= ~(unsigned int)(IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB);
	int error = CALL(connection_of(qp->context), NULL, 0, OP_MODIFY_QP, qp->handle, mask & IBV_QP_STATE ? attr->qp_state : 255, (uint64_t)mask, all.qp_access_flags,
			 peer, all.dest_qp_num, all.rq_psn, 128u << all.path_mtu, all.max_dest_rd_atomic, all.min_rnr_timer,
			 all.sq_psn, all.max_rd_atomic, all.timeout, all.retry_cnt, all.rnr_retry, all.qkey, class);
	if (error)
		return explain(error, class);
	if (mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET) {
		drop_completions(qp->send_cq, qp->qp_num);
		drop_completions(qp->recv_cq, qp->qp_num);
	}
	all.qp_state = qp->state;
	q->attr = all;
	return 0;
}

EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	struct qp *q = (struct qp *)qp;
	uint64_t reply[1] = {0};
	int error = CALL(connection_of(qp->context), reply, 1, OP_QUERY_QP, qp->handle);
	if (error)
		return error;
	*attr = q->attr;
	attr->qp_state = attr->cur_qp_state = (enum ibv_qp_state)reply[0];
	if (mask & IBV_QP_STATE) /* as in rdma-core: UCX expects that other queries leave it alone */
		qp->state = attr->qp_state;
	*init = q->init;
	init->cap = q->attr.cap;
	return 0;
}

EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct qp *q = (struct qp *)qp;
	int error = destroy(qp->context, qp->handle);
	if (error)
		return error;
	pausenet_forget(&q->known, qp->context->async_fd, 1);
	free(q->list);
	free(q);
	return 0;
}

EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	return ece->vendor_id ? EOPNOTSUPP : 0;
}

EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	memset(ece, 0, sizeof(*ece));
	return 0;
}

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	uint64_t address, class;
	if (attr->port_num != 1 || !destination(attr, &address) || !class_of(attr, &class))
		return fail(EINVAL);
	struct ah *a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->ibv.context = pd->context;
	a->ibv.pd = pd;
	a->address = address;
	a->class = class;
	return &a->ibv;
}

/* What a datagram came with is the IPv6 header, or has the IPv4 header in its last 20 bytes (IBTA annex A17.4.5.1), behind zeros. */
EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc, struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	(void)context;
	if (port != 1 || !(wc->wc_flags & IBV_WC_GRH)) {
		errno = EINVAL;
		return -1;
	}
	const uint8_t *header = (const uint8_t *)grh;
	memset(attr, 0, sizeof(*attr));
	attr->is_global = 1;
	attr->port_num = 1;
	attr->grh.hop_limit = 64;
	if (header[0] >> 4 == 6) {
		memcpy(attr->grh.dgid.raw, header + 8, sizeof(attr->grh.dgid.raw));
		attr->grh.sgid_index = 1;
		return 0;
	}
	attr->grh.dgid.raw[10] = attr->grh.dgid.raw[11] = 0xff;
	memcpy(attr->grh.dgid.raw + 12, header + 32, 4);
	return 0;
}

EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;
	return ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) ? NULL : ibv_create_ah(pd, &attr);
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	free(ah);
	return 0;
}

EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	return pausenet_refused("multicast of datagrams", "a datagram for each receiver, or UDP");
}

EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	return EOPNOTSUPP;
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	(void)context;
	(void)attr;
	return fail(pausenet_refused("an XRC domain", "RC queue pairs with a shared receive queue"));
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	(void)pd;
	(void)type;
	return fail(pausenet_refused("a memory window", "a memory region of its own"));
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)qp;
	(void)mw;
	(void)bind;
	return EOPNOTSUPP;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	(void)mw;
	return EOPNOTSUPP;
}

/* What is not set here verbs.h itself refuses, with EOPNOTSUPP. */
void set_operations(struct verbs_context *v)
{
	struct ibv_context_ops *o = &v->context.ops;
	v->advise_mr = advise_mr;
	v->open_xrcd = open_xrcd;
	v->query_device_ex = query_device_ex;
	v->query_rt_values = query_time;
	o->alloc_mw = alloc_mw;
	o->bind_mw = bind_mw;
	o->dealloc_mw = dealloc_mw;
	o->poll_cq = poll_cq;
	o->req_notify_cq = notify_cq;
	o->post_srq_recv = post_srq_recv;
	o->post_send = post_send;
	o->post_recv = post_recv;
	v->query_port = query_port;
	v->create_cq_ex = create_cq_ex;
	v->create_qp_ex = create_qp_ex;
}
