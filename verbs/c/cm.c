#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm.h"

struct event_channel {
	struct rdma_event_channel cm;
	uint32_t handle;
};

enum { CM_COOKIE = 1 }; /* the word of a message of an event channel that has the id's number */

struct event {
	struct rdma_cm_event cm;
	uint64_t private[(MAX_PRIVATE + 7) / 8];
};

static struct connection server;
static bool connected;
static struct ibv_context *contexts[MAX_DEVICES + 1];
static struct ibv_pd *domains[MAX_DEVICES]; /* of ids whose programs give none */
static int context_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* begin connects, and opens this host's devices, as the first call comes. */
static int begin(void)
{
	int error = 0;
	pthread_mutex_lock(&mutex);
	if (!connected) {
		error = pausenet_connect(&server);
		connected = !error;
	}
	if (!error && context_count == 0) {
		int count = 0;
		struct ibv_device **list = ibv_get_device_list(&count);
		for (int i = 0; list && i < count; i++) {
			contexts[context_count] = ibv_open_device(list[i]);
			if (contexts[context_count])
				context_count++;
		}
		ibv_free_device_list(list);
	}
	if (!error && context_count == 0)
		error = ENODEV;
	pthread_mutex_unlock(&mutex);
	return error;
}

EXPORT struct ibv_context **rdma_get_devices(int *count)
{
	int error = begin();
	struct ibv_context **all = error ? fail(error) : calloc(MAX_DEVICES + 1, sizeof(*all));
	if (all)
		memcpy(all, contexts, sizeof(contexts));
	if (count)
		*count = all ? context_count : 0;
	return all;
}

EXPORT void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}

EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	uint64_t request = OP_CHANNEL, reply[1] = {0};
	int file = -1, error = begin();
	if (error)
		return fail(error);
	struct event_channel *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	error = pausenet_call(&server, &request, 1, reply, 1, &file, 1);
	if (error) {
		free(c);
		return fail(error);
	}
	c->cm.fd = file;
	c->handle = (uint32_t)reply[0];
	return &c->cm;
}

EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct event_channel *c = (struct event_channel *)channel;
	CALL(&server, NULL, 0, OP_DESTROY, c->handle);
	close(channel->fd);
	free(c);
}

/* domain_of is the protection domain of a device for ids whose programs give none. */
static struct ibv_pd *domain_of(struct ibv_context *context)
{
	struct ibv_pd *pd = NULL;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < context_count; i++)
		if (contexts[i] == context)
			pd = domains[i] = domains[i] ? domains[i] : ibv_alloc_pd(context);
	pthread_mutex_unlock(&mutex);
	return pd;
}

EXPORT int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context, enum rdma_port_space ps)
{
	uint64_t reply[1] = {0};
	int error = begin();
	if (error)
		return result(error);
	if (ps != RDMA_PS_TCP && ps != RDMA_PS_IB && ps != RDMA_PS_UDP)
		return result(pausenet_refused("this port space of the connection manager", "RDMA_PS_TCP, RDMA_PS_UDP or RDMA_PS_IB"));
	struct id *id = calloc(1, sizeof(*id));
	if (!id)
		return -1;
	if (!channel) {
		channel = id->own = rdma_create_event_channel();
		if (!channel) {
			free(id);
			return -1;
		}
	}
	error = CALL(&server, reply, 1, OP_CM_ID, ((struct event_channel *)channel)->handle, pausenet_know(&id->known),
		     ps == RDMA_PS_UDP ? SERVICE_DATAGRAM : SERVICE_RELIABLE);
	if (error) {
		pausenet_forget(&id->known, -1, CM_COOKIE);
		if (id->own)
			rdma_destroy_event_channel(id->own);
		free(id);
		return result(error);
	}
	id->handle = (uint32_t)reply[0];
	id->cm.channel = channel;
	id->cm.context = context;
	id->cm.ps = ps;
	id->cm.qp_type = ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	*out = &id->cm;
	return 0;
}

EXPORT int rdma_destroy_id(struct rdma_cm_id *cm)
{
	struct id *id = (struct id *)cm;
	int error = CALL(&server, NULL, 0, OP_DESTROY, id->handle);
	if (error)
		return result(error);
	pausenet_forget(&id->known, id->own ? -1 : cm->channel->fd, CM_COOKIE);
	if (cm->event)
		rdma_ack_cm_event(cm->event);
	if (id->own)
		rdma_destroy_event_channel(id->own);
	free(id->pairs);
	free(id);
	return 0;
}

/* address_of is a socket's address as the protocol has it; the error is an errno. */
static int address_of(const struct sockaddr *a, uint64_t *address)
{
	static const uint8_t any[16];
	const uint8_t *six = ((const struct sockaddr_in6 *)a)->sin6_addr.s6_addr;
	switch (a->sa_family) {
	case AF_INET:
		*address = ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr);
		return 0;
	case AF_INET6:
		*address = memcmp(six, any, sizeof(any)) ? of_gid(six) : 1ull << ADDRESS_IPV6;
		return *address ? 0 : EADDRNOTAVAIL;
	default:
		return EAFNOSUPPORT;
	}
}

/* port_of is of either family: the ports are at one place. */
static uint16_t port_of(const struct sockaddr *a)
{
	return ntohs(((const struct sockaddr_in *)a)->sin_port);
}

static void set_address(struct sockaddr_storage *to, uint64_t address, uint64_t port)
{
	struct sockaddr_in *four = (struct sockaddr_in *)to;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
	union ibv_gid gid = {0};
	memset(to, 0, sizeof(*to));
	if (address >> ADDRESS_IPV6) {
		if ((uint32_t)address)
			to_gid(address, &gid);
		six->sin6_family = AF_INET6;
		memcpy(&six->sin6_addr, gid.raw, sizeof(gid.raw));
	} else {
		four->sin_family = AF_INET;
		four->sin_addr.s_addr = htonl((uint32_t)address);
	}
	four->sin_port = htons((uint16_t)port);
}

/* set_device gives an id the device at this host's end of its way, a protection domain, and the GID of an address there. */
static void set_device(struct rdma_cm_id *cm, uint64_t device, uint64_t address)
{
	if (cm->verbs || device >= (uint64_t)context_count)
		return;
	cm->verbs = contexts[device];
	cm->pd = domain_of(cm->verbs);
	cm->port_num = 1;
	to_gid(address, &cm->route.addr.addr.ibaddr.sgid);
}

/* set_peer gives it the address of the other end. */
static void set_peer(struct rdma_cm_id *cm, uint64_t address, uint64_t port)
{
	set_address(&cm->route.addr.dst_storage, address, port);
	to_gid(address, &cm->route.addr.addr.ibaddr.dgid);
	cm->route.addr.addr.ibaddr.pkey = htons(0xffff);
}

static int bind_to(struct rdma_cm_id *cm, uint64_t address, uint64_t port)
{
	uint64_t reply[3] = {0};
	/* An IPv4 address is of its family alone, as Linux has it. */
	int error = CALL(&server, reply, 3, OP_CM_BIND, ((struct id *)cm)->handle, address, port,
			 !(address >> ADDRESS_IPV6) || ((struct id *)cm)->family_only);
	if (error)
		return error;
	set_address(&cm->route.addr.src_storage, reply[0], reply[1]);
	if ((uint32_t)address)
		set_device(cm, reply[2], reply[0]);
	return 0;
}

EXPORT int rdma_bind_addr(struct rdma_cm_id *cm, struct sockaddr *address)
{
	uint64_t own;
	int error = address_of(address, &own);
	return result(error ? error : bind_to(cm, own, port_of(address)));
}

EXPORT int rdma_listen(struct rdma_cm_id *cm, int backlog)
{
	(void)backlog;
	if (!cm->route.addr.src_addr.sa_family) {
		int error = bind_to(cm, 0, 0);
		if (error)
			return result(error);
	}
	return result(CALL(&server, NULL, 0, OP_CM_LISTEN, ((struct id *)cm)->handle));
}

/* waited takes the event that a call on an id without a channel of the program's waits for. */
static int waited(struct rdma_cm_id *cm)
{
	if (!((struct id *)cm)->own)
		return 0;
	if (cm->event) {
		rdma_ack_cm_event(cm->event);
		cm->event = NULL;
	}
	if (rdma_get_cm_event(cm->channel, &cm->event))
		return -1;
	if (cm->event->status)
		return result(cm->event->event == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED : cm->event->status < 0 ? -cm->event->status
														: cm->event->status);
	return 0;
}

EXPORT int rdma_resolve_addr(struct rdma_cm_id *cm, struct sockaddr *from, struct sockaddr *to, int timeout)
{
	uint64_t reply[3] = {0}, peer = 0;
	(void)timeout;
	bool group = to->sa_family == AF_INET ? IN_MULTICAST(ntohl(((struct sockaddr_in *)to)->sin_addr.s_addr))
					      : to->sa_family == AF_INET6 && IN6_IS_ADDR_MULTICAST(&((struct sockaddr_in6 *)to)->sin6_addr);
	int error = group ? pausenet_refused("multicast of datagrams", "a datagram for each receiver, or UDP") : address_of(to, &peer);
	if (error)
		return result(error);
	if (from && !cm->route.addr.src_addr.sa_family && rdma_bind_addr(cm, from))
		return -1;
	uint16_t port = port_of(to); /* which may be in cm */
	error = CALL(&server, reply, 3, OP_CM_RESOLVE, ((struct id *)cm)->handle, peer);
	if (error)
		return result(error);
	set_address(&cm->route.addr.src_storage, reply[0], reply[1]);
	set_peer(cm, peer, port);
	set_device(cm, reply[2], reply[0]);
	return waited(cm);
}

EXPORT int rdma_resolve_route(struct rdma_cm_id *cm, int timeout)
{
	(void)timeout;
	int error = CALL(&server, NULL, 0, OP_CM_ROUTE, ((struct id *)cm)->handle);
	return error ? result(error) : waited(cm);
}

/* datagrams says whether an id is for datagrams, whose queue pairs have a Q_Key in place of another end. */
static bool datagrams(const struct rdma_cm_id *cm)
{
	return cm->qp_type == IBV_QPT_UD;
}

/* set_way sets the address vector of the way to an id's other end. */
static void set_way(struct rdma_cm_id *cm, struct ibv_ah_attr *way)
{
	memset(way, 0, sizeof(*way));
	way->is_global = 1;
	way->port_num = 1;
	way->grh.hop_limit = 64;
	way->grh.traffic_class = ((struct id *)cm)->tos;
	way->grh.dgid = cm->route.addr.addr.ibaddr.dgid;
	way->grh.sgid_index = (uint8_t)(of_gid(way->grh.dgid.raw) >> ADDRESS_IPV6);
}

/* PSNs begin with 0: a QP's number is not used again for long. */
EXPORT int rdma_init_qp_attr(struct rdma_cm_id *cm, struct ibv_qp_attr *attr, int *mask)
{
	struct id *id = (struct id *)cm;
	struct ibv_port_attr port;
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		attr->pkey_index = 0;
		attr->port_num = 1;
		if (datagrams(cm)) {
			attr->qkey = RDMA_UDP_QKEY;
			*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
			return 0;
		}
		attr->qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
		*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
		return 0;
	case IBV_QPS_RTR:
		if (datagrams(cm)) {
			*mask = IBV_QP_STATE;
			return 0;
		}
		if (ibv_query_port(cm->verbs, 1, (struct _compat_ibv_port_attr *)&port))
			return -1;
		set_way(cm, &attr->ah_attr);
		attr->path_mtu = port.active_mtu;
		attr->dest_qp_num = id->told.qp_num;
		attr->rq_psn = 0;
		attr->max_dest_rd_atomic = id->told.responder_resources;
		attr->min_rnr_timer = 12;
		*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		return 0;
	case IBV_QPS_RTS:
		if (datagrams(cm)) {
			attr->sq_psn = 0;
			*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
			return 0;
		}
		attr->timeout = id->timeout ? id->timeout : 14;
		attr->retry_cnt = id->told.retry_count;
		attr->rnr_retry = id->told.rnr_retry_count;
		attr->sq_psn = 0;
		attr->max_rd_atomic = id->told.initiator_depth;
		*mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
		return 0;
	default:
		return result(EINVAL);
	}
}

/* to_state takes the id's queue pair to a state. */
static int to_state(struct rdma_cm_id *cm, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask = IBV_QP_STATE;
	if (!cm->qp)
		return 0;
	if (state != IBV_QPS_ERR && rdma_init_qp_attr(cm, &attr, &mask))
		return errno;
	return ibv_modify_qp(cm->qp, &attr, mask);
}

/* connect_qp has an id's queue pair be ready to send. */
static int connect_qp(struct rdma_cm_id *cm)
{
	int error = to_state(cm, IBV_QPS_RTR);
	return error ? error : to_state(cm, IBV_QPS_RTS);
}

/* say sends parameters of a connection. */
static int say(uint64_t op, struct rdma_cm_id *cm, uint64_t port, const struct rdma_conn_param *p)
{
	uint64_t words[10 + (MAX_PRIVATE + 7) / 8] = {op, ((struct id *)cm)->handle, port};
	size_t used = 10;
	words[3] = cm->qp ? cm->qp->qp_num : p ? p->qp_num
					       : 0;
	words[4] = p ? p->responder_resources : 16;
	words[5] = p ? p->initiator_depth : 16;
	words[6] = p ? p->retry_count : 7;
	words[7] = p ? p->rnr_retry_count : 7;
	words[8] = ((struct id *)cm)->tos;
	if (words[4] > 16)
		words[4] = 16;
	if (words[5] > 16)
		words[5] = 16;
	if (p && p->private_data_len > 0) {
		if (p->private_data_len > MAX_PRIVATE)
			return EINVAL;
		words[9] = p->private_data_len;
		memcpy(words + 10, p->private_data, p->private_data_len);
		used += ((size_t)p->private_data_len + 7) / 8;
	}
	return pausenet_call(&server, words, used, NULL, 0, NULL, 0);
}

EXPORT int rdma_connect(struct rdma_cm_id *cm, struct rdma_conn_param *p)
{
	struct id *id = (struct id *)cm;
	id->told.retry_count = p ? p->retry_count & 7 : 7;
	id->told.rnr_retry_count = p ? p->rnr_retry_count & 7 : 7;
	int error = say(OP_CM_CONNECT, cm, port_of(&cm->route.addr.dst_addr), p);
	return error ? result(error) : waited(cm);
}

EXPORT int rdma_accept(struct rdma_cm_id *cm, struct rdma_conn_param *p)
{
	struct id *id = (struct id *)cm;
	int error = 0;
	if (p) { /* RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH: as many as the other end asked for */
		if (p->responder_resources < id->told.responder_resources)
			id->told.responder_resources = p->responder_resources;
		if (p->initiator_depth < id->told.initiator_depth)
			id->told.initiator_depth = p->initiator_depth;
		id->told.rnr_retry_count = p->rnr_retry_count & 7;
	}
	if (cm->qp && !datagrams(cm))
		error = connect_qp(cm);
	struct rdma_conn_param mine = p ? *p : (struct rdma_conn_param){0};
	mine.responder_resources = id->told.responder_resources;
	mine.initiator_depth = id->told.initiator_depth;
	if (!error)
		error = say(OP_CM_ACCEPT, cm, 0, &mine);
	if (error) {
		to_state(cm, IBV_QPS_ERR);
		return result(error);
	}
	return datagrams(cm) ? 0 : waited(cm);
}

EXPORT int rdma_reject(struct rdma_cm_id *cm, const void *private, uint8_t length)
{
	uint64_t words[3 + (MAX_PRIVATE + 7) / 8] = {OP_CM_REJECT, ((struct id *)cm)->handle, length};
	if (length > MAX_PRIVATE)
		return result(EINVAL);
	if (length > 0)
		memcpy(words + 3, private, length);
	return result(pausenet_call(&server, words, 3 + ((size_t)length + 7) / 8, NULL, 0, NULL, 0));
}

EXPORT int rdma_reject_ece(struct rdma_cm_id *cm, const void *private, uint8_t length)
{
	return rdma_reject(cm, private, length);
}

EXPORT int rdma_establish(struct rdma_cm_id *cm)
{
	if (cm->qp)
		return result(EINVAL);
	return result(CALL(&server, NULL, 0, OP_CM_ESTABLISH, ((struct id *)cm)->handle));
}

EXPORT int rdma_notify(struct rdma_cm_id *cm, enum ibv_event_type event)
{
	(void)cm;
	(void)event;
	return 0;
}

EXPORT int rdma_disconnect(struct rdma_cm_id *cm)
{
	to_state(cm, IBV_QPS_ERR);
	int error = CALL(&server, NULL, 0, OP_CM_DISCONNECT, ((struct id *)cm)->handle);
	return error ? result(error) : waited(cm);
}

/* requested makes the id for a request to connect that came to a listener. */
static int requested(struct event *e, struct rdma_cm_id *listener, const uint64_t *words)
{
	struct id *id = calloc(1, sizeof(*id));
	if (!id) {
		CALL(&server, NULL, 0, OP_DESTROY, words[3]);
		return ENOMEM;
	}
	id->handle = (uint32_t)words[3];
	id->cm.channel = listener->channel;
	id->cm.context = listener->context;
	id->cm.ps = listener->ps;
	id->cm.qp_type = listener->qp_type;
	set_address(&id->cm.route.addr.src_storage, words[4], words[5]);
	set_peer(&id->cm, words[6], words[7]);
	for (int i = 0; i < context_count; i++) {
		union ibv_gid gid;
		ibv_query_gid(contexts[i], 1, 0, &gid);
		if ((uint32_t)of_gid(gid.raw) == (uint32_t)words[4])
			set_device(&id->cm, (uint64_t)i, words[4]);
	}
	int error = CALL(&server, NULL, 0, OP_CM_MOVE, id->handle, ((struct event_channel *)listener->channel)->handle, pausenet_know(&id->known));
	if (error) {
		pausenet_forget(&id->known, -1, CM_COOKIE);
		CALL(&server, NULL, 0, OP_DESTROY, id->handle);
		free(id);
		return error;
	}
	id->tos = (uint8_t)words[13];
	id->told = e->cm.param.conn;
	id->told.private_data = NULL;
	e->cm.listen_id = listener;
	e->cm.id = &id->cm;
	return 0;
}

EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **out)
{
	uint64_t words[CM_EVENT_WORDS + (MAX_PRIVATE + 7) / 8];
	struct event *e = calloc(1, sizeof(*e));
	if (!e)
		return -1;
	for (;;) {
		struct known *about;
		ssize_t n = pausenet_take(channel->fd, words, sizeof(words) / sizeof(words[0]), CM_COOKIE, &about);
		if (n < (ssize_t)(CM_EVENT_WORDS * sizeof(uint64_t))) {
			free(e);
			/* A thread of the program has destroyed the channel: of the kernel's, the read would never return. */
			while (n == 0 && CALL(&server, NULL, 0, OP_DEVICES, PROTOCOL_VERSION) == 0)
				pause();
			return n < 0 ? -1 : result(EIO);
		}
		struct id *id = OWNER(struct id, about);
		struct rdma_conn_param *p = &e->cm.param.conn;
		memset(e, 0, sizeof(*e));
		e->cm.event = (enum rdma_cm_event_type)words[0];
		e->cm.id = &id->cm;
		e->cm.status = (int)words[2];
		p->qp_num = (uint32_t)words[8];
		p->responder_resources = (uint8_t)words[9];
		p->initiator_depth = (uint8_t)words[10];
		p->retry_count = (uint8_t)words[11];
		p->rnr_retry_count = (uint8_t)words[12];
		p->private_data_len = (uint8_t)words[14];
		if (p->private_data_len > 0) {
			memcpy(e->private, words + CM_EVENT_WORDS, (size_t)n - CM_EVENT_WORDS * sizeof(uint64_t));
			p->private_data = e->private;
		}
		switch (e->cm.event) {
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			if (requested(e, &id->cm, words))
				continue;
			break;
		case RDMA_CM_EVENT_CONNECT_RESPONSE:
			id->told.qp_num = p->qp_num;
			id->told.responder_resources = p->initiator_depth;
			id->told.initiator_depth = p->responder_resources;
			if (!id->cm.qp)
				break;
			e->cm.event = RDMA_CM_EVENT_ESTABLISHED;
			int error = connect_qp(&id->cm);
			if (!error)
				error = CALL(&server, NULL, 0, OP_CM_ESTABLISH, id->handle);
			if (error) {
				e->cm.event = RDMA_CM_EVENT_CONNECT_ERROR;
				e->cm.status = -error;
				to_state(&id->cm, IBV_QPS_ERR);
			}
			break;
		case RDMA_CM_EVENT_REJECTED:
			to_state(&id->cm, IBV_QPS_ERR);
			break;
		case RDMA_CM_EVENT_ESTABLISHED:
			if (!datagrams(&id->cm))
				break;
			uint32_t number = p->qp_num; /* the parameters of datagrams lie over those of a connection */
			set_way(&id->cm, &e->cm.param.ud.ah_attr);
			e->cm.param.ud.qp_num = number;
			e->cm.param.ud.qkey = RDMA_UDP_QKEY;
			break;
		default:
			break;
		}
		pausenet_skip(channel->fd, CM_COOKIE);
		*out = &e->cm;
		return 0;
	}
}

EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	free(event);
	return 0;
}

EXPORT int rdma_create_qp_ex(struct rdma_cm_id *cm, struct ibv_qp_init_attr_ex *attr)
{
	if (cm->qp || !cm->verbs || (attr->qp_type == IBV_QPT_UD) != datagrams(cm))
		return result(EINVAL);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) {
		if (!cm->pd)
			return result(ENOMEM);
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = cm->pd;
	}
	/* Queues that the program has none of are made, as rdma_create_qp(3) says. */
	if (!attr->send_cq) {
		cm->send_cq_channel = ibv_create_comp_channel(cm->verbs);
		cm->send_cq = ibv_create_cq(cm->verbs, (int)attr->cap.max_send_wr, cm, cm->send_cq_channel, 0);
		attr->send_cq = cm->send_cq;
	}
	if (!attr->recv_cq) {
		cm->recv_cq_channel = ibv_create_comp_channel(cm->verbs);
		cm->recv_cq = ibv_create_cq(cm->verbs, (int)attr->cap.max_recv_wr, cm, cm->recv_cq_channel, 0);
		attr->recv_cq = cm->recv_cq;
	}
	struct ibv_qp *qp = ibv_create_qp_ex(cm->verbs, attr);
	if (!qp)
		return -1;
	cm->qp = qp;
	int error = to_state(cm, IBV_QPS_INIT);
	if (!error && datagrams(cm))
		error = connect_qp(cm);
	if (error) {
		rdma_destroy_qp(cm);
		return result(error);
	}
	cm->pd = attr->pd;
	cm->send_cq = attr->send_cq;
	cm->recv_cq = attr->recv_cq;
	return 0;
}

EXPORT int rdma_create_qp(struct rdma_cm_id *cm, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex all = {0};
	memcpy(&all, attr, offsetof(struct ibv_qp_init_attr_ex, comp_mask)); /* they begin alike; attr may end in padding */
	all.comp_mask = pd ? IBV_QP_INIT_ATTR_PD : 0;
	all.pd = pd;
	int failed = rdma_create_qp_ex(cm, &all);
	memcpy(attr, &all, offsetof(struct ibv_qp_init_attr_ex, comp_mask));
	return failed;
}

EXPORT void rdma_destroy_qp(struct rdma_cm_id *cm)
{
	if (cm->qp)
		ibv_destroy_qp(cm->qp);
	cm->qp = NULL;
	if (cm->send_cq_channel) {
		ibv_destroy_cq(cm->send_cq);
		ibv_destroy_comp_channel(cm->send_cq_channel);
		cm->send_cq_channel = NULL;
	}
	if (cm->recv_cq_channel) {
		ibv_destroy_cq(cm->recv_cq);
		ibv_destroy_comp_channel(cm->recv_cq_channel);
		cm->recv_cq_channel = NULL;
	}
	cm->send_cq = cm->recv_cq = NULL;
}

EXPORT int rdma_migrate_id(struct rdma_cm_id *cm, struct rdma_event_channel *channel)
{
	struct id *id = (struct id *)cm;
	struct rdma_event_channel *own = NULL;
	if (!channel) {
		channel = own = rdma_create_event_channel();
		if (!own)
			return -1;
	}
	int error = CALL(&server, NULL, 0, OP_CM_MOVE, id->handle, ((struct event_channel *)channel)->handle, id->known.number);
	if (error) {
		if (own)
			rdma_destroy_event_channel(own);
		return result(error);
	}
	if (id->own)
		rdma_destroy_event_channel(id->own);
	id->own = own;
	cm->channel = channel;
	return 0;
}
