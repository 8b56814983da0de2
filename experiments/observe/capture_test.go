package observe

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// tshark reads fields of a capture's frames. Any complaint of its own fails the test.
func tshark(t *testing.T, file, filter string, fields ...string) [][]string {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("tshark is not installed: CI must have it")
		}
		t.Skip("tshark is not installed: the capture goes unchecked")
	}
	args := []string{"-n", "-r", file, "-o", "ip.check_checksum:TRUE", "-T", "fields", "-Y", filter}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	cmd := exec.Command("tshark", args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "LC_ALL=C", "TZ=UTC")
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	for _, line := range strings.Split(complaints.String(), "\n") {
		if line != "" && !strings.HasPrefix(line, "Running as user") {
			t.Errorf("tshark: %s", line)
		}
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, &complaints)
	}
	var rows [][]string
	for _, line := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		if line != "" {
			rows = append(rows, strings.Split(line, "\t"))
		}
	}
	return rows
}

// TestFilters checks that every display filter of docs/captures.md selects the frames that it promises, in a capture
// that has some.
func TestFilters(t *testing.T) {
	testenv.WholeScenario(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "captures.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(page), "display filters")
	if !found {
		t.Fatal("the page has no list of display filters")
	}
	var filters []string
	for line := range strings.Lines(list) {
		if rest, row := strings.CutPrefix(line, "| `"); row {
			filter, _, _ := strings.Cut(rest, "`")
			filters = append(filters, filter)
		}
	}
	if len(filters) != 7 {
		t.Errorf("the page has the filters %q", filters)
	}
	s := parse(t, lab.Small)
	var captures []string
	events := map[string]int{} // of PFC at the ports of the first
	take := func(controller string, flow switchagent.FlowControl) {
		s.Switch.FlowControl = flow
		o := observed(Capture(s.Topology.Nodes[s.Topology.NodeByName("leaf1").ID].Ports))
		r := run(t, s, controller, o)
		captures = append(captures, filepath.Join(r.dir, "capture.pcapng"))
		for _, row := range r.table("pfc.csv").Rows {
			if len(captures) == 1 && (row["node"] == "leaf1" || row["peer"] == "leaf1") {
				events[row["event"]]++
			}
		}
	}
	take("dcqcn", switchagent.FlowPFC)
	take("dcon", switchagent.FlowPFC)
	take("none", switchagent.FlowCBFC)
	for _, file := range captures {
		if n := len(tshark(t, file, "infiniband.mad", "frame.number")); n > 0 {
			t.Errorf("%s: tshark takes %d frames for management datagrams", file, n)
		}
	}
	counts := map[string]int{}
	for _, filter := range filters {
		for _, file := range captures { // the first that has any
			if counts[filter] = len(tshark(t, file, filter, "frame.number")); counts[filter] > 0 {
				break
			}
		}
		if counts[filter] == 0 {
			t.Errorf("%s finds nothing", filter)
		}
	}
	if got, want := counts["macc.opcode == 0x0101"], events["pause"]+events["resume"]; got != want {
		t.Errorf("%d PFC frames, %d in pfc.csv", got, want)
	}
	if got := counts["macc.cbfc.pause_time.c3 > 0"]; got != events["pause"] {
		t.Errorf("%d PAUSEs, %d in pfc.csv", got, events["pause"])
	}
}

// epochNS reads a frame.time_epoch, seconds with nine decimals.
func epochNS(t *testing.T, epoch string) int64 {
	t.Helper()
	ns, err := strconv.ParseInt(strings.Replace(epoch, ".", "", 1), 10, 64)
	if _, decimals, _ := strings.Cut(epoch, "."); err != nil || len(decimals) != 9 {
		t.Fatalf("time %q", epoch)
	}
	return ns
}

// TestCapture captures both directions on a host link and an uplink, and lets tshark, an independent program, decode
// the capture.
func TestCapture(t *testing.T) {
	s := parse(t, lab.Small)
	ports := []string{"leaf1:h7", "leaf1:h4", "leaf0:h0", "h5:leaf1"}
	ids := map[string]topologies.PortID{}
	var captured []topologies.PortID
	for _, p := range ports {
		found, err := scenario.FindPorts(s.Topology, p)
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		ids[p] = found[0]
		captured = append(captured, found[0])
	}
	o := observed(Capture(captured))
	for _, planeName := range []string{plane.Kernel, plane.Wasm} {
		t.Run(planeName, func(t *testing.T) {
			o.Plane = opener(t, planeName)
			r := run(t, s, "dcqcn", o)
			if plain := run(t, s, "dcqcn", runner.Options{Plane: opener(t,
				planeName)}); plain.Summary.Fingerprint != r.Summary.Fingerprint {
				t.Errorf("a capture changes the run: %s, without %s", r.Summary.Fingerprint, plain.Summary.Fingerprint)
			}
			checkCapture(t, r, s.Topology, ids)
		})
	}
}

func checkCapture(t *testing.T, r *outcome, plan *topologies.Plan, ids map[string]topologies.PortID) {
	file := filepath.Join(r.dir, "capture.pcapng")
	for _, bad := range tshark(t, file, "_ws.malformed || _ws.expert.severity == error || icmp || arp || ipv6 || "+
		"ip.checksum.status == 0", "frame.number", "frame.protocols") {
		t.Errorf("frame %v", bad)
	}
	checkICRC(t, file)
	frames := tshark(t, file, "frame", "frame.interface_name", "frame.time_epoch", "eth.src", "eth.type",
		"infiniband.bth.opcode", "macc.opcode", "macc.cbfc.pause_time.c3")
	const name, epoch, src, ethertype, opcode, pfc, quanta = 0, 1, 2, 3, 4, 5, 6
	mac := func(id topologies.PortID) string {
		m := plan.Ports[id].MAC
		return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
	}
	counts := map[string]int{}    // by port, way and kind
	times := map[string][]int64{} // of PFC frames, by port, way and event
	before := int64(0)
	for _, f := range frames {
		now := epochNS(t, f[epoch])
		if now < before {
			t.Errorf("time goes back at %v", f)
		}
		before = now
		where := ""
		for port, id := range ids {
			if plan.Ports[id].Name == f[name] {
				way := "in"
				if f[src] == mac(id) {
					way = "out"
				} else if f[src] != mac(plan.Ports[id].Peer) {
					t.Errorf("neither end of %s sent %v", port, f)
				}
				where = port + " " + way
			}
		}
		kind := f[ethertype]
		switch {
		case f[pfc] != "":
			kind = "resume"
			if f[quanta] != "0" {
				kind = "pause"
			}
			times[where+" "+kind] = append(times[where+" "+kind], now)
		case f[opcode] == "129":
			kind = "cnp"
		case f[opcode] == "17":
			kind = "ack"
		case f[opcode] >= "6" && f[opcode] <= "8": // WRITE first, middle, last
			kind = "data"
		}
		counts[where+" "+kind]++
	}
	// By hand: h0 to h5 send h7 two flows of 60 packets each, h7 sends h0 100 packets, each packet is acknowledged. A
	// frame of h7's is in, of leaf1's to it out.
	want := map[string]int{
		"leaf1:h7 out data": 6 * 2 * 60, "leaf1:h7 in ack": 6 * 2 * 60, "leaf1:h7 in data": 100, "leaf1:h7 out ack": 100,
		"leaf1:h4 in data": 2 * 60, "leaf1:h4 out ack": 2 * 60,
		"h5:leaf1 out data": 2 * 60, "h5:leaf1 in ack": 2 * 60,
		"leaf0:h0 in data": 2 * 60, "leaf0:h0 out ack": 2 * 60, "leaf0:h0 out data": 100, "leaf0:h0 in ack": 100,
	}
	for _, kind := range []string{"leaf1:h4 out", "leaf0:h0 out", "h5:leaf1 in"} {
		if counts[kind+" cnp"] == 0 {
			t.Errorf("no CNP on %s", kind)
		}
		want[kind+" cnp"] = counts[kind+" cnp"]
	}
	// Every CNP of the run is h7's, or h0's for h7.
	h7, h0 := counts["leaf1:h7 in cnp"], counts["leaf0:h0 in cnp"]
	if int64(h7+h0) != r.Summary.CNPs || h7 < counts["leaf1:h4 out cnp"] {
		t.Errorf("%d CNPs of h7's and %d of h0's, the summary has %d", h7, h0, r.Summary.CNPs)
	}
	want["leaf1:h7 in cnp"] = h7
	if h0 > 0 {
		want["leaf0:h0 in cnp"], want["leaf1:h7 out cnp"] = h0, h0
	}
	// PFC frames leave a captured port when pfc.csv says so, and arrive at one 84 B at 40 Gb/s and 1 us later.
	wantTimes := map[string][]int64{}
	for _, row := range r.table("pfc.csv").Rows {
		key, at := "", testenv.Number(t, row, "time_ns")
		if link := row["node"] + ":" + row["peer"]; hasKey(ids, link) {
			key = link + " out " + row["event"]
		} else if back := row["peer"] + ":" + row["node"]; hasKey(ids, back) {
			key, at = back+" in "+row["event"], at+17+1000
		} else {
			continue
		}
		wantTimes[key] = append(wantTimes[key], at)
		want[key]++
	}
	if !maps.Equal(counts, want) {
		t.Errorf("captured %v\nwant     %v", counts, want)
	}
	for key, list := range wantTimes {
		if !slices.EqualFunc(times[key], list, func(a, b int64) bool { return a-b <= 1 && b-a <= 1 }) { // ps, rounded twice
			t.Errorf("%s: captured at %v, in pfc.csv %v", key, times[key], list)
		}
	}
	for _, key := range []string{"leaf1:h4 out pause", "leaf1:h4 out resume", "h5:leaf1 in pause", "h5:leaf1 in resume"} {
		if wantTimes[key] == nil {
			t.Errorf("no %s: this run tests too little", key)
		}
	}
}

func hasKey[V any](m map[string]V, key string) bool {
	_, has := m[key]
	return has
}

// checkICRC: tshark leaves the ICRC alone.
func checkICRC(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := pcapgo.NewNgReader(file, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if kind := wire.Ethernet(data).Type(); (kind == wire.EtherTypeIPv4 || kind == wire.EtherTypeIPv6) &&
			!wire.VerifyICRC(data) {
			t.Errorf("frame at %v: wrong ICRC", info.Timestamp)
		}
	}
}

// TestCaptureOverIPv6 runs an incast over IPv6 on both planes. They agree on every frame, and tshark reads RoCE within
// IPv6: data with ECN, ACKs and CNPs, by the addresses of decision 055, with a checksum of 0, and 1000 bytes of payload
// in a frame of 1078 (Ethernet 14, IPv6 40, UDP 8, BTH 12, ICRC 4).
func TestCaptureOverIPv6(t *testing.T) {
	s := parse(t, `
name: six
topology: {rate: 40Gbps, delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 3}}
host: {ip: ipv6}
controllers: [dcqcn]
flows: [{from: "h1..h5", to: h0, size: 300KB}]
duration: 2ms
drain: true
`)
	ports, err := scenario.FindPorts(s.Topology, "leaf0:h0")
	if err != nil {
		t.Fatal(err)
	}
	prints := map[string]bool{}
	for _, planeName := range []string{plane.Wasm, plane.Kernel} {
		t.Run(planeName, func(t *testing.T) {
			o := observed(Capture(ports))
			o.Plane = opener(t, planeName)
			r := run(t, s, "dcqcn", o)
			prints[r.Summary.Fingerprint] = true
			path := filepath.Join(r.dir, "capture.pcapng")
			checkICRC(t, path)
			if frames := tshark(t, path, "ip || (infiniband && !ipv6)", "frame.number"); len(frames) > 0 {
				t.Errorf("%d frames of RoCE are not over IPv6", len(frames))
			}
			for filter, want := range map[string][]string{
				"infiniband.bth.opcode == 0x07 && ipv6.dst == fd00::a00:1": {"1078", "0x0000", "64"},
				"infiniband.bth.opcode == 0x11 && ipv6.src == fd00::a00:1": {"82", "0x0000", "64"},
				"infiniband.bth.opcode == 0x81 && ipv6.src == fd00::a00:1": {"94", "0x0000", "64"},
			} {
				frames := tshark(t, path, filter, "frame.len", "udp.checksum", "ipv6.hlim")
				if len(frames) == 0 {
					t.Errorf("no frame matches %q", filter)
				}
				for _, f := range frames {
					hops, _ := strconv.Atoi(f[2])
					if f[0] != want[0] || f[1] != want[1] || hops > 64 || hops < 61 {
						t.Fatalf("%s: %v, want %v", filter, f, want)
					}
				}
			}
			if frames := tshark(t, path, "infiniband.bth.opcode == 0x07 && ipv6.tclass.ecn == 3 && ipv6.tclass.dscp == 26",
				"frame.number"); len(frames) == 0 {
				t.Error("no data packet was marked")
			}
		})
	}
	if len(prints) > 1 {
		t.Errorf("fingerprints %v", prints)
	}
}

// TestCaptureOfBothEnds checks that a frame is captured at one end when it leaves and at the other when it arrives, its
// line time and the delay later, and only once, however often a port is named.
func TestCaptureOfBothEnds(t *testing.T) {
	s := parse(t, `
name: ends
topology: {rate: 40Gbps, delay: 3us, star: {hosts: 2}}
flows: [{from: h0, to: h1, size: 3000}]
duration: 1ms
drain: true
`)
	var captured []topologies.PortID
	for _, p := range []string{"h0:s0", "s0:h0", "h0:s0"} {
		found, err := scenario.FindPorts(s.Topology, p)
		if err != nil {
			t.Fatal(err)
		}
		captured = append(captured, found...)
	}
	r := run(t, s, "none", runner.Options{
		Plane:     opener(t, plane.Kernel),
		Observers: []runner.NewObserver{Capture(captured)},
	})
	var at [2][]int64
	var lengths []int64
	for _, f := range tshark(t, filepath.Join(r.dir, "capture.pcapng"), "ip.src == 10.0.0.1", "frame.interface_name",
		"frame.time_epoch", "frame.len") {
		end := 0
		if f[0] == "s0-eth1" {
			end = 1
		} else {
			n, err := strconv.ParseInt(f[2], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			lengths = append(lengths, n)
		}
		at[end] = append(at[end], epochNS(t, f[1]))
	}
	if !slices.Equal(lengths, []int64{1074, 1058, 1058}) {
		t.Fatalf("frames of %v bytes", lengths)
	}
	// Departures at 0, 1098*0.2 and (1098+1082)*0.2 ns; the file has whole ns.
	for i, want := range []float64{0, 219.6, 436} {
		arrival := want + float64(lengths[i]+24)*0.2 + 3000
		if d := float64(at[0][i]) - want; d < -1 || d > 1 {
			t.Errorf("frame %d left at %d ns, want %g", i, at[0][i], want)
		}
		if d := float64(at[1][i]) - arrival; d < -1 || d > 1 {
			t.Errorf("frame %d arrived at %d ns, want %g", i, at[1][i], arrival)
		}
	}
}
