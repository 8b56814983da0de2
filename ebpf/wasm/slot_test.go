package wasm_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/ebpf/wasm"
	"github.com/pausenet/pausenet/ebpf/wasm/reference"
	"github.com/pausenet/pausenet/internal/wire"
)

// twoSwitches has ports 0 and 1 on switch 0 and ports 2 and 3 on switch 1. Ports 1 and 3 are cabled. Host 0 is at port
// 0, host 1 at 2.
func twoSwitches(t *testing.T, load func(ebpf.Sizes) (*wasm.Pipelines, error)) *wasm.Pipelines {
	t.Helper()
	p, err := load(ebpf.Sizes{
		Ports: 4, Switches: 2, Hosts: 2, Leaves: 2, NextHops: 1, Fanouts: 8,
		Features: ebpf.Features{BurstDetection: true, Telemetry: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range p.State.Ports {
		p.State.Ports[i] = ebpf.Port{
			Kind: ebpf.KindSwitch, Node: uint32(i / 2), FirstPort: uint32(i / 2 * 2), Mac: mac(i), RateMbps: 40_000,
		}
		p.State.Extras[i].FanoutRow = uint32(i * 2)
	}
	for i := range p.State.Switches {
		p.State.Switches[i] = ebpf.SwitchState{
			Buffer: 1 << 40, Lossless: 1 << 3, EcnMode: ebpf.ECNRED, EcnPriorities: 1 << 3, EcnPmax: 1 << 31, Seed: uint64(i),
			Cnm: 1, IntOn: 1, LineOverhead: 24,
			CnmWindow: 1000, Q_cnm: 1 << 40,
		}
		p.State.Switches[i].Profiles[0] = ebpf.Profile{EcnKmin: 1, EcnKmax: 1 << 30, Xoff: 1 << 40, Q_ecn: 1 << 30}
		p.State.Hosts[i] = ebpf.Host{Leaf: uint32(i), Port: uint32(i * 2)}
		p.State.Routes[i*2+i].Count = ebpf.AtLeaf
		p.State.Routes[i*2+1-i] = ebpf.Route{PortOrFirst: uint32(i*2 + 1), Count: 1}
	}
	return p
}

func mac(port int) [6]byte { return [6]byte{2, 0, 0, 0, 0, byte(port)} }

// exchange makes passes of packets that come from the other switch for this switch's host, and of its host's answers:
// egress by the other switch's port to here and ingress here, then ingress here by the host's port.
func exchange(s *wasm.Slot, sw, passes int) error {
	var frames [2][]byte
	in := [2]int{sw*2 + 1, sw * 2}
	out := [2]uint32{uint32((1-sw)*2 + 1), ebpf.NoPort}
	for i, to := range []int{sw, 1 - sw} {
		h, err := wire.NewFlowHeader(wire.FlowParams{
			DstMAC: mac(in[i]), Src: wire.Addr{10, 0, 0, byte(2 - to)}, Dst: wire.Addr{10, 0, 0, byte(1 + to)},
			SrcPort: wire.MinEntropyPort, TOS: wire.DataTOS(3, wire.ECT0), MTU: 1000,
		})
		if err != nil {
			return err
		}
		frames[i] = make([]byte, wire.MaxFrame)
		frames[i] = frames[i][:wire.PutData(frames[i], h, wire.OpWriteMiddle, 0, 1000, false, false)]
	}
	for n := range passes {
		for i, f := range frames {
			x := s.Pass
			x.Now, x.InPort, x.OutPort, x.Trigger, x.QueueBytes = uint64(n), uint32(in[i]), out[i], ebpf.TriggerNone, 1<<29
			copy(s.Header[:], f)
			if err := s.Process(len(f)); err != nil {
				return err
			}
			if x.Verdict != ebpf.VerdictForward || x.Egress != uint32(in[1-i]) {
				return errors.New("a frame was not forwarded")
			}
		}
	}
	return nil
}

// TestSlots: two goroutines that make passes at two switches at once, each in a slot, have the registers become what
// passes one after the other by wazero make them. The race detector looks on.
func TestSlots(t *testing.T) {
	const passes = 2000
	p, want := twoSwitches(t, wasm.Load), twoSwitches(t, reference.Load)
	second, err := p.NewSlot()
	if err != nil {
		t.Fatal(err)
	}
	var together sync.WaitGroup
	var errs [4]error
	for sw, s := range []*wasm.Slot{p.Slot, second} {
		together.Go(func() { errs[sw] = exchange(s, sw, passes) })
		errs[2+sw] = exchange(want.Slot, sw, passes)
	}
	together.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	for i := range want.State.Ports {
		if p.State.Ports[i] != want.State.Ports[i] {
			t.Errorf("port %d became\n%+v, want\n%+v", i, p.State.Ports[i], want.State.Ports[i])
		}
		if p.State.Extras[i] != want.State.Extras[i] {
			t.Errorf("port %d became\n%+v, want\n%+v", i, p.State.Extras[i], want.State.Extras[i])
		}
	}
	for i := range want.State.Switches {
		if p.State.Switches[i] != want.State.Switches[i] {
			t.Errorf("switch %d became\n%+v, want\n%+v", i, p.State.Switches[i], want.State.Switches[i])
		}
	}
	for i := range want.State.Flows {
		if p.State.Flows[i] != want.State.Flows[i] {
			t.Errorf("flow %d became\n%+v, want\n%+v", i, p.State.Flows[i], want.State.Flows[i])
		}
	}
	if want.State.Ports[1].EcnMarked == 0 || want.State.Ports[3].EcnMarked == passes ||
		want.State.Extras[3].TxLineBytes == 0 {
		t.Errorf("the passes do too little: %+v", want.State.Ports[3])
	}
	for _, x := range []*ebpf.Pass{p.Pass, second.Pass} {
		if x.Done != 2*passes || x.Marked != 2*passes {
			t.Errorf("%d passes ended in a slot, the egress pipelines saw %d, want %d", x.Done, x.Marked, 2*passes)
		}
	}
	if done, marked := p.Counts(); done != 4*passes || marked != 4*passes {
		t.Errorf("%d passes ended, the egress pipelines saw %d, want %d", done, marked, 4*passes)
	}
}

// TestSlotsApart: 64 slots see the same tables, have memory of their own, and none grows it. Two are never in one pair
// of cache lines.
func TestSlotsApart(t *testing.T) {
	const lines = 128
	p := load(t, wasm.Load, small)
	slots := []*wasm.Slot{p.Slot}
	for range 63 {
		s, err := p.NewSlot()
		if err != nil {
			t.Fatal(err)
		}
		slots = append(slots, s)
	}
	if _, err := p.NewSlot(); !errors.Is(err, wasm.ErrNoSlot) {
		t.Errorf("slot 65: %v", err)
	}
	users := map[uintptr]int{}
	for i, s := range slots {
		s.Pass.InPort = uint32(i % 2)
		if err := s.Process(100); err != nil {
			t.Fatalf("slot %d: %v", i, err)
		}
		first, end := uintptr(unsafe.Pointer(s.Pass)), uintptr(unsafe.Pointer(s.Pass))+unsafe.Sizeof(*s.Pass)
		header := uintptr(unsafe.Pointer(s.Header))
		for at := min(first, header); at < max(end, header+unsafe.Sizeof(*s.Header)); at++ {
			if j, used := users[at/lines]; used && j != i {
				t.Fatalf("slots %d and %d share a pair of cache lines", j, i)
			}
			users[at/lines] = i
		}
	}
	if got := p.State.Ports[0].RxFrames + p.State.Ports[1].RxFrames; got != 64 {
		t.Errorf("%d frames came in, want 64", got)
	}
	// the tables are behind the data of 64 slots, and of the first once more
	if at := int(address(p, &p.State.Ports[0])); at > wasm.SlotsBytes*65/64 {
		t.Errorf("the ports begin at %d: a slot's data, with its stack, is more than is kept for it", at)
	}
	w := load(t, reference.Load, small)
	if _, err := w.NewSlot(); !errors.Is(err, wasm.ErrNoSlot) {
		t.Errorf("by wazero: %v", err)
	}
}

// TestSlotsLeaveTables: slots that are made when the tables have been filled in leave them as they are, up to the last.
func TestSlotsLeaveTables(t *testing.T) {
	p := twoSwitches(t, wasm.Load)
	ports, extras := slices.Clone(p.State.Ports), slices.Clone(p.State.Extras)
	switches, routes := slices.Clone(p.State.Switches), slices.Clone(p.State.Routes)
	hosts := slices.Clone(p.State.Hosts)
	for n := 1; ; n++ {
		s, err := p.NewSlot()
		if errors.Is(err, wasm.ErrNoSlot) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.State.Ports, ports) || !slices.Equal(p.State.Extras, extras) ||
			!slices.Equal(p.State.Switches, switches) || !slices.Equal(p.State.Routes, routes) ||
			!slices.Equal(p.State.Hosts, hosts) {
			t.Fatalf("slot %d has changed the tables", n)
		}
		if s.Pass == p.Pass {
			t.Fatalf("slot %d is the first", n)
		}
	}
}
