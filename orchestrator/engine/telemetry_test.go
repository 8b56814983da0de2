package engine

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/vtime"
)

// Three switches stamp a data packet with telemetry, on both planes: one that fits into a page, and one that does not
// and of which the kernel leaves only the Ethernet header where programs can read it.
func TestTelemetryAlongAPath(t *testing.T) {
	plan, err := spec.Parse("lab.yaml", []byte(
		"mtu: 9056\ndelay: 1us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1, host_rate: 25Gbps, fabric_rate: 100Gbps}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []int{1000, 4096, 9056} {
		var prints []string
		for _, name := range []string{plane.Wasm, plane.Kernel} {
			t.Run(fmt.Sprint(name, "-", payload), func(t *testing.T) {
				seen, print := sendTelemetry(t, plan, name, payload)
				prints = append(prints, print)
				checkTelemetry(t, plan, seen, int64(plan.Framing.LineBytes(len(seen))))
				if prints[0] != print {
					t.Errorf("fingerprint %s on the %s plane, %s on the wasm plane", print, name, prints[0])
				}
			})
		}
	}
}

// sendTelemetry has a host send one packet with room for telemetry to the other; it is the packet as it arrives there.
func sendTelemetry(t *testing.T, plan *topologies.Plan, planeName string,
	payload int,
) (seen []byte, fingerprint string) {
	t.Helper()
	p := openPlane(t, planeName, plan, plane.Features{Telemetry: true})
	defer p.Close()
	sw, host := switchagent.Default(), hostagent.Default()
	settings := make([]*switchagent.Settings, len(plan.Switch))
	for i := range settings {
		settings[i] = &sw
	}
	e := newEngine(t, Config{
		Plan: plan, Plane: p, Switches: settings, Hosts: &host,
		Features: plane.Features{Telemetry: true},
	})
	from, to := &plan.Nodes[plan.Hosts[0]], &plan.Nodes[plan.Hosts[1]]
	port := &plan.Ports[from.Ports[0]]
	if err := p.Tap(int(to.Ports[0]), func(frame []byte) { seen = slices.Clone(frame) }); err != nil {
		t.Fatal(err)
	}
	h, err := wire.NewFlowHeader(wire.FlowParams{
		SrcMAC: port.MAC, DstMAC: plan.Ports[port.Peer].MAC, Src: from.Addr.As4(), Dst: to.Addr.As4(),
		SrcPort: wire.MinEntropyPort, DestQP: 7, TOS: wire.DataTOS(host.DataPriority, wire.ECT0),
	})
	if err != nil {
		t.Fatal(err)
	}
	e.Call(0, func(now vtime.Time) {
		buf := make([]byte, wire.MaxFrame)
		data := slices.Insert(buf[:wire.PutData(buf, h, wire.OpWriteMiddle, 1, payload-42, false, true)], 54,
			make([]byte, 42)...)
		data[42] |= 0xc0
		binary.BigEndian.PutUint16(data[16:], uint16(len(data)-wire.EthernetLen))
		wire.IPv4(data[wire.EthernetLen:]).UpdateChecksum()
		f := e.pool.Get(len(data))
		copy(f.Data(), data)
		f.Priority, f.OnSince, f.QueueBytes, f.QueuePackets, f.Burst, f.Departed = host.DataPriority, 0, 0, 0, 0, now
		at := &e.ports[port.ID]
		arrival := now + at.serialise(plan.Framing.LineBytes(len(data))) + at.delay
		at.wire.push(f, arrival, &e.freeChunks)
		at.txFrames++
		e.Created.add(len(data))
		e.push(e.ports[at.peer].partition, arrival, eventArrival, at.id)
	})
	if err := e.Run(100*vtime.Microsecond, 0, nil); err != nil {
		t.Fatal(err)
	}
	for _, v := range e.Check() {
		t.Error(v)
	}
	return seen, e.Fingerprint()
}

// checkTelemetry: each switch's port sent this packet only, at once, leaving nothing behind.
func checkTelemetry(t *testing.T, plan *topologies.Plan, seen []byte, line int64) {
	t.Helper()
	at, path := vtime.Time(0), uint16(0)
	id := plan.Nodes[plan.Hosts[0]].Ports[0]
	for hop := range 4 {
		port := &plan.Ports[id]
		if hop > 0 {
			code, _ := wire.INTRateCode(port.Rate)
			want := uint64(code)<<60 | uint64(at/vtime.Nanosecond)<<36 | uint64(line/128)<<16
			if got := binary.BigEndian.Uint64(seen[56+8*(hop-1):]); got != want {
				t.Errorf("hop %d, at %v: %016x, want %016x", hop, at, got, want)
			}
			path ^= uint16(plan.Nodes[port.Node].Index + 1)
		}
		at += port.Rate.TimeFor(line) + port.Delay
		node := &plan.Nodes[plan.Ports[port.Peer].Node]
		if node.Kind == topologies.Switch {
			id = plan.NextHops(node.Index, 1)[0]
		}
	}
	if got := binary.BigEndian.Uint16(seen[54:]); got != 3<<12|path {
		t.Errorf("hops and path %04x, want %04x", got, 3<<12|path)
	}
	if rest := seen[56+3*8 : 96]; slices.ContainsFunc(rest, func(b byte) bool { return b != 0 }) {
		t.Errorf("the slots after the third hold %x", rest)
	}
}
