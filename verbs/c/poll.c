#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "library.h"

/* A program that polls in vain would take a processor that the fabric needs: after some polls a poll sleeps until something completes,
 * or for a moment. A thread that polls several queues in turn sleeps at one of them, once per round.
 */
enum { POLLS_BEFORE_SLEEP = 32,
       POLLS_OF_OTHERS = 4096, /* until a thread takes another queue to sleep at */
       SLEEP_NANOSECONDS = 200000 };

static __thread unsigned int in_vain, of_others;
static __thread const struct cq *slept_at;

static void sleep_a_moment(const struct cq *q, struct page *p, uint32_t seen)
{
	struct timespec most = {0, SLEEP_NANOSECONDS};
	if (pausenet_clock_vain && pausenet_clock_vain(in_vain - 1))
		return;
	if (in_vain <= POLLS_BEFORE_SLEEP || (slept_at && q != slept_at && ++of_others < POLLS_OF_OTHERS))
		return;
	slept_at = q;
	of_others = 0;
	__atomic_add_fetch(&p->sleepers, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &p->completions, FUTEX_WAIT, seen, &most, NULL, 0);
	__atomic_sub_fetch(&p->sleepers, 1, __ATOMIC_SEQ_CST);
}

static struct entry *entry_at(struct cq *q, uint32_t at)
{
	return (struct entry *)(q->ring + RING_HEADER + (size_t)(at & (q->size - 1)) * RING_ENTRY);
}

/* A completion that drop_completions has dropped has this status. */
enum { DROPPED = UINT32_MAX };

/* take takes the next completion. The caller has the queue's lock. */
static bool take(struct cq *q, struct entry *e)
{
	uint32_t *written = (uint32_t *)q->ring, *read = (uint32_t *)(q->ring + RING_HEADER / 2);
	do {
		uint32_t at = *read;
		if (__atomic_load_n(written, __ATOMIC_ACQUIRE) == at)
			return false;
		*e = *entry_at(q, at);
		__atomic_store_n(read, at + 1, __ATOMIC_RELEASE);
	} while (e->status == (uint32_t)DROPPED);
	return true;
}

void drop_completions(struct ibv_cq *cq, uint32_t qp)
{
	struct cq *q = (struct cq *)cq;
	pthread_spin_lock(&q->lock);
	uint32_t end = __atomic_load_n((uint32_t *)q->ring, __ATOMIC_ACQUIRE);
	for (uint32_t at = *(uint32_t *)(q->ring + RING_HEADER / 2); at != end; at++)
		if (entry_at(q, at)->qp == qp)
			entry_at(q, at)->status = (uint32_t)DROPPED;
	pthread_spin_unlock(&q->lock);
}

static unsigned int flags_of_entry(const struct entry *e)
{
	return (e->flags & DONE_IMM ? IBV_WC_WITH_IMM : 0) | (e->flags & DONE_GRH ? IBV_WC_GRH : 0);
}

/* A datagram's service level says what its header is, as on mlx5's devices: UCX goes by it. Bit 3: with UDP; 1: IPv6; 2: IPv4. */
static uint8_t level_of_entry(const struct entry *e)
{
	if (!(e->flags & DONE_GRH))
		return 0;
	return e->flags & DONE_IPV6 ? 8 | 1 : 8 | 2;
}

static void convert(const struct entry *e, struct ibv_wc *wc)
{
	*wc = (struct ibv_wc){
		.wr_id = e->id,
		.status = (enum ibv_wc_status)e->status,
		.opcode = (enum ibv_wc_opcode)e->opcode,
		.byte_len = e->length,
		.imm_data = htonl(e->immediate),
		.qp_num = e->qp,
		.src_qp = e->source,
		.wc_flags = flags_of_entry(e),
		.sl = level_of_entry(e),
	};
}

int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	struct cq *q = (struct cq *)cq;
	struct page *p = context_of(cq->context)->page;
	uint32_t seen = __atomic_load_n(&p->completions, __ATOMIC_ACQUIRE);
	struct entry e;
	int n = 0;
	pthread_spin_lock(&q->lock);
	while (n < most && take(q, &e))
		convert(&e, &wc[n++]);
	pthread_spin_unlock(&q->lock);
	if (n > 0 || most == 0)
		in_vain = 0;
	else {
		in_vain++;
		sleep_a_moment(q, p, seen);
	}
	return n;
}

int notify_cq(struct ibv_cq *cq, int solicited)
{
	return CALL(connection_of(cq->context), NULL, 0, OP_NOTIFY, cq->handle, !!solicited);
}

static int next_poll(struct ibv_cq_ex *current)
{
	struct cq *q = (struct cq *)current;
	pthread_spin_lock(&q->lock);
	bool some = take(q, &q->now);
	pthread_spin_unlock(&q->lock);
	if (!some)
		return ENOENT;
	current->status = (enum ibv_wc_status)q->now.status;
	current->wr_id = q->now.id;
	return 0;
}

static int start_poll(struct ibv_cq_ex *current, struct ibv_poll_cq_attr *attr)
{
	struct page *p = context_of(current->context)->page;
	uint32_t seen = __atomic_load_n(&p->completions, __ATOMIC_ACQUIRE);
	if (attr->comp_mask)
		return EINVAL;
	int error = next_poll(current);
	if (!error)
		in_vain = 0;
	else {
		in_vain++;
		sleep_a_moment((struct cq *)current, p, seen);
	}
	return error;
}

static void end_poll(struct ibv_cq_ex *current)
{
	(void)current;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *current)
{
	return (enum ibv_wc_opcode)((struct cq *)current)->now.opcode;
}

static uint32_t read_zero(struct ibv_cq_ex *current)
{
	(void)current;
	return 0;
}

static uint8_t read_zero_byte(struct ibv_cq_ex *current)
{
	(void)current;
	return 0;
}

static uint8_t read_level(struct ibv_cq_ex *current)
{
	return level_of_entry(&((struct cq *)current)->now);
}

static uint32_t read_length(struct ibv_cq_ex *current)
{
	return ((struct cq *)current)->now.length;
}

static __be32 read_immediate(struct ibv_cq_ex *current)
{
	return htonl(((struct cq *)current)->now.immediate);
}

static uint32_t read_qp(struct ibv_cq_ex *current)
{
	return ((struct cq *)current)->now.qp;
}

static uint32_t read_source(struct ibv_cq_ex *current)
{
	return ((struct cq *)current)->now.source;
}

static unsigned int read_flags(struct ibv_cq_ex *current)
{
	return flags_of_entry(&((struct cq *)current)->now);
}

static uint64_t read_time(struct ibv_cq_ex *current)
{
	return ((struct cq *)current)->now.time;
}

/* query_time is the clock of completions: virtual time. */
int query_time(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint64_t reply[1] = {0};
	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return EOPNOTSUPP;
	int error = CALL(connection_of(context), reply, 1, OP_TIME);
	values->raw_clock = (struct timespec){.tv_sec = (time_t)(reply[0] / 1000000000), .tv_nsec = (long)(reply[0] % 1000000000)};
	return error;
}

void set_polling(struct cq *q)
{
	q->ibv.start_poll = start_poll;
	q->ibv.next_poll = next_poll;
	q->ibv.end_poll = end_poll;
	q->ibv.read_opcode = read_opcode;
	q->ibv.read_vendor_err = read_zero;
	q->ibv.read_byte_len = read_length;
	q->ibv.read_imm_data = read_immediate;
	q->ibv.read_qp_num = read_qp;
	q->ibv.read_src_qp = read_source;
	q->ibv.read_wc_flags = read_flags;
	q->ibv.read_slid = read_zero;
	q->ibv.read_sl = read_level;
	q->ibv.read_completion_ts = read_time;
	q->ibv.read_dlid_path_bits = read_zero_byte;
}
