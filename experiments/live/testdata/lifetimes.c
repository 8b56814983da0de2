/* A program for tests of what librdmacm and libibverbs do with events of objects that are gone.
 *
 *   serve ADDRESS  listens, waits for the end of its input, then takes what has come: a request that has ended cannot be accepted
 *   leave ADDRESS  asks to connect, and thinks better of it
 *   gone ADDRESS   destroys an id and a completion queue while events of theirs wait
 */
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(good)                                                      \
	do {                                                             \
		if (!(good)) {                                           \
			fprintf(stderr, "line %d: " #good "\n", __LINE__); \
			exit(1);                                         \
		}                                                        \
	} while (0)

static struct rdma_event_channel *channel;
static struct sockaddr_in address = {.sin_family = AF_INET};

/* next waits for an event of a type. */
static struct rdma_cm_event *next(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *e;
	CHECK(!rdma_get_cm_event(channel, &e));
	CHECK(e->event == type);
	return e;
}

static struct rdma_cm_id *resolved(void)
{
	struct rdma_cm_id *id;
	CHECK(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 2000));
	return id;
}

static int waits(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	return poll(&p, 1, 0);
}

static void serve(void)
{
	struct rdma_cm_id *id;
	struct rdma_conn_param none = {0};
	CHECK(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&address));
	CHECK(!rdma_listen(id, 8));
	puts("listening");
	fflush(stdout);
	CHECK(getchar() == EOF);
	struct rdma_cm_event *e = next(RDMA_CM_EVENT_CONNECT_REQUEST);
	CHECK(rdma_accept(e->id, &none) == -1);
	CHECK(!waits(channel->fd));
	CHECK(!rdma_destroy_id(e->id));
	rdma_ack_cm_event(e);
	CHECK(!rdma_destroy_id(id));
}

static void leave(void)
{
	struct rdma_conn_param none = {0};
	struct rdma_cm_id *id = resolved();
	rdma_ack_cm_event(next(RDMA_CM_EVENT_ADDR_RESOLVED));
	CHECK(!rdma_resolve_route(id, 2000));
	rdma_ack_cm_event(next(RDMA_CM_EVENT_ROUTE_RESOLVED));
	CHECK(!rdma_connect(id, &none));
	sleep(1); /* the request arrives, and waits */
	CHECK(!rdma_destroy_id(id));
	sleep(1); /* so does the end */
}

static void gone(void)
{
	struct rdma_cm_id *first = resolved(), *second = resolved();
	struct ibv_context *verbs = first->verbs;
	CHECK(!rdma_destroy_id(first));
	struct rdma_cm_event *e = next(RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(e->id == second);
	rdma_ack_cm_event(e);
	CHECK(!waits(channel->fd));

	struct ibv_comp_channel *completions = ibv_create_comp_channel(verbs);
	struct ibv_cq *cq = ibv_create_cq(verbs, 4, NULL, completions, 0);
	struct ibv_pd *pd = ibv_alloc_pd(verbs);
	struct ibv_qp_init_attr how = {.send_cq = cq, .recv_cq = cq, .cap = {.max_send_wr = 1, .max_recv_wr = 1}, .qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = ibv_create_qp(pd, &how);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_recv_wr nothing = {0}, *bad;
	CHECK(qp && !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	CHECK(!ibv_post_recv(qp, &nothing, &bad) && !ibv_req_notify_cq(cq, 0));
	attr.qp_state = IBV_QPS_ERR;
	CHECK(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	CHECK(waits(completions->fd)); /* for the receive request that is flushed */
	CHECK(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
	CHECK(!waits(completions->fd));
}

int main(int count, char **words)
{
	CHECK(count == 3 && inet_pton(AF_INET, words[2], &address.sin_addr) == 1);
	address.sin_port = htons(7471);
	CHECK((channel = rdma_create_event_channel()));
	if (!strcmp(words[1], "serve"))
		serve();
	else if (!strcmp(words[1], "leave"))
		leave();
	else
		gone();
	puts("well");
	return 0;
}
