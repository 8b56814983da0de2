//go:build linux

package ebpf_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"unsafe"

	cilium "github.com/cilium/ebpf"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/ebpf/kernel"
	"github.com/pausenet/pausenet/ebpf/wasm"
	"github.com/pausenet/pausenet/ebpf/wasm/reference"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// The rig's fabric: switch 0 has ports 0..5, switch 1 ports 6..8; port 9 is that of host 0. What is cabled to what does
// not matter here: a pass names its ports.
const (
	rigPorts    = 10
	rigSwitch0  = 6 // ports of switch 0
	rigSwitch1  = 3
	rigHostPort = 9
	rigHosts    = 8
	noRoute     = 5 // a host that switch 0 has no route to

	lossless = 3 // the lossless priority
	mtu      = 1000
)

// rigGroups lists switch 0's equal-cost ports towards each host.
var rigGroups = [rigHosts][]uint64{{0}, {1}, {2}, {3, 4}, {2, 3, 4}, {}, {5}, {0, 1, 2, 3, 4}}

// What a program returns. Under BPF_PROG_TEST_RUN nothing is redirected.
const (
	actOK       = 0
	actShot     = 2
	actRedirect = 7
)

// rig runs the pipelines in the kernel, without interfaces: BPF_PROG_TEST_RUN runs them on one frame at a time. It
// makes each pass with the pipelines in process as well, in Go and by wazero, which must give equal results.
type rig struct {
	*kernel.Pipelines
	twins []twin
	t     testing.TB
	out   [4096]byte
}

// twin holds the same pipelines in process.
type twin struct {
	*wasm.Pipelines
	name string
}

// result holds the results of a pass.
type result struct {
	ebpf.Pass
	code uint32
	data []byte
}

func newRig(t testing.TB) *rig {
	t.Helper()
	testenv.NeedRoot(t)
	sizes := ebpf.Sizes{
		Ports: rigPorts, Switches: 2, Hosts: rigHosts, Leaves: rigHosts, NextHops: 16,
		Fanouts:  rigSwitch0*rigSwitch0 + rigSwitch1*rigSwitch1,
		Features: ebpf.Features{BurstDetection: true, Telemetry: true, Flowlets: true},
	}
	k, err := kernel.Load(sizes)
	if err != nil {
		t.Fatal(err)
	}
	translated, errTranslated := wasm.Load(sizes)
	wazero, errWazero := reference.Load(sizes)
	if err := errors.Join(errTranslated, errWazero); err != nil {
		t.Fatal(errors.Join(err, k.Close()))
	}
	r := &rig{Pipelines: k, twins: []twin{{translated, "translated WebAssembly"}, {wazero, "WebAssembly by wazero"}}, t: t}
	t.Cleanup(func() {
		r.t = t // a fuzz test's inputs have tests of their own
		r.compareTables()
		for _, w := range r.twins {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	r.reset()
	return r
}

// reset makes the rig as new: the settings of the DCON paper's experiments (section 3.1), burst detection off, the
// clock at 1 ms.
func (r *rig) reset() {
	r.compareTables()
	s := &r.State
	*s.Pass = ebpf.Pass{Now: uint64(vtime.Millisecond)}
	clear(s.Ports)
	clear(s.Extras)
	clear(s.Flows)
	for _, w := range r.twins {
		clear(w.State.Flows)
		clear(w.State.Flowlets)
	}
	clear(s.Fanouts)
	clear(s.Flowlets)
	clear(s.NextHops)
	clear(s.Routes)
	for host := range s.Hosts { // each with routes of its own
		s.Hosts[host] = ebpf.Host{Leaf: uint32(host)}
	}
	for i := range s.Ports {
		p := r.port(i)
		p.Kind = ebpf.KindSwitch
		p.FanoutRow = uint32(i * rigSwitch0)
		switch {
		case i == rigHostPort:
			p.Kind, p.FirstPort, p.FanoutRow = ebpf.KindHost, rigHostPort, 0
		case i >= rigSwitch0:
			p.Node, p.FirstPort = 1, rigSwitch0
			p.FanoutRow = uint32(rigSwitch0*rigSwitch0 + (i-rigSwitch0)*rigSwitch1)
		}
		p.RateMbps = 40_000
		p.Quantum = 12_800  // ps: 512 bits at 40 Gb/s
		p.ThreeD_c = 75_000 // 3 * 5 us * 40 Gb/s
		p.Mac = portMAC(i)  // distinct
		p.PeerMac = peerMAC(i)
	}
	for i := range s.Switches {
		s.Switches[i] = ebpf.SwitchState{
			Buffer: 22_000_000, XoffToXon: 2_000, Lossless: 1 << lossless, Quanta: 0xffff,
			CnmWindow: uint64(120 * vtime.Microsecond), CnmRepeat: uint64(50 * vtime.Microsecond),
			EcnPriorities: 1 << lossless, EcnPmax: 1 << 32 / 100,
			Seed: 0x1234_5678_9abc_def0 + uint64(i), EcmpSeed: 0xdecafbad + uint32(i),
		}
		s.Switches[i].Profiles[0] = ebpf.Profile{
			EcnKmin: 5_000, EcnKmax: 200_000, Xoff: 320_000, Xon: 318_000,
			Q_ecn: 200_000,
		}
	}
	next := 0
	for host, group := range rigGroups {
		route := &s.Routes[host]
		route.Count, route.PortOrFirst = uint32(len(group)), uint32(next)
		if len(group) == 1 {
			route.PortOrFirst = uint32(group[0])
			continue
		}
		next += copy(s.NextHops[next:], group)
	}
	s.Routes[rigHosts+0] = ebpf.Route{PortOrFirst: 6, Count: 1}
	s.Routes[rigHosts+1] = ebpf.Route{PortOrFirst: 7, Count: 1}
}

func portMAC(i int) wire.MAC { return wire.MAC{0x02, 0, 0, 0, 0x01, byte(i)} }
func peerMAC(i int) wire.MAC { return wire.MAC{0x02, 0, 0, 0, 0x02, byte(i)} }
func hostIP(i int) wire.Addr { return wire.Addr{10, 0, 0, byte(i + 1)} }

func (r *rig) port(i int) registers              { return registers{&r.State.Ports[i], &r.State.Extras[i]} }
func (r *rig) sw() *ebpf.SwitchState             { return &r.State.Switches[0] }
func (r *rig) at(now vtime.Time)                 { r.State.Pass.Now = uint64(now) }
func (r *rig) now() vtime.Time                   { return vtime.Time(r.State.Pass.Now) }
func (r *rig) after(d vtime.Time)                { r.State.Pass.Now += uint64(d) }
func (r *rig) queue(out int, bytes int)          { r.port(out).Class[lossless].QueueBytes = uint32(bytes) }
func (r *rig) fatalf(format string, args ...any) { r.t.Helper(); r.t.Fatalf(format, args...) }

// run runs one program; it does not touch frame.
func (r *rig) run(p *cilium.Program, frame []byte) (code uint32, data []byte) {
	r.t.Helper()
	o := cilium.RunOptions{Data: frame, DataOut: r.out[:]}
	if len(frame) >= ebpf.FrameMin {
		r.copyToTwins()
	}
	code, err := p.Run(&o)
	if err != nil {
		r.fatalf("run on %d bytes: %v", len(frame), err)
	}
	if len(frame) >= ebpf.FrameMin {
		for _, w := range r.twins {
			r.compareTwin(w, p == r.Egress, frame, o.DataOut)
		}
	}
	return code, slices.Clone(o.DataOut)
}

// copyToTwins gives the pipelines in process the kernel's registers. It does not copy the tables of flows and flowlets:
// these are large, and only the pipelines write them (compareTables).
func (r *rig) copyToTwins() {
	for _, w := range r.twins {
		copyState(&w.State, &r.State)
	}
}

func copyState(to, from *ebpf.State) {
	*to.Pass = *from.Pass
	copy(to.Ports, from.Ports)
	copy(to.Extras, from.Extras)
	copy(to.Switches, from.Switches)
	copy(to.Routes, from.Routes)
	copy(to.NextHops, from.NextHops)
	copy(to.Hosts, from.Hosts)
	copy(to.Fanouts, from.Fanouts)
}

// compareTables compares the tables that only the pipelines write: at the end of a test, and before they are cleared.
func (r *rig) compareTables() {
	r.t.Helper()
	for _, w := range r.twins {
		if !bytes.Equal(memory(r.State.Flows), memory(w.State.Flows)) {
			r.t.Errorf("the flow tables of the kernel and of %s differ", w.name)
		}
		if !bytes.Equal(memory(r.State.Flowlets), memory(w.State.Flowlets)) {
			r.t.Errorf("the flowlet tables of the kernel and of %s differ", w.name)
		}
	}
}

// memory returns a table's bytes, which are compared more quickly than its entries.
func memory[T any](table []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(table))), len(table)*int(unsafe.Sizeof(table[0])))
}

// compareTwin has the pipelines in process do what the kernel's did to frame.
func (r *rig) compareTwin(w twin, egress bool, frame, want []byte) {
	r.t.Helper()
	clear(w.Header[:])
	copy(w.Header[:], frame)
	run := w.Enter
	if egress {
		run = w.Leave
	}
	if err := run(len(frame)); err != nil {
		r.fatalf("%s: %v", w.name, err)
	}
	a, b := &r.State, &w.State
	if *a.Pass != *b.Pass {
		r.fatalf("the kernel says\n%+v, %s\n%+v", *a.Pass, w.name, *b.Pass)
	}
	if !slices.Equal(a.Ports, b.Ports) || !slices.Equal(a.Extras, b.Extras) || !slices.Equal(a.Switches, b.Switches) ||
		!slices.Equal(a.Fanouts, b.Fanouts) {
		r.fatalf("the registers of the kernel and of %s differ", w.name)
	}
	// In process the rest of a frame is not touched; a generated packet, built over a blank, is longer only by zeros.
	n := min(len(want), ebpf.TelemetryBytes6)
	rest := frame[n:]
	if a.Pass.Trigger != ebpf.TriggerNone && a.Pass.Verdict == ebpf.VerdictForward {
		rest = make([]byte, len(rest))
	}
	if !bytes.Equal(want[:n], w.Header[:n]) || !bytes.Equal(want[n:], rest) {
		r.fatalf("the kernel's frame is\n%x, that of %s\n%x", want, w.name, w.Header[:n])
	}
}

// release takes a frame off the accounts, as it leaves the queue of port out.
func (r *rig) release(in, out int, priority uint8, n int, entry uint32) {
	r.copyToTwins()
	r.State.Release(in, priority, n, entry)
	for _, w := range r.twins {
		w.State.Release(in, priority, n, entry)
	}
}

// enter runs the ingress pipeline of port in on a frame, and holds what it did against what holds for any frame.
func (r *rig) enter(in int, frame []byte) result {
	r.t.Helper()
	x := r.State.Pass
	x.InPort, x.Trigger, x.OutPort = uint32(in), ebpf.TriggerNone, ebpf.NoPort
	return r.ingress(frame)
}

// generate has port in build a frame. The blank is full of rubbish, all of which must be gone.
func (r *rig) generate(in int, kind, argument uint32, priority uint8) result {
	r.t.Helper()
	x := r.State.Pass
	x.InPort, x.Trigger, x.OutPort = uint32(in), kind, ebpf.NoPort
	x.Argument, x.Priority = argument, uint32(priority)
	return r.ingress(bytes.Repeat([]byte{0xee}, ebpf.FrameMin))
}

func (r *rig) ingress(frame []byte) result {
	r.t.Helper()
	x := r.State.Pass
	done, marked := x.Done, x.Marked
	x.Verdict = ebpf.VerdictNone
	code, data := r.run(r.Ingress, frame)
	want := uint32(actShot)
	switch x.Verdict {
	case ebpf.VerdictForward, ebpf.VerdictHost:
		want = actRedirect
	case ebpf.VerdictStack:
		want = actOK
	case ebpf.VerdictNone:
		r.fatalf("the ingress pipeline gave no verdict")
	}
	if code != want {
		r.fatalf("verdict %d with action %d, want action %d", x.Verdict, code, want)
	}
	if x.Done != done+1 || x.Marked != marked {
		r.fatalf("one ingress pass moved done by %d and marked by %d", x.Done-done, x.Marked-marked)
	}
	if len(data) != len(frame) {
		r.fatalf("%d bytes in, %d out", len(frame), len(data))
	}
	return result{Pass: *x, code: code, data: data}
}

// leave runs the egress pipeline of port out on a frame that left behind a queue of so many bytes.
func (r *rig) leave(out int, queue, burst uint32, frame []byte) []byte {
	r.t.Helper()
	x := r.State.Pass
	x.Trigger, x.OutPort, x.QueueBytes, x.Burst = ebpf.TriggerNone, uint32(out), queue, burst
	done, marked := x.Done, x.Marked
	code, data := r.run(r.Egress, frame)
	if code != actOK || x.Marked != marked+1 || x.Done != done || len(data) != len(frame) {
		r.fatalf("the egress pipeline returned %d, moved marked by %d and done by %d, left %d of %d bytes",
			code, x.Marked-marked, x.Done-done, len(data), len(frame))
	}
	return data
}

// registers are a port's, of both tables.
type registers struct {
	*ebpf.Port
	*ebpf.PortExtra
}

// registersCopy is a copy of registers.
type registersCopy struct {
	ebpf.Port
	ebpf.PortExtra
}

func (p registers) copy() registersCopy { return registersCopy{*p.Port, *p.PortExtra} }

// copies returns a copy of all ports' registers.
func (r *rig) copies() []registersCopy {
	all := make([]registersCopy, len(r.State.Ports))
	for i := range all {
		all[i] = r.port(i).copy()
	}
	return all
}

// snapshot holds a copy of all registers and counters but the pass.
type snapshot struct {
	ports    []registersCopy
	switches []ebpf.SwitchState
	fanouts  []uint64
}

func (r *rig) snapshot() snapshot {
	return snapshot{r.copies(), slices.Clone(r.State.Switches), slices.Clone(r.State.Fanouts)}
}

// unchanged holds the registers against a snapshot.
func (r *rig) unchanged(s snapshot) {
	r.t.Helper()
	for i := range s.ports {
		if now := r.port(i).copy(); s.ports[i] != now {
			r.fatalf("port %d became\n%+v, was\n%+v", i, now, s.ports[i])
		}
	}
	if !slices.Equal(s.switches, r.State.Switches) || !slices.Equal(s.fanouts, r.State.Fanouts) {
		r.fatalf("switches became\n%+v, were\n%+v\nfanouts %v, were %v",
			r.State.Switches, s.switches, r.State.Fanouts, s.fanouts)
	}
}

// each describes one register of every priority.
func each[T any](classes *[8]ebpf.PortClass, register func(*ebpf.PortClass) T) (all [8]T) {
	for i := range all {
		all[i] = register(&classes[i])
	}
	return all
}

func buffered(c *ebpf.PortClass) uint64     { return uint64(c.Buffered) }
func peakBuffered(c *ebpf.PortClass) uint64 { return uint64(c.Peak) }
func queueBytes(c *ebpf.PortClass) uint64   { return uint64(c.QueueBytes) }
func pausing(c *ebpf.PortClass) uint8       { return c.Pausing }
func burst(c *ebpf.PortClass) uint8         { return c.Burst }
