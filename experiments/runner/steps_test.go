package runner

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// idle returns a star of so many hosts at 40 Gbps and 1 us. Receivers acknowledge whole messages.
func idle(hosts int, workload string) string {
	return fmt.Sprintf(`
topology: {rate: 40Gbps, delay: 1us, star: {hosts: %d}}
switch: {buffer: 100MB, pfc: {xoff: 20MB}, ecn: {mode: off}}
host: {ack_every: 1000000}
controllers: [dcqcn]
duration: 1s
drain: true
expect_unused: [pfc, ecn]
workloads: [%s]
`, hosts, workload)
}

// on returns how long a frame takes on a link of 40 Gbps: its bytes without FCS, and FCS 4, preamble 8 and gap 12 (IEEE
// 802.3 clause 4).
func on(frame int64) vtime.Time { return (40 * units.Gbps).TimeFor(frame + 24) }

const (
	roce    = 14 + 20 + 8 + 12 + 4 // Ethernet, IPv4, UDP, BTH, ICRC
	reth    = 16                   // of a message's first packet (IBTA 9.3.3)
	ackWire = roce + 4             // AETH
	cable   = vtime.Microsecond
)

// delivery returns how long a message alone takes over two links. All of its packets of 1000 bytes leave one after the
// other, and the switch forwards the last when it has arrived. That holds if no packet takes longer than the last, or
// if only the first does and there are two: then no packet waits at the switch.
func delivery(size int64) vtime.Time {
	t, last := vtime.Time(0), int64(0)
	first := vtime.Time(0)
	for left := size; left > 0; left -= 1000 {
		last = roce + (min(left, 1000)+3)/4*4
		if left == size {
			last += reth
			first = on(last)
		}
		t += on(last)
	}
	// The first packet is longer by RETH. At the switch it delays those behind it by what it is longer, if there are
	// such.
	late := vtime.Time(0)
	if size > 1000 {
		late = max(0, first-on(roce+1000))
	}
	return t + cable + late + on(last) + cable
}

// TestClosedForms checks that all-reduces on an idle fabric take the time of their authors' cost models, with this
// fabric's times in place of alpha and beta, to the picosecond. A step starts when its rank has received the previous
// step's message. The acknowledgement of that message has priority and leaves first, so the sender's port adds its
// time. The collective ends when the last message is acknowledged.
//
// Ring (Patarasuk and Yuan 2009): 2(n-1) steps of size/n.
//
// Halving-doubling (Thakur, Rabenseifner and Gropp 2005, section 4.5): log2 n steps of size/2, size/4 ... size/n, and
// the same in reverse.
//
// All-to-all by pairwise exchange (the same, section 4.2): n-1 rounds of size/n.
func TestClosedForms(t *testing.T) {
	ack := on(ackWire)
	back := 2 * (ack + cable)
	for _, n := range []int64{2, 4, 8, 16} {
		for _, block := range []int64{1000, 4000, 64_000} {
			size := n * block
			ring := vtime.Time(2*(n-1))*(ack+delivery(block)) - ack + back
			halving := back - ack
			for s := size / 2; s >= block; s /= 2 {
				halving += 2 * (ack + delivery(s))
			}
			pairwise := vtime.Time(n-1)*(ack+delivery(block)) - ack + back
			for of, want := range map[string]vtime.Time{
				"kind: allreduce, algorithm: ring": ring, "kind: allreduce, algorithm: halving-doubling": halving,
				"kind: alltoall, algorithm: ring": pairwise,
			} {
				t.Run(fmt.Sprintf("%s/%d/%d", of, n, block), func(t *testing.T) {
					s := parse(t, idle(int(n), fmt.Sprintf("{collective: {%s, size: %dB}}", of, size)))
					r := run(t, s, "dcqcn", Options{Plane: wasmplane.Open})
					sum := &r.Summary
					if len(sum.Collectives) != 1 || sum.Collectives[0].Completed != 1 {
						t.Fatalf("%+v", sum.Collectives)
					}
					if got := sum.Collectives[0].Time.Max; got != float64(want)/1000 {
						t.Errorf("%v ns, want %v: %v", got, want, sum.Verdict)
					}
				})
			}
		}
	}
}

// TestTimesOnAStar compares the times of collectives with those that testdata/collectives.py of package collective
// computes. If all ranks act at once, they equal its closed forms to the picosecond. If messages share ports, they are
// within 2 % of its packet-by-packet model of the star, because turns at a host's port may start with another message.
func TestTimesOnAStar(t *testing.T) {
	f, err := os.Open("../traffic/collective/testdata/times.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 40 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		kind, algorithm, ranks, size, group, chunks, exact := row[0], row[1], row[2], row[3], row[4], row[5], row[6] == "true"
		t.Run(strings.Join(row[:6], "/"), func(t *testing.T) {
			of := fmt.Sprintf("kind: %s, algorithm: %s, size: %sB, chunks: %s", kind, algorithm, size, chunks)
			if group != "0" {
				of += ", group: " + group
			}
			hosts, err := strconv.Atoi(ranks)
			if err != nil {
				t.Fatal(err)
			}
			want, err := strconv.ParseFloat(row[7], 64)
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, parse(t, idle(hosts, "{collective: {"+of+"}}")), "dcqcn", Options{Plane: wasmplane.Open})
			if len(r.Summary.Collectives) != 1 || r.Summary.Collectives[0].Completed != 1 {
				t.Fatalf("%+v", r.Summary.Collectives)
			}
			c := &r.Summary.Collectives[0]
			if off := c.Time.Max/(want/1000) - 1; math.Abs(off) > 0.02 || exact && c.Time.Max != want/1000 {
				t.Errorf("%v ns, want %v (%+.2f %%)", c.Time.Max, want/1000, 100*off)
			}
			if float64(c.Limit) > c.Time.Max+1 {
				t.Errorf("%v ns, and the limit is %d", c.Time.Max, c.Limit)
			}
		})
	}
}

// TestLimitOfDirect checks that the limit of an all-to-all includes the path times of the last packet and its ACK, in
// addition to all packets at a host's port.
func TestLimitOfDirect(t *testing.T) {
	const n, block = 8, 16_000
	r := run(t, parse(t, idle(n, fmt.Sprintf("{collective: {kind: alltoall, algorithm: direct, size: %dB}}", n*block))),
		"dcqcn", Options{Plane: wasmplane.Open})
	packet := on(roce + 1000)
	want := (n-1)*(16*packet+on(roce+1000+reth)-packet) + cable + packet + cable + 2*(on(ackWire)+cable)
	if c := &r.Summary.Collectives[0]; vtime.Time(c.Limit)*vtime.Nanosecond != want/vtime.Nanosecond*vtime.Nanosecond ||
		c.Time.Max < float64(c.Limit) {
		t.Errorf("a limit of %d ns, want %v; it takes %v ns", c.Limit, want, c.Time.Max)
	}
}

// TestDoubleTreeBandwidth checks that two trees in a pipeline reduce 16 MB at more than 80 % of the rate of 16 ranks'
// ports. One tree without chunks reaches 14 %.
func TestDoubleTreeBandwidth(t *testing.T) {
	testenv.WholeScenario(t)
	text := idle(16, "{collective: {kind: allreduce, algorithm: tree, size: 16MB}}")
	r := run(t, parse(t, strings.Replace(text, "40Gbps", "100Gbps", 1)), "none", Options{Plane: wasmplane.Open})
	if bus := r.Summary.Collectives[0].Bus; bus < 80e9 {
		t.Errorf("a bus bandwidth of %.1f Gbps", bus/1e9)
	}
}

// TestLimitUnderSpraying checks that a limit holds if packets take other ports than the hash of a path selects.
func TestLimitUnderSpraying(t *testing.T) {
	r := run(t, parse(t, `
topology: {leafspine: {spines: 4, leaves: 4, hosts_per_leaf: 4, rate: 100Gbps}, delay: 1us}
switch: {load_balancing: {mode: spray}}
host: {recovery: selective, selective: {reorder: 64, bdp_cap: 0B}}
duration: 1ms
drain: true
expect_unused: [pfc, ecn, controller]
workloads:
  - {tag: a, collective: {kind: allreduce, size: 4MB, placement: across-racks}}
`), "dcqcn", Options{Plane: wasmplane.Open})
	c := &r.Summary.Collectives[0]
	if job := &r.Summary.Jobs[0]; c.Completed != 1 || c.Time.Mean < float64(c.Limit) || job.JCT < job.Limit {
		t.Errorf("%v ns, with a limit of %d; JCT %d, %d", c.Time.Mean, c.Limit, job.JCT, job.Limit)
	}
}

// TestProcessorsOfJobs checks that dependent flows have equal results, file by file, on any number of processors.
func TestProcessorsOfJobs(t *testing.T) {
	const text = `
topology: {leafspine: {spines: 4, leaves: 4, hosts_per_leaf: 4, rate: 100Gbps}, delay: 1us}
duration: 1ms
drain: true
expect_unused: [pfc, ecn]
workloads:
  - {tag: a, job: {iterations: 2, ranks: h0..h7, placement: random, steps: [{compute: {time: 20us, jitter: 5us}}, {collective: {kind: allreduce, size: 1MB, overlap: true}}, {compute: 10us}, {barrier: true}]}}
  - {tag: b, job: {ranks: h8..h15, steps: [{collective: {kind: alltoall, size: 1MB}}, {collective: {kind: allreduce, algorithm: hierarchical, size: 1MB}}]}}
`
	files := map[string][]string{}
	for _, processors := range []int{1, 2, 4} {
		r := run(t, parse(t, text), "dcqcn", Options{Plane: wasmplane.Open, Processors: processors})
		if s := r.Summary.Verdict.Status; s != measure.Pass {
			t.Errorf("%d processors: %v", processors, r.Summary.Verdict)
		}
		for _, name := range []string{"flows.csv", "collectives.csv", "rates.csv", "ports.csv"} {
			data, err := os.ReadFile(filepath.Join(r.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = append(files[name], r.Summary.Fingerprint+string(data))
		}
	}
	for name, all := range files {
		if all[0] != all[1] || all[0] != all[2] {
			t.Errorf("%s differs", name)
		}
	}
	if rows := strings.Count(files["collectives.csv"][0], "\n"); rows != 1+4+2 {
		t.Errorf("%d lines of collectives", rows)
	}
}

// TestStuckOperations checks that a message that never arrives fails the verdict, which names the operation that waits
// for it.
func TestStuckOperations(t *testing.T) {
	r := run(t, parse(t, `
topology: {star: {hosts: 4}, rate: 40Gbps, delay: 1us}
duration: 1ms
drain: true
drain_limit: 100ms
faults: [{link: "s0:h2", down: true, at: 1us}]
workloads: [{tag: sum, collective: {kind: allreduce, size: 400KB}}]
`), "dcqcn", Options{Plane: wasmplane.Open})
	text := strings.Join(r.Summary.Verdict.Messages, "\n")
	if r.Summary.Verdict.Status != measure.Fail || !strings.Contains(text,
		"operations of sum did not finish: the first started operation that did not finish is operation ") ||
		!strings.Contains(text, "100000 bytes") {
		t.Errorf("%v: %s", r.Summary.Verdict.Status, text)
	}
	if j := r.Summary.Jobs[0]; j.Unfinished == 0 || j.JCT != 0 || r.Summary.Collectives[0].Completed != 0 {
		t.Errorf("%+v %+v", j, r.Summary.Collectives)
	}
}
