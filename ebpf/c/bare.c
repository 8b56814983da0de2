// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Programs that do nothing but send a frame back: what the kernel itself costs, for the benchmark. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

/* That of the pipelines' output. Set as the object is loaded. */
const volatile __u32 mark = 0;
/* The port's outer end. Set as the object is loaded. */
const volatile __u32 outer = 0;

SEC("tc")
int bare_entry(struct __sk_buff *skb)
{
	(void)skb;
	return bpf_redirect_peer(outer, 0);
}

SEC("tc")
int bare_egress(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_OK;
}

SEC("tc")
int bare_ingress(struct __sk_buff *skb)
{
	skb->mark = mark;
	return bpf_redirect_peer(skb->ifindex, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
