/* Makes each call of libibverbs and librdmacm once, and prints what it does on this host's device: "works", or how it
 * is refused. The test that runs it (experiments/live) keeps the table of docs/verbs.md by it. Both ends are queue
 * pairs of this process, over the fabric. With two arguments it writes instead when it is told to, for a test of
 * outages.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void report(const char *name, int works)
{
	if (works)
		printf("%s works\n", name);
	else
		printf("%s %s\n", name, errno ? strerrorname_np(errno) : "fails");
}

/* IS reports a call that worked if a condition holds. PTR is for calls that return a pointer, and keeps it; ZERO for
 * calls that return 0, or an errno, or -1.
 */
#define IS(name, ...) (errno = 0, report(name, (__VA_ARGS__)))
#define PTR(name, variable, ...) (errno = 0, variable = __VA_ARGS__, report(name, variable != NULL))
#define ZERO(name, ...) (errno = 0, zero(name, __VA_ARGS__))

static void zero(const char *name, int result)
{
	if (result > 0)
		errno = result;
	report(name, result == 0);
}

enum { SIZE = 4096 };
static char *memory;
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static union ibv_gid gid;
static struct ibv_qp *ends[2];

static struct ibv_ah_attr to_self(void)
{
	return (struct ibv_ah_attr){
		.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .sgid_index = 0, .hop_limit = 64}};
}

static uint8_t timeout = 14, retries = 7;

static int connect_to(struct ibv_qp *a, uint32_t number)
{
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = 15};
	struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
				  .path_mtu = IBV_MTU_1024,
				  .dest_qp_num = number,
				  .max_dest_rd_atomic = 1,
				  .min_rnr_timer = 12,
				  .ah_attr = to_self()};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .timeout = timeout, .retry_cnt = retries, .rnr_retry = 7, .max_rd_atomic = 1};
	int error = ibv_modify_qp(a, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (!error)
		error = ibv_modify_qp(a, &rtr,
				      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	return error ? error
		     : ibv_modify_qp(a, &rts,
				     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* await takes one completion, and returns its status. */
static int await(struct ibv_cq *queue)
{
	struct ibv_wc wc = {0};
	while (ibv_poll_cq(queue, 1, &wc) == 0)
		;
	return (int)wc.status;
}

/* in_turn polls eight empty queues a hundred times in turn, and returns how often it slept. */
static long in_turn(void)
{
	enum { QUEUES = 8,
	       ROUNDS = 100 };
	struct ibv_cq *empty[QUEUES];
	struct ibv_wc wc;
	struct rusage before, after;
	for (int i = 0; i < QUEUES; i++)
		empty[i] = ibv_create_cq(context, 1, NULL, NULL, 0);
	getrusage(RUSAGE_THREAD, &before);
	for (int i = 0; i < QUEUES * ROUNDS; i++)
		ibv_poll_cq(empty[i % QUEUES], 1, &wc);
	getrusage(RUSAGE_THREAD, &after);
	for (int i = 0; i < QUEUES; i++)
		ibv_destroy_cq(empty[i]);
	return after.ru_nvcsw - before.ru_nvcsw;
}

/* EXTENDED posts one work request by wr_start and wr_complete, between them the named call and one that gives its
 * data. A receive may take it.
 */
#define EXTENDED(name, with, ...)                                        \
	do {                                                             \
		ibv_post_recv(ends[1], &receive, &bad);                  \
		ibv_wr_start(x);                                         \
		x->wr_id = 1;                                            \
		x->wr_flags = IBV_SEND_SIGNALED;                         \
		with;                                                    \
		__VA_ARGS__;                                             \
		errno = ibv_wr_complete(x);                              \
		int done = errno == 0 && await(sends) == IBV_WC_SUCCESS; \
		report("ibv_wr_start", done);                            \
		report("ibv_wr_complete", done);                         \
		report(name, done);                                      \
	} while (0)

/* extended calls those of struct ibv_qp_ex and struct ibv_cq_ex. */
static void extended(struct ibv_qp *qp, struct ibv_cq *sends, struct ibv_cq_ex *polled)
{
	struct ibv_qp_ex *x = ibv_qp_to_qp_ex(qp);
	struct ibv_sge sge = {.addr = (uintptr_t)memory, .length = 64, .lkey = mr->lkey};
	struct ibv_recv_wr receive = {.sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_data_buf data = {.addr = memory, .length = 8};
	uint64_t at = (uintptr_t)memory + 2048;
	EXTENDED("ibv_wr_rdma_write", ibv_wr_rdma_write(x, mr->rkey, at),
		 ibv_wr_set_sge(x, mr->lkey, (uintptr_t)memory, 8));
	EXTENDED("ibv_wr_rdma_write_imm", ibv_wr_rdma_write_imm(x, mr->rkey, at, 7),
		 ibv_wr_set_sge(x, mr->lkey, (uintptr_t)memory, 8));
	EXTENDED("ibv_wr_rdma_read", ibv_wr_rdma_read(x, mr->rkey, at),
		 ibv_wr_set_sge(x, mr->lkey, (uintptr_t)memory, 8));
	EXTENDED("ibv_wr_atomic_fetch_add", ibv_wr_atomic_fetch_add(x, mr->rkey, at, 1),
		 ibv_wr_set_sge(x, mr->lkey, (uintptr_t)memory, 8));
	EXTENDED("ibv_wr_atomic_cmp_swp", ibv_wr_atomic_cmp_swp(x, mr->rkey, at, 0, 1),
		 ibv_wr_set_sge(x, mr->lkey, (uintptr_t)memory, 8));
	EXTENDED("ibv_wr_send", ibv_wr_send(x), ibv_wr_set_sge(x, mr->lkey, (uintptr_t)memory, 8));
	EXTENDED("ibv_wr_send_imm", ibv_wr_send_imm(x, 7), ibv_wr_set_sge(x, mr->lkey, (uintptr_t)memory, 8));
	EXTENDED("ibv_wr_set_sge", ibv_wr_send(x), ibv_wr_set_sge(x, mr->lkey, (uintptr_t)memory, 8));
	EXTENDED("ibv_wr_set_sge_list", ibv_wr_send(x), ibv_wr_set_sge_list(x, 1, &sge));
	EXTENDED("ibv_wr_set_inline_data", ibv_wr_send(x), ibv_wr_set_inline_data(x, memory, 8));
	EXTENDED("ibv_wr_set_inline_data_list", ibv_wr_send(x), ibv_wr_set_inline_data_list(x, 1, &data));
	ibv_wr_start(x);
	ibv_wr_abort(x);
	IS("ibv_wr_abort", 1);

	struct ibv_poll_cq_attr none = {0};
	ZERO("ibv_start_poll", ibv_start_poll(polled, &none));
	IS("ibv_wc_read_opcode", ibv_wc_read_opcode(polled) == IBV_WC_RECV_RDMA_WITH_IMM);
	IS("ibv_wc_read_imm_data", ibv_wc_read_imm_data(polled) == 7);
	IS("ibv_wc_read_wc_flags", ibv_wc_read_wc_flags(polled) == IBV_WC_WITH_IMM);
	IS("ibv_wc_read_byte_len", ibv_wc_read_byte_len(polled) == 8);
	IS("ibv_wc_read_qp_num", ibv_wc_read_qp_num(polled) == ends[1]->qp_num);
	IS("ibv_wc_read_src_qp", ibv_wc_read_src_qp(polled) == ends[0]->qp_num);
	IS("ibv_wc_read_vendor_err", ibv_wc_read_vendor_err(polled) == 0);
	uint64_t first = ibv_wc_read_completion_ts(polled);
	ZERO("ibv_next_poll", ibv_next_poll(polled));
	IS("ibv_wc_read_completion_ts", ibv_wc_read_completion_ts(polled) > first);
	ibv_end_poll(polled);
	IS("ibv_end_poll", ibv_cq_ex_to_cq(polled) != NULL);
}

static void devices(void)
{
	int count = 0;
	struct ibv_device **list, *device;
	PTR("ibv_get_device_list", list, ibv_get_device_list(&count));
	if (count == 0)
		exit(2);
	device = list[0];
	IS("ibv_get_device_name", strcmp(ibv_get_device_name(device), "pausenet0") == 0);
	IS("ibv_get_device_guid", ibv_get_device_guid(device) != 0);
	IS("ibv_get_device_index", ibv_get_device_index(device) == -1);
	PTR("ibv_open_device", context, ibv_open_device(device));
	ibv_free_device_list(list);
	IS("ibv_free_device_list", 1);

	struct ibv_device_attr attr;
	struct ibv_device_attr_ex more;
	struct ibv_port_attr port;
	struct ibv_gid_entry entry, entries[4];
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	uint16_t pkey = 0;
	ZERO("ibv_query_device", ibv_query_device(context, &attr));
	ZERO("ibv_query_device_ex", ibv_query_device_ex(context, NULL, &more));
	ZERO("ibv_query_port", ibv_query_port(context, 1, &port));
	ZERO("ibv_query_gid", ibv_query_gid(context, 1, 0, &gid));
	ZERO("ibv_query_gid_ex", ibv_query_gid_ex(context, 1, 0, &entry, 0));
	IS("ibv_query_gid_table", ibv_query_gid_table(context, entries, 4, 0) == 2);
	ZERO("ibv_query_pkey", ibv_query_pkey(context, 1, 0, &pkey));
	IS("ibv_get_pkey_index", ibv_get_pkey_index(context, 1, pkey) == 0);
	ZERO("ibv_query_rt_values_ex", ibv_query_rt_values_ex(context, &values));
	ZERO("ibv_fork_init", ibv_fork_init());
	IS("ibv_is_fork_initialized", ibv_is_fork_initialized() == IBV_FORK_UNNEEDED);
	IS("ibv_import_device", ibv_import_device(context->cmd_fd) != NULL);
	IS("ibv_node_type_str", ibv_node_type_str(IBV_NODE_CA) != NULL);
	IS("ibv_port_state_str", ibv_port_state_str(IBV_PORT_ACTIVE) != NULL);
	IS("ibv_event_type_str", ibv_event_type_str(IBV_EVENT_CQ_ERR) != NULL);
	IS("ibv_wc_status_str", ibv_wc_status_str(IBV_WC_SUCCESS) != NULL);
	IS("ibv_rate_to_mult", ibv_rate_to_mult(IBV_RATE_10_GBPS) == 4);
	IS("ibv_rate_to_mbps", ibv_rate_to_mbps(IBV_RATE_10_GBPS) == 10000);
	IS("mult_to_ibv_rate", mult_to_ibv_rate(4) == IBV_RATE_10_GBPS);
	IS("mbps_to_ibv_rate", mbps_to_ibv_rate(10000) == IBV_RATE_10_GBPS);
}

static void regions(void)
{
	struct ibv_mr *other;
	struct ibv_sge range = {.addr = (uintptr_t)memory, .length = SIZE};
	PTR("ibv_alloc_pd", pd, ibv_alloc_pd(context));
	PTR("ibv_reg_mr", mr, ibv_reg_mr(pd, memory, SIZE, 15));
	PTR("ibv_reg_mr_iova", other, ibv_reg_mr_iova(pd, memory, SIZE, 4096, 15));
	ZERO("ibv_rereg_mr", ibv_rereg_mr(other, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 1));
	ZERO("ibv_dereg_mr", ibv_dereg_mr(other));
	IS("ibv_reg_mr, IBV_ACCESS_ON_DEMAND",
	   (other = ibv_reg_mr(pd, memory, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND)) != NULL &&
		   ibv_dereg_mr(other) == 0);
	IS("ibv_reg_mr, IBV_ACCESS_MW_BIND",
	   ibv_reg_mr(pd, memory, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND) != NULL);
	ZERO("ibv_advise_mr", ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &range, 1));
	IS("ibv_reg_dmabuf_mr", ibv_reg_dmabuf_mr(pd, 0, SIZE, 0, 0, 1) != NULL);
	IS("ibv_alloc_null_mr", ibv_alloc_null_mr(pd) != NULL);
	IS("ibv_alloc_mw", ibv_alloc_mw(pd, IBV_MW_TYPE_1) != NULL);
	struct ibv_alloc_dm_attr dm = {.length = 64};
	IS("ibv_alloc_dm", ibv_alloc_dm(context, &dm) != NULL);
	struct ibv_td_init_attr td = {0};
	IS("ibv_alloc_td", ibv_alloc_td(context, &td) != NULL);
	struct ibv_parent_domain_init_attr parent = {.pd = pd};
	IS("ibv_alloc_parent_domain", ibv_alloc_parent_domain(context, &parent) != NULL);
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
	IS("ibv_open_xrcd", ibv_open_xrcd(context, &domain) != NULL);
	struct ibv_counters_init_attr counters = {0};
	IS("ibv_create_counters", ibv_create_counters(context, &counters) != NULL);
	IS("ibv_import_pd", ibv_import_pd(context, pd->handle) != NULL);
	IS("ibv_import_mr", ibv_import_mr(pd, mr->handle) != NULL);
	IS("ibv_import_dm", ibv_import_dm(context, 0) != NULL);
}

static struct ibv_qp *pair(enum ibv_qp_type type, struct ibv_srq *srq, uint64_t operations)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.pd = pd,
		.cap = {.max_send_wr = 16,
			.max_recv_wr = 16,
			.max_send_sge = 2,
			.max_recv_sge = 2,
			.max_inline_data = 64},
		.comp_mask = IBV_QP_INIT_ATTR_PD | (operations ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.send_ops_flags = operations,
	};
	return ibv_create_qp_ex(context, &attr);
}

static void queues(void)
{
	struct ibv_comp_channel *channel;
	struct ibv_cq *other;
	void *about;
	PTR("ibv_create_comp_channel", channel, ibv_create_comp_channel(context));
	PTR("ibv_create_cq", cq, ibv_create_cq(context, 64, NULL, channel, 0));
	struct ibv_cq_init_attr_ex attr = {.cqe = 64,
					   .channel = channel,
					   .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
	struct ibv_cq_ex *x;
	PTR("ibv_create_cq_ex", x, ibv_create_cq_ex(context, &attr));
	ZERO("ibv_resize_cq", ibv_resize_cq(cq, 32));
	struct ibv_modify_cq_attr moderation = {.attr_mask = IBV_CQ_ATTR_MODERATE};
	ZERO("ibv_modify_cq", ibv_modify_cq(cq, &moderation));

	/* Once per round, and not at each of the 800 polls; other than to sleep it may wait now and then. */
	IS("ibv_poll_cq, several in turn", in_turn() < 400);

	struct ibv_srq_init_attr own = {.attr = {.max_wr = 16, .max_sge = 2}};
	struct ibv_srq_attr limit = {.srq_limit = 0};
	struct ibv_srq *srq;
	PTR("ibv_create_srq", srq, ibv_create_srq(pd, &own));
	ZERO("ibv_modify_srq", ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT));
	ZERO("ibv_query_srq", ibv_query_srq(srq, &limit));
	struct ibv_sge sge = {.addr = (uintptr_t)memory, .length = 64, .lkey = mr->lkey};
	struct ibv_recv_wr receive = {.sg_list = &sge, .num_sge = 1}, *bad;
	ZERO("ibv_post_srq_recv", ibv_post_srq_recv(srq, &receive, &bad));
	uint32_t number;
	ZERO("ibv_get_srq_num", ibv_get_srq_num(srq, &number));
	ZERO("ibv_destroy_srq", ibv_destroy_srq(srq));
	struct ibv_srq_init_attr_ex tags = {.attr = own.attr,
					    .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
					    .srq_type = IBV_SRQT_TM,
					    .pd = pd};
	IS("ibv_create_srq_ex, IBV_SRQT_TM", ibv_create_srq_ex(context, &tags) != NULL);
	tags.srq_type = IBV_SRQT_BASIC;
	IS("ibv_create_srq_ex, IBV_SRQT_BASIC",
	   (srq = ibv_create_srq_ex(context, &tags)) != NULL && ibv_destroy_srq(srq) == 0);

	IS("ibv_create_qp, IBV_QPT_UC", pair(IBV_QPT_UC, NULL, 0) != NULL);
	IS("ibv_create_qp, IBV_QPT_XRC_SEND", pair(IBV_QPT_XRC_SEND, NULL, 0) != NULL);
	IS("ibv_create_qp, IBV_QPT_RAW_PACKET", pair(IBV_QPT_RAW_PACKET, NULL, 0) != NULL);
	IS("ibv_create_qp, IBV_QPT_DRIVER (DCT, DCI)", pair(IBV_QPT_DRIVER, NULL, 0) != NULL);
	struct ibv_qp *datagrams = pair(IBV_QPT_UD, NULL, 0);
	IS("ibv_create_qp, IBV_QPT_UD", datagrams != NULL && ibv_destroy_qp(datagrams) == 0);
	struct ibv_wq_init_attr wq = {.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = pd, .cq = cq};
	IS("ibv_create_wq", ibv_create_wq(context, &wq) != NULL);
	struct ibv_rwq_ind_table_init_attr table = {0};
	IS("ibv_create_rwq_ind_table", ibv_create_rwq_ind_table(context, &table) != NULL);
	struct ibv_qp_open_attr shared = {0};
	IS("ibv_open_qp", ibv_open_qp(context, &shared) != NULL);

	struct ibv_qp_init_attr plain = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = ibv_cq_ex_to_cq(x),
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 2}};
	PTR("ibv_create_qp, IBV_QPT_RC", ends[1], ibv_create_qp(pd, &plain));
	PTR("ibv_create_qp_ex", ends[0],
	    pair(IBV_QPT_RC, NULL,
		 IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
			 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD));
	IS("ibv_qp_to_qp_ex", ibv_qp_to_qp_ex(ends[0]) != NULL);
	IS("ibv_create_qp_ex, IBV_QP_EX_WITH_BIND_MW", pair(IBV_QPT_RC, NULL, IBV_QP_EX_WITH_BIND_MW) != NULL);
	ZERO("ibv_modify_qp", connect_to(ends[0], ends[1]->qp_num) ? errno : connect_to(ends[1], ends[0]->qp_num));
	struct ibv_qp_attr now;
	struct ibv_qp_init_attr begun;
	ZERO("ibv_query_qp", ibv_query_qp(ends[0], &now, IBV_QP_STATE, &begun));
	IS("ibv_query_qp_data_in_order", ibv_query_qp_data_in_order(ends[0], IBV_WR_SEND, 0) == 0);
	struct ibv_qp_rate_limit_attr rate = {.rate_limit = 1000};
	ZERO("ibv_modify_qp_rate_limit", ibv_modify_qp_rate_limit(ends[0], &rate));
	struct ibv_qp_attr limited = {.rate_limit = 1000};
	ZERO("ibv_modify_qp, IBV_QP_RATE_LIMIT", ibv_modify_qp(ends[0], &limited, IBV_QP_RATE_LIMIT));
	struct ibv_ece ece = {0};
	ZERO("ibv_query_ece", ibv_query_ece(ends[0], &ece));
	ZERO("ibv_set_ece", ibv_set_ece(ends[0], &ece));
	union ibv_gid group = gid;
	ZERO("ibv_attach_mcast", ibv_attach_mcast(ends[0], &group, 0));
	ZERO("ibv_detach_mcast", ibv_detach_mcast(ends[0], &group, 0));
	struct ibv_flow_attr flow = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(flow), .port = 1};
	IS("ibv_create_flow", ibv_create_flow(ends[0], &flow) != NULL);
	struct ibv_flow_action_esp_attr esp = {0};
	IS("ibv_create_flow_action_esp", ibv_create_flow_action_esp(context, &esp) != NULL);

	ZERO("ibv_req_notify_cq", ibv_req_notify_cq(cq, 0));
	ZERO("ibv_post_recv", ibv_post_recv(ends[1], &receive, &bad));
	struct ibv_send_wr send = {.sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
	struct ibv_send_wr *wrong;
	ZERO("ibv_post_send", ibv_post_send(ends[0], &send, &wrong));
	ZERO("ibv_get_cq_event", ibv_get_cq_event(channel, &other, &about));
	ibv_ack_cq_events(cq, 1);
	IS("ibv_ack_cq_events", other == cq);
	IS("ibv_poll_cq", await(cq) == IBV_WC_SUCCESS && await(ibv_cq_ex_to_cq(x)) == IBV_WC_SUCCESS);
	/* The other end's completion precedes this end's, so it waits in x, and a request for an event of x raises one. */
	ibv_post_recv(ends[1], &receive, &bad);
	ibv_post_send(ends[0], &send, &wrong);
	await(cq);
	ibv_req_notify_cq(ibv_cq_ex_to_cq(x), 0);
	struct pollfd event = {.fd = channel->fd, .events = POLLIN};
	IS("ibv_req_notify_cq, after a completion", poll(&event, 1, 0) == 1);
	ibv_get_cq_event(channel, &other, &about);
	ibv_ack_cq_events(other, 1);
	await(ibv_cq_ex_to_cq(x));
	send.opcode = IBV_WR_SEND_WITH_INV;
	ZERO("ibv_post_send, IBV_WR_SEND_WITH_INV", ibv_post_send(ends[0], &send, &wrong));
	extended(ends[0], cq, x);

	send.opcode = IBV_WR_RDMA_WRITE;
	send.wr.rdma.rkey = mr->rkey + 1;
	ibv_post_send(ends[0], &send, &wrong);
	await(cq);
	/* Only a query of the state changes ibv_qp's. */
	ibv_query_qp(ends[0], &now, IBV_QP_CAP, &begun);
	int kept = ends[0]->state == IBV_QPS_RTS;
	ibv_query_qp(ends[0], &now, IBV_QP_STATE, &begun);
	IS("ibv_query_qp, after an error", kept && now.qp_state == IBV_QPS_ERR && ends[0]->state == IBV_QPS_ERR);

	struct ibv_ah_attr where = to_self();
	struct ibv_ah *ah;
	PTR("ibv_create_ah", ah, ibv_create_ah(pd, &where));
	ZERO("ibv_destroy_ah", ibv_destroy_ah(ah));
	uint8_t mac[6];
	uint16_t vlan;
	ZERO("ibv_resolve_eth_l2_from_gid", ibv_resolve_eth_l2_from_gid(context, &where, mac, &vlan));
	IS("ibv_flow_label_to_udp_sport", ibv_flow_label_to_udp_sport(1) != 0);
	ZERO("ibv_destroy_qp", ibv_destroy_qp(ends[0]) ? errno : ibv_destroy_qp(ends[1]));
	ZERO("ibv_destroy_cq", ibv_destroy_cq(cq) ? errno : ibv_destroy_cq(ibv_cq_ex_to_cq(x)));
	ZERO("ibv_destroy_comp_channel", ibv_destroy_comp_channel(channel));
	ZERO("ibv_dereg_mr", ibv_dereg_mr(mr));
	ZERO("ibv_dealloc_pd", ibv_dealloc_pd(pd));
	ZERO("ibv_close_device", ibv_close_device(context));
}

static char *address;

/* serve accepts one connection of the synchronous calls, and echoes a message. */
static void *serve(void *argument)
{
	struct rdma_cm_id *listening = argument, *id = NULL;
	static char buffer[64];
	ZERO("rdma_get_request", rdma_get_request(listening, &id));
	struct ibv_mr *m = rdma_reg_msgs(id, buffer, sizeof(buffer));
	struct ibv_wc wc;
	rdma_post_recv(id, NULL, buffer, sizeof(buffer), m);
	ZERO("rdma_accept", rdma_accept(id, NULL));
	IS("rdma_get_recv_comp", rdma_get_recv_comp(id, &wc) == 1);
	rdma_dereg_mr(m);
	rdma_disconnect(id);
	rdma_destroy_ep(id);
	return NULL;
}

static void synchronous(void)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP}, *info = NULL;
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}, .sq_sig_all = 1};
	struct rdma_cm_id *listening = NULL, *id = NULL;
	static char buffer[64];
	ZERO("rdma_getaddrinfo", rdma_getaddrinfo(address, "7471", &hints, &info));
	ZERO("rdma_create_ep", rdma_create_ep(&listening, info, NULL, &attr));
	ZERO("rdma_listen", rdma_listen(listening, 1));
	pthread_t thread;
	pthread_create(&thread, NULL, serve, listening);
	rdma_freeaddrinfo(info);
	IS("rdma_freeaddrinfo", 1);
	hints.ai_flags = 0;
	rdma_getaddrinfo(address, "7471", &hints, &info);
	struct rdma_addrinfo *copied = NULL;
	hints.ai_dst_addr = info->ai_dst_addr;
	hints.ai_dst_len = info->ai_dst_len;
	IS("rdma_getaddrinfo, of hints alone",
	   !rdma_getaddrinfo(NULL, NULL, &hints, &copied) && copied->ai_dst_len == info->ai_dst_len &&
		   !memcmp(copied->ai_dst_addr, info->ai_dst_addr, info->ai_dst_len));
	rdma_freeaddrinfo(copied);
	rdma_create_ep(&id, info, NULL, &attr);
	struct ibv_mr *m;
	struct ibv_wc wc;
	PTR("rdma_reg_msgs", m, rdma_reg_msgs(id, buffer, sizeof(buffer)));
	ZERO("rdma_connect", rdma_connect(id, NULL));
	IS("rdma_get_src_port", rdma_get_src_port(id) != 0);
	IS("rdma_get_dst_port", ntohs(rdma_get_dst_port(id)) == 7471);
	IS("rdma_get_local_addr", rdma_get_local_addr(id) != NULL);
	IS("rdma_get_peer_addr", rdma_get_peer_addr(id) != NULL);
	ZERO("rdma_post_send", rdma_post_send(id, NULL, buffer, 8, m, 0));
	IS("rdma_get_send_comp", rdma_get_send_comp(id, &wc) == 1);
	ZERO("rdma_disconnect", rdma_disconnect(id));
	pthread_join(thread, NULL);
	ZERO("rdma_dereg_mr", rdma_dereg_mr(m));
	rdma_destroy_ep(id);
	rdma_destroy_ep(listening);
	IS("rdma_destroy_ep", 1);
}

static void asynchronous(void)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id = NULL;
	struct rdma_cm_event *event = NULL;
	struct sockaddr_in any = {.sin_family = AF_INET}, to = {.sin_family = AF_INET, .sin_port = htons(9)};
	struct ibv_context **all;
	int count = 0;
	uint8_t type = 96;
	inet_pton(AF_INET, address, &to.sin_addr);
	PTR("rdma_get_devices", all, rdma_get_devices(&count));
	rdma_free_devices(all);
	IS("rdma_free_devices", count == 1);
	PTR("rdma_create_event_channel", channel, rdma_create_event_channel());
	ZERO("rdma_create_id", rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	ZERO("rdma_bind_addr", rdma_bind_addr(id, (struct sockaddr *)&any));
	ZERO("rdma_set_option", rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &type, sizeof(type)));
	ZERO("rdma_resolve_addr", rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000));
	ZERO("rdma_get_cm_event", rdma_get_cm_event(channel, &event));
	IS("rdma_event_str", strcmp(rdma_event_str(event->event), "RDMA_CM_EVENT_ADDR_RESOLVED") == 0);
	ZERO("rdma_ack_cm_event", rdma_ack_cm_event(event));
	IS("rdma_resolve_addr, which gives a protection domain", id->pd && id->pd->context == id->verbs);
	ZERO("rdma_resolve_route", rdma_resolve_route(id, 1000));
	rdma_get_cm_event(channel, &event);
	rdma_ack_cm_event(event);
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	ZERO("rdma_create_qp", rdma_create_qp(id, NULL, &attr));
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT};
	int mask;
	ZERO("rdma_init_qp_attr", rdma_init_qp_attr(id, &init, &mask));
	struct rdma_conn_param parameters = {.retry_count = 7};
	rdma_connect(id, &parameters); /* nobody listens at port 9 */
	rdma_get_cm_event(channel, &event);
	IS("rdma_connect, without a listener", event->event == RDMA_CM_EVENT_REJECTED);
	rdma_ack_cm_event(event);
	struct ibv_ece ece = {0};
	ZERO("rdma_set_local_ece", rdma_set_local_ece(id, &ece));
	ZERO("rdma_get_remote_ece", rdma_get_remote_ece(id, &ece));
	ZERO("rdma_join_multicast", rdma_join_multicast(id, (struct sockaddr *)&to, NULL));
	struct rdma_cm_join_mc_attr_ex group = {.comp_mask =
							RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
						.addr = (struct sockaddr *)&to};
	ZERO("rdma_join_multicast_ex", rdma_join_multicast_ex(id, &group, NULL));
	ZERO("rdma_leave_multicast", rdma_leave_multicast(id, (struct sockaddr *)&to));
	rdma_destroy_qp(id);
	IS("rdma_destroy_qp", id->qp == NULL);
	ZERO("rdma_migrate_id", rdma_migrate_id(id, channel));
	ZERO("rdma_destroy_id", rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	IS("rdma_destroy_event_channel", 1);
}

/* write_lines writes 8 bytes for each line of its input, and prints "posted", and then the status and the virtual
 * times in ns before and after it was posted, and of its completion.
 */
static int write_lines(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_values_ex before = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK}, after = before;
	struct ibv_cq_init_attr_ex attr = {.cqe = 64, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
	struct ibv_poll_cq_attr none = {0};
	char line[16];
	context = ibv_open_device(list[0]);
	ibv_query_gid(context, 1, 0, &gid);
	pd = ibv_alloc_pd(context);
	mr = ibv_reg_mr(pd, memory, SIZE, 15);
	struct ibv_cq_ex *x = ibv_create_cq_ex(context, &attr);
	cq = ibv_cq_ex_to_cq(x);
	ends[0] = pair(IBV_QPT_RC, NULL, 0);
	ends[1] = pair(IBV_QPT_RC, NULL, 0);
	if (connect_to(ends[1], ends[0]->qp_num) || connect_to(ends[0], ends[1]->qp_num))
		return 1;
	struct ibv_sge sge = {.addr = (uintptr_t)memory, .length = 8, .lkey = mr->lkey};
	struct ibv_send_wr *wrong,
		send = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
	send.wr.rdma.remote_addr = (uintptr_t)memory + 2048;
	send.wr.rdma.rkey = mr->rkey;
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		ibv_query_rt_values_ex(context, &before);
		if (ibv_post_send(ends[0], &send, &wrong))
			return 1;
		ibv_query_rt_values_ex(context, &after);
		puts("posted");
		while (ibv_start_poll(x, &none))
			;
		printf("%d %lld %lld %lld\n", x->status,
		       before.raw_clock.tv_sec * 1000000000LL + before.raw_clock.tv_nsec,
		       after.raw_clock.tv_sec * 1000000000LL + after.raw_clock.tv_nsec,
		       (long long)ibv_wc_read_completion_ts(x));
		ibv_end_poll(x);
	}
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	memory = aligned_alloc(4096, SIZE);
	memset(memory, 0, SIZE);
	if (argc == 3) { /* timeout and retries of the queue pairs */
		timeout = (uint8_t)atoi(argv[1]);
		retries = (uint8_t)atoi(argv[2]);
		return write_lines();
	}
	if (argc != 2)
		return 2;
	address = argv[1];
	devices();
	regions();
	queues();
	synchronous();
	asynchronous();
	return 0;
}
