// Package lab provides small scenarios as text, and numbers computed by hand, for tests of several packages.
package lab

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/pausenet/pausenet/vtime"
)

// Small describes an incast with everything that draws random numbers or has ties: RED, PFC, CNPs, equal starts.
const Small = `
name: small
topology: {rate: 40Gbps, delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4}}
switch:
  pfc: {xoff: 60KB, xoff_to_xon: 5KB}
  ecn: {kmin: 5KB, kmax: 100KB, pmax: 0.2}
  cnm: {ecn_threshold: 20KB}
flows:
  - {tag: incast, from: [h0..h5], to: h7, size: 60KB, count: 2, interval: 20us}
  - {tag: other, from: h7, to: h0, size: 100KB}
duration: 300us
drain: true
sample: {interval: 5us}
`

// Variants adds variants of DCQCN to Small.
const Variants = Small + `
cc: {dcqcn: {rai: 80Mbps, g: 1/128}}
controllers:
  - dcqcn
  - {name: dcqcn-half, cc: dcqcn, set: {initial_alpha: 1/2}}
  - {name: dcqcn-xoff, cc: dcqcn, switch: {pfc: {xoff: 40KB}}}
  - {name: dcqcn-acks, cc: dcqcn, host: {ack_every: 3}}
  - {name: dcqcn-class, cc: dcqcn, host: {data_priority: 4}}
`

// Referring has a series for every setting that a panel may refer to.
const Referring = `
name: small
topology: {delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4, host_rate: 25Gbps, fabric_rate: 100Gbps}}
switch: {pfc: {xoff: 100KB}, ecn: {kmin: 20KB, kmax: 80KB, per_rate: 25Gbps}, cnm: {ecn_threshold: 60KB}, tcd: {q_len: 7KB}}
flows:
  - {tag: incast, from: [h0..h3], to: h7, size: 30KB}
  - {tag: other, from: h7, to: h0, size: 10KB, constant_rate: 2Gbps}
duration: 100us
drain: true
controllers:
  - dcqcn
  - none
  - dcon
  - dcqcn+tcd
  - hpcc
  - {name: deep, cc: dcqcn, switch: {pfc: {xoff: 200KB}, ecn: {kmax: 90KB}}}
  - {name: dynamic, cc: dcqcn, switch: {pfc: {alpha: 1/4}}}
  - {name: lossy, cc: dcqcn, switch: {pfc: {priorities: []}}}
  - {name: credits, cc: dcqcn, switch: {flow_control: cbfc, cbfc: {buffer: 200KB}}}
report:
  - title: Ingress
    series:
      - {ingress: "leaf1:spine0", reference: pfc.xoff}
      - {ingress: "leaf1:spine1", reference: pfc.xon}
      - {ingress: "leaf1:h7", reference: cbfc.buffer}
  - title: Egress
    series:
      - {queue: "leaf1:h7", reference: ecn.kmax}
      - {queue: "leaf1:spine0", reference: ecn.kmax}
      - {queue: "leaf1:spine0", reference: ecn.kmin}
      - {queue: "leaf1:h6", reference: cnm.ecn_threshold}
      - {queue: "leaf1:h5", reference: cnm.threshold}
      - {queue: "leaf1:h4", reference: tcd.q_len}
  - title: Rates
    series:
      - {goodput: incast, reference: payload/2, reference_label: half}
      - {rate: incast, reference: line}
      - {rate: other, reference: constant_rate}
      - {goodput: other, reference: 3Gbps}
`

// WithFaults returns a scenario with faults, each an item of a list.
func WithFaults(items string) string {
	return `topology: {leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 2}}
flows: [{from: h0, to: h2, size: 100KB}]
duration: 10ms
faults:
` + items
}

// Files of HPCC's simulator: a star with a switch in the midst of the hosts, and flows of its kinds.
const (
	HPCCTopology = "5 1 4\n2\n0 2 40Gbps 1000ns 0\n1 2 40Gbps 1000ns 0\n3 2 40Gbps 0.000002 0\n4 2 100Gbps 1us 0\n"
	HPCCFlows    = "4\n0 3 3 100 1500 2\n4 3 3 200 300000 2.000001\n1 3 3 4791 300000 2.000001\n0 4 3 100 1 " +
		"2.0000100005\n\n" +
		"First line: # of flows\n"
	HPCCScenario = `
topology: {name: star, framing: ns3, hpcc: topo.txt}
switch: {pfc: {xoff: 50KB}}
controllers: [none]
workloads:
  - {hpcc: {file: flow.txt, origin: 2s}}
duration: 1ms
drain: true
`
)

// HPCCFolder returns a folder with the simulator's files, and a scenario next to them.
func HPCCFolder(t testing.TB, topology, flows, scenario string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"topo.txt": topology, "flow.txt": flows, "scenario.yaml": scenario} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "scenario.yaml")
}

// ByHand computes the time of a lone flow, frame by frame, from the formats alone. A data frame has Ethernet 14, IPv4
// 20, UDP 8, BTH 12, the payload padded to 4, ICRC 4, and RETH 16 in the first; the ACK has an AETH of 4. On Ethernet a
// frame costs 24 B more and at least 84; in the simulators' framing 10 B less and at least 60.
func ByHand(framing string, mtu, size int64, gigabits []int64, delay vtime.Time) vtime.Time {
	line := func(frame int64) int64 {
		if framing == "ns3" {
			return max(frame-10, 60)
		}
		return max(frame, 60) + 24
	}
	done := make([]int64, len(gigabits)) // ps at which each link has sent the frame before
	at := int64(0)
	for sent := int64(0); sent < size; sent += mtu {
		frame := 58 + (min(mtu, size-sent)+3)/4*4
		if sent == 0 {
			frame += 16
		}
		at = 0
		for i, g := range gigabits {
			done[i] = max(done[i], at) + line(frame)*8000/g
			at = done[i] + int64(delay)
		}
	}
	for _, g := range gigabits {
		at += line(62)*8000/g + int64(delay)
	}
	return vtime.Time(at)
}

// Outside matches references by which a page would load something from elsewhere.
var Outside = regexp.MustCompile(`(?i)(<link\b|<iframe\b|<script[^>]+src|@import|url\(\s*["']?(https?:|//)|` +
	`(src|href)\s*=\s*["']?(https?:)?//|fetch\(|XMLHttpRequest)`)
