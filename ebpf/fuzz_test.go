//go:build linux

package ebpf_test

import (
	"bytes"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
)

// FuzzIngress feeds any bytes to both programs, in the kernel and in process, as a frame or with a trigger, under any
// settings: go test -fuzz FuzzIngress ./ebpf. What comes out must be a verdict, a frame and registers that make sense.
func FuzzIngress(f *testing.F) {
	r := newRig(f)
	buf := make([]byte, wire.MaxFrame)
	data := roce{in: 0, dst: 4, priority: lossless, ecn: wire.ECT0}
	over6 := data
	over6.ip = wire.V6
	pfc := make([]byte, wire.PFCLen)
	wire.PutPause(pfc, peerMAC(0), lossless, 0xffff)
	cnm := make([]byte, wire.CNMLen)
	wire.PutCNM(cnm, portMAC(0), peerMAC(0), data.id(), 2, 40_000)
	frames := [][]byte{
		data.frame(f), data.frame(f)[:77], data.frame(f)[:40], withTelemetry(data.frame(f), 0xc7, 2, 3),
		bytes.Clone(buf[:wire.PutAck(buf, data.header(f), 0x1f, 1, 1)]),
		bytes.Clone(buf[:wire.PutCNP(buf, data.header(f), wire.CNPBECN, nil)]), pfc, cnm, plainIP(0, 1, 6, 64, 0xff),
		over6.frame(f), over6.frame(f)[:62], withTelemetry(over6.frame(f), 0xc7, 2, 3),
		bytes.Clone(buf[:wire.PutAck(buf, over6.header(f), 0x1f, 1, 1)]),
		ipv6{in: 0, dst: 4, class: 0x62}.frame(), ipv6{in: 0, dst: 4, class: 3, hops: 1}.frame(),
		toAll(plainIP(0, 1, 17, 64, 0x40)),
		make([]byte, 14), make([]byte, 64), bytes.Repeat([]byte{0xff}, 80),
	}
	for i, frame := range frames {
		for settings := range uint16(8) {
			f.Add(frame, byte(i), byte(0), settings*0x1357, uint32(i), uint32(settings)*60_000)
		}
	}
	for trigger := range byte(6) {
		f.Add(frames[0], byte(0), trigger, uint16(1), uint32(data.id()), uint32(400_000))
	}
	f.Fuzz(func(t *testing.T, frame []byte, in, trigger byte, settings uint16, argument, queue uint32) {
		// The kernel's test run takes no frame without an Ethernet header and no IP packet without its own.
		if len(frame) < 15 || len(frame) > 3000 || frame[12] == 0x08 && len(frame) < 34 || frame[12] == 0x86 &&
			len(frame) < 54 {
			t.Skip()
		}
		r.t = t
		r.reset()
		in %= rigPorts
		sw := r.sw()
		sw.Cnm, sw.EcnMode, sw.EcnPriorities = uint32(settings&1), uint32(settings>>1&3|settings>>13&1<<2), 0xff
		sw.Lossless, sw.Q_cnm = uint32(settings>>3&1)*0xff, uint64(settings>>4&1)*250_000
		sw.Profiles[0].Alpha, sw.Profiles[0].Xoff = uint64(settings>>5&1)<<16, uint64(settings>>6&1)*1000
		sw.Uncounted = uint32(settings>>15&1) * 10
		sw.EcnAtEnqueue, sw.Choice, sw.HashFields, sw.FlowletGap =
			argument>>16&1, argument>>17&7, argument>>20&15, uint64(argument>>24)
		if settings>>14&1 != 0 {
			r.byCredits(uint32(argument))
			for i := range r.State.Ports {
				r.port(i).CreditVls = byte(argument >> 8)
			}
		}
		// A flow is queued, so that triggers and CNMs find one.
		r.enter(0, data.frame(t))
		for i := range r.State.Ports {
			r.port(i).Class[lossless].QueueBytes = uint32(queue)
			r.port(i).Walk = uint32(settings >> 7 & 1 * (uint16(data.id()) + 1))
		}
		sw.IntOn = uint32(settings >> 12 & 1)
		wired := r.leave(int(in), queue, uint32(settings>>8&3), frame)
		unstamped := bytes.Clone(wired)
		if sw.IntOn != 0 && len(frame) >= intAt+intLen && frame[42] >= 0xc0 {
			copy(unstamped[intAt:intAt+intLen], frame[intAt:])
		}
		if sw.IntOn != 0 && len(frame) >= intAt6+intLen && frame[62] >= 0xc0 &&
			wire.Ethernet(frame).Type() == wire.EtherTypeIPv6 {
			copy(unstamped[intAt6:intAt6+intLen], frame[intAt6:])
		}
		marked(t, frame, unstamped)
		before := r.snapshot()
		if trigger%8 == 0 {
			checkFrame(t, r, before, r.enter(int(in), wired), wired)
		} else if got := r.generate(
			int(in), uint32(trigger%8), argument, byte(settings>>9&7),
		); got.Verdict == ebpf.VerdictForward {
			if got.Trigger == ebpf.TriggerCredit {
				if !bytes.Equal(got.data[12:14], []byte{0x88, 0xb6}) || got.data[14]>>4 != 0 ||
					uint32(got.data[16]>>4) != got.Priority || got.Egress != uint32(in) {
					t.Fatalf("built %x for port %d", got.data, got.Egress)
				}
			} else {
				checkBuilt(t, got)
			}
		} else if got.Verdict == ebpf.VerdictConsumed && !bytes.Equal(got.data, bytes.Repeat([]byte{0xee}, ebpf.FrameMin)) {
			t.Fatalf("a trigger that built nothing left %x", got.data)
		}
		var used, headroom uint64
		for i := range rigSwitch0 {
			for priority, n := range each(&r.port(i).Class, buffered) {
				spilled := uint64(r.port(i).HeadroomBuffered[priority])
				if used, headroom = used+n, headroom+spilled; spilled > n {
					t.Fatalf("port %d holds %d bytes, %d in its headroom", i, n, spilled)
				}
			}
		}
		if used != sw.Used || headroom != sw.HeadroomUsed {
			t.Fatalf("%d bytes used, %d buffered; %d in the headroom, the ports' %d", sw.Used, used, sw.HeadroomUsed, headroom)
		}
		r.compareTables()
	})
}

// marked checks that a frame differs from an earlier state of it by CE under a consistent checksum, if at all.
func marked(t *testing.T, before, after []byte) {
	t.Helper()
	if bytes.Equal(before, after) {
		return
	}
	if wire.Ethernet(before).Type() == wire.EtherTypeIPv6 {
		want := bytes.Clone(before)
		want[15] |= 3 << 4
		if field := before[15] >> 4 & 3; field == 0 || field == 3 || !bytes.Equal(want, after) {
			t.Fatalf("the egress pipeline made\n%x of\n%x", after, before)
		}
		return
	}
	old, ip := ipHeader(before), ipHeader(after)
	want := bytes.Clone(before)
	copy(want[24:26], after[24:26])
	want[15] |= 3
	if old.ECN() == wire.NotECT || old.ECN() == wire.CE || !bytes.Equal(want, after) {
		t.Fatalf("the egress pipeline made\n%x of\n%x", after, before)
	}
	if old.HeaderLen() == wire.IPv4Len && old.ChecksumValid() != ip.ChecksumValid() {
		t.Fatalf("checksum valid %v, then %v: %x", old.ChecksumValid(), ip.ChecksumValid(), ip[:20])
	}
}

// checkFrame checks a pass of a frame against the registers before it.
func checkFrame(t *testing.T, r *rig, before snapshot, got result, frame []byte) {
	t.Helper()
	in, n := got.InPort, uint64(len(frame))
	switch got.Verdict {
	case ebpf.VerdictForward, ebpf.VerdictHost, ebpf.VerdictStack, ebpf.VerdictConsumed:
	case ebpf.VerdictProcessor, ebpf.VerdictFlood:
		if r.port(int(in)).Kind != ebpf.KindSwitch || got.OutPriority > 7 {
			t.Fatalf("verdict %d at port %d, priority %d", got.Verdict, in, got.OutPriority)
		}
	case ebpf.VerdictDrop:
		if got.Reason == 0 || got.Reason > ebpf.ReasonCNMLost {
			t.Fatalf("dropped for reason %d", got.Reason)
		}
	default:
		t.Fatalf("verdict %d", got.Verdict)
	}
	if got.Want&^(ebpf.WantPause|ebpf.WantWalk|ebpf.WantFlow|ebpf.StateChanged) != 0 ||
		got.Verdict != ebpf.VerdictForward && (got.Want&^ebpf.StateChanged != 0 || got.Flow != 0) ||
		got.Verdict != ebpf.VerdictConsumed && got.Want&ebpf.StateChanged != 0 {
		t.Fatalf("verdict %d with want mask %d, flow %d", got.Verdict, got.Want, got.Flow)
	}
	forward := got.Verdict == ebpf.VerdictForward
	if !forward && !bytes.Equal(got.data, frame) {
		t.Fatalf("verdict %d left\n%x of\n%x", got.Verdict, got.data, frame)
	}
	if forward {
		checkForwarded(t, r, got, frame)
	} else if got.Verdict == ebpf.VerdictHost && (got.Egress != in || in != rigHostPort) {
		t.Fatalf("bounced from port %d out of port %d", in, got.Egress)
	}
	for i := range r.State.Ports {
		p, old := r.port(i).copy(), before.ports[i]
		account := each(&old.Class, buffered)
		if uint32(i) == in {
			if len(frame) >= ebpf.FrameMin {
				old.RxFrames++
				old.RxBytes += n
			}
			if forward {
				account[got.OutPriority] += r.State.Switches[old.Node].Counted(len(frame))
			}
		}
		if each(&p.Class, buffered) != account || p.RxFrames != old.RxFrames || p.RxBytes != old.RxBytes ||
			each(&p.Class, pausing) != each(&old.Class, pausing) ||
			each(&p.Class, queueBytes) != each(&old.Class, queueBytes) || p.IdleTriggers != old.IdleTriggers || p.CnmsSent != old.CnmsSent {
			t.Fatalf("port %d became\n%+v, was\n%+v", i, p, old)
		}
		if uint32(i) != in && uint32(i) != got.Egress && p != old {
			t.Fatalf("port %d has nothing to do with it and became\n%+v, was\n%+v", i, p, old)
		}
	}
}

// checkForwarded checks the changes to a frame on its way through a switch.
func checkForwarded(t *testing.T, r *rig, got result, frame []byte) {
	t.Helper()
	in := r.port(int(got.InPort))
	if got.Egress >= rigHostPort || in.Kind != ebpf.KindSwitch || r.port(int(got.Egress)).Node != in.Node ||
		got.OutPriority > 7 {
		t.Fatalf("from port %d to port %d, priority %d", got.InPort, got.Egress, got.OutPriority)
	}
	want := bytes.Clone(frame)
	wire.Ethernet(want).SetDst(peerMAC(int(got.Egress)))
	wire.Ethernet(want).SetSrc(portMAC(int(got.Egress)))
	if wire.Ethernet(frame).Type() == wire.EtherTypeIPv4 {
		old, ip := ipHeader(frame), ipHeader(got.data)
		if old.ChecksumValid() != ip.ChecksumValid() {
			t.Fatalf("checksum valid %v, then %v: %x", old.ChecksumValid(), ip.ChecksumValid(), ip[:20])
		}
		copy(want[24:26], got.data[24:26])
		want[22]--
		if old.ECN() != wire.NotECT && ip.ECN() == wire.CE {
			want[15] |= 3
		}
	} else if wire.Ethernet(frame).Type() == wire.EtherTypeIPv6 {
		want[21]--
		if want[15]>>4&3 != 0 && got.data[15]>>4&3 == 3 {
			want[15] |= 3 << 4
		}
	}
	if !bytes.Equal(got.data, want) {
		t.Fatalf("forwarded\n%x, want\n%x", got.data, want)
	}
}

// checkBuilt checks that a trigger built one of our frames.
func checkBuilt(t *testing.T, got result) {
	t.Helper()
	var p wire.Packet
	kind := wire.KindPFC
	if got.Trigger == ebpf.TriggerWalk || got.Trigger == ebpf.TriggerFlow {
		kind = wire.KindCNM
	}
	if err := wire.Parse(got.data, &p); err != nil || p.Kind != kind || got.Egress >= rigHostPort {
		t.Fatalf("trigger %d built %v (%v) for port %d: %x", got.Trigger, p.Kind, err, got.Egress, got.data)
	}
}
