#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "library.h"

/* Devices stay, as programs keep them beyond the list that they had them from. */
static struct device devices[MAX_DEVICES];
static unsigned int device_count;
static pthread_mutex_t devices_mutex = PTHREAD_MUTEX_INITIALIZER;

/* find asks the server for this host's devices. Without a server there is none. */
static void find(void)
{
	struct connection c;
	uint64_t reply[1 + 4 * MAX_DEVICES] = {0};
	if (pausenet_connect(&c))
		return;
	int error = CALL(&c, reply, 1 + 4 * MAX_DEVICES, OP_DEVICES, PROTOCOL_VERSION);
	close(c.fd);
	if (error == EPROTO)
		fprintf(stderr, "pausenet: this verbs library is of another version than the fabric: make verbs\n");
	if (error || reply[0] > MAX_DEVICES)
		return;
	device_count = (unsigned int)reply[0];
	for (unsigned int i = 0; i < device_count; i++) {
		struct device *d = &devices[i];
		const uint64_t *words = reply + 1 + 4 * i;
		d->number = i;
		d->address = (uint32_t)words[0];
		d->mtu = (uint32_t)words[1];
		d->rate = words[2];
		d->interface = (uint32_t)words[3];
		d->ibv.node_type = IBV_NODE_CA;
		d->ibv.transport_type = IBV_TRANSPORT_IB;
		snprintf(d->ibv.name, sizeof(d->ibv.name), "pausenet%u", i);
		snprintf(d->ibv.dev_name, sizeof(d->ibv.dev_name), "uverbs%u", i);
		snprintf(d->ibv.dev_path, sizeof(d->ibv.dev_path), "/sys/class/infiniband_verbs/uverbs%u", i);
		snprintf(d->ibv.ibdev_path, sizeof(d->ibv.ibdev_path), "/sys/class/infiniband/pausenet%u", i);
	}
}

EXPORT struct ibv_device **ibv_get_device_list(int *count)
{
	pthread_mutex_lock(&devices_mutex);
	device_count = 0;
	find();
	struct ibv_device **list = calloc(device_count + 1, sizeof(*list));
	for (unsigned int i = 0; list && i < device_count; i++)
		list[i] = &devices[i].ibv;
	if (count)
		*count = list ? (int)device_count : 0;
	pthread_mutex_unlock(&devices_mutex);
	return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

/* ibv_get_device_index returns -1: the kernel's RDMA netlink, to which programs would pass the index, has no such device. */
EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return -1;
}

/* guid is an EUI-64 that is administered locally, of the address. */
static uint64_t guid(const struct device *d)
{
	return 0x0200000000000000 | (uint64_t)(d->address >> 16) << 40 | 0xfffe000000 | (d->address & 0xffff);
}

EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(guid(device_of(device)));
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct context *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	int error = pausenet_connect(&c->connection);
	if (error) {
		free(c);
		return fail(error);
	}
	/* The server reads and writes this process's memory by this file alone: it is of this address space, whatever becomes of the process. */
	int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (memory < 0) {
		error = errno;
		goto failed;
	}
	uint64_t request[] = {OP_OPEN, PROTOCOL_VERSION, device_of(device)->number};
	struct iovec v = {request, sizeof(request)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &memory, sizeof(int));
	ssize_t n = sendmsg(c->connection.fd, &m, MSG_NOSIGNAL);
	error = n < 0 ? errno : 0;
	close(memory);
	if (error)
		goto failed;
	int files[2] = {-1, -1};
	/* No words: it takes the reply of what was sent. */
	error = pausenet_reply(&c->connection, NULL, 0, files, 2);
	if (error)
		goto failed;
	c->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, files[0], 0);
	close(files[0]);
	if (c->page == MAP_FAILED) {
		error = errno;
		close(files[1]);
		goto failed;
	}
	struct ibv_context *i = &c->verbs.context;
	c->verbs.sz = sizeof(c->verbs);
	i->device = device;
	i->cmd_fd = c->connection.fd;
	i->async_fd = files[1];
	i->num_comp_vectors = 1;
	pthread_mutex_init(&i->mutex, NULL);
	i->abi_compat = __VERBS_ABI_IS_EXTENDED;
	set_operations(&c->verbs);
	return i;
failed:
	close(c->connection.fd);
	free(c);
	return fail(error);
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
	struct context *c = context_of(context);
	close(c->connection.fd);
	close(context->async_fd);
	munmap(c->page, 4096);
	free(c);
	return 0;
}

EXPORT struct ibv_context *ibv_import_device(int file)
{
	(void)file;
	return fail(EOPNOTSUPP);
}

EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	uint64_t own = htobe64(guid(device_of(context->device)));
	*attr = (struct ibv_device_attr){
		.fw_ver = "pausenet",
		.node_guid = own,
		.sys_image_guid = own,
		.vendor_id = 0x020000, /* administered locally: no company's */
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffffffffffff000,
		.max_qp = 1024,
		.max_qp_wr = MAX_WORK,
		.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_SYS_IMAGE_GUID,
		.max_sge = MAX_SGE,
		.max_sge_rd = MAX_SGE,
		.max_cq = 1024,
		.max_cqe = MAX_CQE - 1,
		.max_mr = 65536,
		.max_pd = 1024,
		.max_qp_rd_atom = 16,
		.max_res_rd_atom = 16 * 1024,
		.max_qp_init_rd_atom = 16,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_ah = 1024,
		.max_srq = 1024,
		.max_srq_wr = MAX_WORK,
		.max_srq_sge = MAX_SGE,
		.max_pkeys = 1,
		.local_ca_ack_delay = 0,
		.phys_port_cnt = 1,
	};
	return 0;
}

int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		    struct ibv_device_attr_ex *attr, size_t size)
{
	const uint32_t both = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
	struct ibv_device_attr_ex all = {
		.odp_caps = {
			.general_caps = IBV_ODP_SUPPORT,
			.per_transport_caps = {
				.rc_odp_caps = both | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV,
				.ud_odp_caps = both,
			},
		},
		.completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = 1000000, /* kHz: of virtual time */
		.phys_port_cnt_ex = 1,
	};
	if (input && input->comp_mask)
		return EINVAL;
	ibv_query_device(context, &all.orig_attr);
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

/* The link's rate as lanes and a rate by the lane (IBTA section 14.2.5.6). */
static void set_speed(struct ibv_port_attr *attr, uint64_t rate)
{
	static const struct {
		uint64_t rate; /* Gb/s, at most */
		uint8_t width, speed;
	} table[] = {
		{3, 1, 1},
		{5, 1, 2},
		{10, 1, 4},
		{14, 1, 16},
		{25, 1, 32},
		{40, 2, 4},
		{50, 16, 32},
		{56, 2, 16},
		{100, 2, 32},
		{200, 2, 64},
		{400, 2, 128},
		{800, 4, 128},
	};
	size_t i = 0;
	while (i + 1 < sizeof(table) / sizeof(table[0]) && rate > table[i].rate * 1000000000)
		i++;
	attr->active_width = table[i].width;
	attr->active_speed = table[i].speed;
}

static enum ibv_mtu mtu_at_least(uint32_t bytes)
{
	enum ibv_mtu m = IBV_MTU_256;
	while (m < IBV_MTU_4096 && bytes > 128u << m)
		m++;
	return m;
}

int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
	struct device *d = device_of(context->device);
	if (port != 1)
		return EINVAL;
	struct ibv_port_attr all = {
		.state = IBV_PORT_ACTIVE,
		.max_mtu = mtu_at_least(d->mtu),
		.active_mtu = mtu_at_least(d->mtu),
		.gid_tbl_len = GIDS,
		.port_cap_flags = IBV_PORT_CM_SUP,
		.max_msg_sz = 1 << 30,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.phys_state = 5, /* LinkUp */
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
	};
	set_speed(&all, d->rate);
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return query_port(context, port, (struct ibv_port_attr *)attr, offsetof(struct ibv_port_attr, port_cap_flags2));
}

EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	if (port != 1 || index < 0 || index >= GIDS) {
		errno = EINVAL;
		return -1;
	}
	to_gid((uint64_t)index << ADDRESS_IPV6 | device_of(context->device)->address, gid);
	return 0;
}

EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct ibv_gid_entry all = {.gid_index = index, .port_num = port, .gid_type = IBV_GID_TYPE_ROCE_V2};
	if (port != 1 || flags)
		return EINVAL;
	if (index >= GIDS)
		return ENODATA;
	to_gid((uint64_t)index << ADDRESS_IPV6 | device_of(context->device)->address, &all.gid);
	all.ndev_ifindex = device_of(context->device)->interface;
	memset(entry, 0, size);
	memcpy(entry, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t most, uint32_t flags, size_t size)
{
	if (most < GIDS)
		return -EINVAL;
	for (uint32_t i = 0; i < GIDS; i++) {
		int error = _ibv_query_gid_ex(context, 1, i, (struct ibv_gid_entry *)((char *)entries + i * size), flags, size);
		if (error)
			return -error;
	}
	return GIDS;
}

/* ibv_query_gid_type's last argument is an enum of rdma-core's own driver.h: 0 InfiniBand or RoCE v1, 1 RoCE v2. */
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index, int *type)
{
	(void)context;
	if (port != 1 || index >= GIDS) {
		errno = EINVAL;
		return -1;
	}
	*type = 1;
	return 0;
}

EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	if (port != 1 || index != 0) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htobe16(0xffff);
	return 0;
}

EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	(void)context;
	return port == 1 && pkey == htobe16(0xffff) ? 0 : -1;
}

EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t mac[6], uint16_t *vlan)
{
	(void)context;
	(void)attr;
	(void)mac;
	(void)vlan;
	errno = EOPNOTSUPP;
	return -1;
}

/* Where a host's devices would have their files there is none. */
EXPORT const char *ibv_get_sysfs_path(void)
{
	return "/sys";
}

EXPORT int ibv_read_sysfs_file(const char *folder, const char *file, char *buffer, size_t size)
{
	char path[512];
	if (strstr(folder, "/infiniband/pausenet") && !strcmp(file, "board_id"))
		return snprintf(buffer, size, "pausenet");
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read(fd, buffer, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	while (n > 0 && buffer[n - 1] == '\n')
		n--;
	buffer[n] = 0;
	return (int)n;
}

EXPORT int ibv_fork_init(void)
{
	return 0;
}

EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

EXPORT int ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}

EXPORT int ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}
