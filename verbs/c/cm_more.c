#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rsocket.h>

#include "cm.h"

EXPORT const char *rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
		"RDMA_CM_EVENT_ADDR_RESOLVED", "RDMA_CM_EVENT_ADDR_ERROR", "RDMA_CM_EVENT_ROUTE_RESOLVED", "RDMA_CM_EVENT_ROUTE_ERROR",
		"RDMA_CM_EVENT_CONNECT_REQUEST", "RDMA_CM_EVENT_CONNECT_RESPONSE", "RDMA_CM_EVENT_CONNECT_ERROR", "RDMA_CM_EVENT_UNREACHABLE",
		"RDMA_CM_EVENT_REJECTED", "RDMA_CM_EVENT_ESTABLISHED", "RDMA_CM_EVENT_DISCONNECTED", "RDMA_CM_EVENT_DEVICE_REMOVAL",
		"RDMA_CM_EVENT_MULTICAST_JOIN", "RDMA_CM_EVENT_MULTICAST_ERROR", "RDMA_CM_EVENT_ADDR_CHANGE", "RDMA_CM_EVENT_TIMEWAIT_EXIT"};
	return (unsigned int)event < sizeof(names) / sizeof(names[0]) ? names[event] : "UNKNOWN EVENT";
}

EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *cm)
{
	return cm->route.addr.src_sin.sin_port;
}

EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *cm)
{
	return cm->route.addr.dst_sin.sin_port;
}

EXPORT int rdma_set_option(struct rdma_cm_id *cm, int level, int name, void *value, size_t length)
{
	struct id *id = (struct id *)cm;
	int number;
	if (level != RDMA_OPTION_ID)
		return result(ENOSYS);
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		if (length != sizeof(id->tos))
			return result(EINVAL);
		memcpy(&id->tos, value, length);
		return 0;
	case RDMA_OPTION_ID_AFONLY:
		if (length != sizeof(number) || cm->route.addr.src_addr.sa_family)
			return result(EINVAL);
		memcpy(&number, value, length);
		id->family_only = number != 0;
		return 0;
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (length != sizeof(id->timeout))
			return result(EINVAL);
		memcpy(&id->timeout, value, length);
		id->timeout &= 31;
		return 0;
	/* What concerns a socket of the kernel's, has nothing to concern here. */
	case RDMA_OPTION_ID_REUSEADDR:
		return 0;
	default:
		return result(ENOSYS);
	}
}

static struct sockaddr *copy(const struct sockaddr *a, socklen_t length)
{
	struct sockaddr *to = malloc(length);
	if (to)
		memcpy(to, a, length);
	return to;
}

EXPORT int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints, struct rdma_addrinfo **out)
{
	struct addrinfo want = {.ai_family = node ? AF_UNSPEC : AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
	int passive = hints && hints->ai_flags & RAI_PASSIVE;
	if (hints && hints->ai_family)
		want.ai_family = hints->ai_family;
	int space = hints && hints->ai_port_space              ? hints->ai_port_space
		    : hints && hints->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP
							       : RDMA_PS_TCP;
	if (passive)
		want.ai_flags |= AI_PASSIVE;
	if (hints && hints->ai_flags & RAI_NUMERICHOST)
		want.ai_flags |= AI_NUMERICHOST;
	if (!node && !service && !hints)
		return result(EINVAL);
	int error = node || service ? getaddrinfo(node, service, &want, &found) : 0;
	if (error)
		return error;
	struct rdma_addrinfo *r = calloc(1, sizeof(*r));
	if (!r) {
		if (found)
			freeaddrinfo(found);
		return result(ENOMEM);
	}
	r->ai_family = found ? found->ai_family : want.ai_family;
	r->ai_qp_type = hints && hints->ai_qp_type ? hints->ai_qp_type : space == RDMA_PS_UDP ? IBV_QPT_UD
											      : IBV_QPT_RC;
	r->ai_port_space = space;
	r->ai_flags = passive ? RAI_PASSIVE : 0;
	if (found && passive) {
		r->ai_src_addr = copy(found->ai_addr, found->ai_addrlen);
		r->ai_src_len = found->ai_addrlen;
	} else if (found) {
		r->ai_dst_addr = copy(found->ai_addr, found->ai_addrlen);
		r->ai_dst_len = found->ai_addrlen;
	} else if (hints->ai_dst_len) {
		r->ai_dst_addr = copy(hints->ai_dst_addr, hints->ai_dst_len);
		r->ai_dst_len = hints->ai_dst_len;
	}
	if (!r->ai_src_len && hints && hints->ai_src_len) {
		r->ai_src_addr = copy(hints->ai_src_addr, hints->ai_src_len);
		r->ai_src_len = hints->ai_src_len;
	}
	if (found)
		freeaddrinfo(found);
	*out = r;
	return 0;
}

EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *r)
{
	while (r) {
		struct rdma_addrinfo *next = r->ai_next;
		free(r->ai_src_addr);
		free(r->ai_dst_addr);
		free(r);
		r = next;
	}
}

EXPORT int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *r, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *cm;
	if (rdma_create_id(NULL, &cm, NULL, (enum rdma_port_space)r->ai_port_space))
		return -1;
	struct id *id = (struct id *)cm;
	int bad;
	if (attr)
		attr->qp_type = (enum ibv_qp_type)r->ai_qp_type;
	if (r->ai_flags & RAI_PASSIVE) {
		bad = rdma_bind_addr(cm, r->ai_src_addr);
		cm->pd = pd ? pd : cm->pd;
		if (!bad && attr) {
			id->pairs = malloc(sizeof(*attr));
			bad = !id->pairs;
			if (id->pairs)
				*id->pairs = *attr;
		}
	} else {
		bad = rdma_resolve_addr(cm, r->ai_src_addr, r->ai_dst_addr, 2000) || rdma_resolve_route(cm, 2000) ||
		      (attr && rdma_create_qp(cm, pd, attr));
	}
	if (bad) {
		int error = errno;
		rdma_destroy_id(cm);
		return result(error);
	}
	*out = cm;
	return 0;
}

EXPORT void rdma_destroy_srq(struct rdma_cm_id *cm)
{
	if (cm->srq)
		ibv_destroy_srq(cm->srq);
	cm->srq = NULL;
}

EXPORT void rdma_destroy_ep(struct rdma_cm_id *cm)
{
	rdma_destroy_qp(cm);
	rdma_destroy_srq(cm);
	rdma_destroy_id(cm);
}

EXPORT int rdma_get_request(struct rdma_cm_id *listener, struct rdma_cm_id **out)
{
	struct id *id = (struct id *)listener;
	struct rdma_cm_event *event;
	if (!id->own)
		return result(EINVAL);
	if (rdma_get_cm_event(listener->channel, &event))
		return -1;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		rdma_ack_cm_event(event);
		return result(EINVAL);
	}
	struct rdma_cm_id *cm = event->id;
	int bad = rdma_migrate_id(cm, NULL);
	if (!bad && id->pairs) {
		struct ibv_qp_init_attr attr = *id->pairs;
		bad = rdma_create_qp(cm, listener->pd, &attr);
	}
	if (bad) {
		int error = errno;
		rdma_ack_cm_event(event);
		rdma_destroy_id(cm); /* which rejects the request */
		return result(error);
	}
	cm->event = event;
	*out = cm;
	return 0;
}

EXPORT int rdma_create_srq(struct rdma_cm_id *cm, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	if (!pd)
		pd = cm->pd;
	cm->srq = pd ? ibv_create_srq(pd, attr) : fail(EINVAL);
	return cm->srq ? 0 : -1;
}

EXPORT int rdma_create_srq_ex(struct rdma_cm_id *cm, struct ibv_srq_init_attr_ex *attr)
{
	(void)cm;
	(void)attr;
	return result(pausenet_refused("an extended shared receive queue (XRC)", "rdma_create_srq"));
}

EXPORT int rdma_join_multicast(struct rdma_cm_id *cm, struct sockaddr *address, void *context)
{
	(void)cm;
	(void)address;
	(void)context;
	return result(pausenet_refused("multicast of datagrams", "a datagram for each receiver, or UDP"));
}

EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *cm, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	(void)cm;
	(void)attr;
	(void)context;
	return result(pausenet_refused("multicast of datagrams", "a datagram for each receiver, or UDP"));
}

EXPORT int rdma_leave_multicast(struct rdma_cm_id *cm, struct sockaddr *address)
{
	(void)cm;
	(void)address;
	return result(EOPNOTSUPP);
}

EXPORT int rdma_set_local_ece(struct rdma_cm_id *cm, struct ibv_ece *ece)
{
	(void)cm;
	return ece->vendor_id ? result(EOPNOTSUPP) : 0;
}

EXPORT int rdma_get_remote_ece(struct rdma_cm_id *cm, struct ibv_ece *ece)
{
	(void)cm;
	memset(ece, 0, sizeof(*ece));
	return 0;
}

/* Some programs poll their other files by it. */
EXPORT int rpoll(struct pollfd *files, nfds_t count, int timeout)
{
	return poll(files, count, timeout);
}
