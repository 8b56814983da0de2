/* What the files of librdmacm share. */
#ifndef PAUSENET_CM_H
#define PAUSENET_CM_H

#include <rdma/rdma_cma.h>

#include "library.h"

/* An id of a program: it lives until rdma_destroy_id. */
struct id {
	struct rdma_cm_id cm;
	struct known known;
	uint32_t handle;
	struct rdma_event_channel *own; /* of an id that was made without one: calls wait */
	struct rdma_conn_param told;    /* by the other end: its QP number, resources, depth */
	struct ibv_qp_init_attr *pairs; /* of rdma_create_ep: the queue pairs of requests; NULL: none are made */
	uint8_t tos;                    /* of its queue pair's packets; 0: none was asked for */
	uint8_t timeout;                /* of its queue pair: 4.096 us * 2^timeout; 0: 14 */
	bool family_only;               /* RDMA_OPTION_ID_AFONLY */
};

/* result returns what programs expect of a call: 0, or -1 with errno. */
static inline int result(int error)
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

#endif
