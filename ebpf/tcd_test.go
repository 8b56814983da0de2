//go:build linux

package ebpf_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// withECN returns a frame with another ECN field, the checksum computed afresh.
func withECN(frame []byte, field wire.ECN) []byte {
	f := slices.Clone(frame)
	ip := ipHeader(f)
	ip[1] = ip[1]&^3 | byte(field)
	ip.UpdateChecksum()
	return f
}

const (
	ect1 = 1
	ue   = 2
	ceF  = 3

	non  = ebpf.TCDNonCongested
	und  = ebpf.TCDUndetermined
	cong = ebpf.TCDCongested
)

// ternary holds a departure and TCD's decision. Times are after the end of the last OFF period but one of 1 ms.
type ternary struct {
	us      float64
	onSince float64 // end of the last OFF period; below 0: there was none
	queue   uint32  // left behind
	field   wire.ECN
	want    wire.ECN
	state   uint8
}

// The patent's steps S1 to S8 (CN 113572655 A, paragraphs 0091 to 0098; vectors of TCD), at 40 Gb/s and 4 us (T_max
// 100.4 us) with q_len 5 KB, and the cases between them. A frame is 70 bytes here: of a queue of 300 KB the first
// leaves 299 930.
func TestTCD(t *testing.T) {
	r := newRig(t)
	const n = 70 // bytes of the frames
	data := roce{in: 0, dst: 1, priority: lossless, payload: 9}.frame(t)
	if len(data) != n {
		t.Fatalf("a frame of %d bytes", len(data))
	}
	first := ternary{0, 0, 300_000 - n, ect1, ue, und}
	for _, c := range []struct {
		name string
		seen []ternary
	}{
		{"never paused", []ternary{
			{1, -1, 5_000, ect1, ect1, non},
			{2, -1, 5_001, ect1, ceF, cong},
			{3, -1, 6_000, ect1, ceF, cong},
			{4, -1, 5_000, ect1, ect1, non},
			{500, -1, 6_000, ect1, ceF, cong},
		}},
		{"undetermined, then congested", []ternary{
			first,
			{50, 0, 300_000, ect1, ue, und},
			{100.39, 0, 310_000, ect1, ue, und},
			{101, 0, 310_000, ect1, ceF, cong},
		}},
		{"as long as at RESUME is not fallen", []ternary{first, {100.4, 0, 300_000, ect1, ceF, cong}}},
		{"a byte shorter is", []ternary{first, {100.4, 0, 299_999, ect1, ect1, und}}},
		{"falls, then no longer", []ternary{
			first,
			{101, 0, 250_000, ect1, ect1, und},
			{150, 0, 260_000, ect1, ect1, und},
			{202, 0, 200_000, ect1, ect1, und},
			{303, 0, 201_000, ect1, ceF, cong},
			{304, 0, 100_000, ect1, ceF, cong},
			{305, 0, 5_000, ect1, ect1, non},
		}},
		{"grows by less than 0.9 packets", []ternary{
			first,
			{101, 0, 250_000, ect1, ect1, und},
			{202, 0, 200_000, ect1, ect1, und},
			{303, 0, 200_899, ect1, ect1, und},
		}},
		{"just 0.9 packets", []ternary{
			first,
			{101, 0, 250_000, ect1, ect1, und},
			{202, 0, 200_000, ect1, ect1, und},
			{303, 0, 200_900, ect1, ceF, cong},
		}},
		{"falls to q_len", []ternary{
			first,
			{101, 0, 250_000, ect1, ect1, und},
			{202, 0, 200_000, ect1, ect1, und},
			{250, 0, 2_000, ect1, ect1, non},
		}},
		{"short at T_max", []ternary{first, {100.4, 0, 5_000, ect1, ect1, non}, {101, 0, 5_001, ect1, ceF, cong}}},
		{"short before T_max is undetermined all the same", []ternary{first, {99, 0, 0, ect1, ue, und}}},
		{"CE stays CE", []ternary{first, {50, 0, 300_000, ceF, ceF, und}, {101, 0, 310_000, ceF, ceF, cong}}},
		{"UE becomes CE, never ECT(1)", []ternary{
			first,
			{50, 0, 300_000, ue, ue, und},
			{100.5, 0, 9_000, ue, ue, und},
			{250, 0, 310_000, ue, ceF, cong},
		}},
		{
			"Not-ECT is no packet to mark, but one to see",
			[]ternary{first, {50, 0, 300_000, 0, 0, und}, {101, 0, 310_000, 0, 0, cong}},
		},
		{"OFF again before T_max", []ternary{
			first,
			{50, 0, 250_000, ect1, ue, und},
			{150, 120, 400_000 - n, ect1, ue, und},
			{215, 120, 399_000, ect1, ue, und},
			{221, 120, 399_999, ect1, ect1, und},
		}},
		{"OFF again when congested", []ternary{
			{1, -1, 9_000, ect1, ceF, cong},
			{50, 40, 9_000, ect1, ue, und},
			{141, 40, 9_070, ect1, ceF, cong},
		}},
		{
			"OFF again while falling: the new reference counts",
			[]ternary{
				first,
				{101, 0, 250_000, ect1, ect1, und},
				{150, 149, 350_000 - n, ect1, ue, und},
				{250, 149, 340_000, ect1, ect1, und},
			},
		},
		// The port was OFF with nothing queued, and had been ON for long when a packet came: no undetermined period is seen.
		{"idle after RESUME", []ternary{{500, 0, 6_000, ect1, ceF, cong}}},
		{"the moment before T_max since the pause", []ternary{{100.399999, 0, 9_000, ect1, ue, und}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			r.reset()
			sw, p := r.sw(), r.port(1)
			sw.EcnMode, sw.Profiles[0].Q_len, sw.TrendSlack = ebpf.ECNTCD, 5_000, 900
			p.T_max = uint64(100_400 * vtime.Nanosecond)
			want := p.copy()
			state := non
			for i, d := range c.seen {
				at := func(us float64) uint64 { return uint64(vtime.Millisecond) + uint64(us*float64(vtime.Microsecond)+0.5) }
				x := r.State.Pass
				x.Departed, x.OnSince = at(d.us), 0
				if d.onSince >= 0 {
					x.OnSince = at(d.onSince)
				}
				frame := withECN(data, d.field)
				if got := r.leave(1, d.queue, ebpf.BurstNone, frame); !bytes.Equal(got, withECN(data, d.want)) {
					t.Errorf("departure %d left with ECN %d, want %d\n%x", i, ipHeader(got).ECN(), d.want, got)
				}
				if got := p.Detector[lossless].Ternary; got != d.state {
					t.Errorf("departure %d: state %d, want %d", i, got, d.state)
				}
				if d.state != state {
					want.Entered[d.state]++
					state = d.state
				}
				if d.want != d.field && d.want == ceF {
					want.EcnMarked++
				} else if d.want != d.field {
					want.UeMarked++
				}
			}
			if p.EcnMarked != want.EcnMarked || p.UeMarked != want.UeMarked || p.Entered != want.Entered || p.Draws != 0 {
				t.Errorf("CE %d, UE %d, states %v, %d draws; want %d, %d, %v", p.EcnMarked, p.UeMarked, p.Entered, p.Draws,
					want.EcnMarked, want.UeMarked, want.Entered)
			}
		})
	}
}

// With red, what meets congestion is marked by RED; states and UE are as before.
func TestTCDWithRED(t *testing.T) {
	r := newRig(t)
	data := roce{in: 0, dst: 1, priority: lossless, ecn: wire.ECT1, payload: 9}.frame(t)
	sw, p := r.sw(), r.port(1)
	sw.EcnMode, sw.Profiles[0].Q_len, sw.TcdRed, sw.EcnPmax = ebpf.ECNTCD, 5_000, 1, 1<<31
	p.T_max = uint64(100 * vtime.Microsecond)
	random, threshold := splitMix{seed: sw.Seed + 1<<40}, redProbability(sw, 102_500)
	marks := 0
	for i := range 500 {
		want := data
		if random.next()>>32 < threshold {
			want = ce(data)
			marks++
		}
		if got := r.leave(1, 102_500, ebpf.BurstNone, data); !bytes.Equal(got, want) {
			t.Fatalf("frame %d left as %x", i, got)
		}
	}
	if p.EcnMarked != uint64(marks) || p.Draws != 500 || marks < 80 || marks > 170 {
		t.Errorf("%d marks counted of %d, %d draws", p.EcnMarked, marks, p.Draws)
	}
	if got := r.leave(1, 200_001, ebpf.BurstNone, data); !bytes.Equal(got, ce(data)) {
		t.Error("not marked above Kmax")
	}
	x := r.State.Pass
	x.OnSince, x.Departed = 1, 2
	if got := r.leave(1, 200_001, ebpf.BurstNone, data); !bytes.Equal(got, withECN(data, ue)) || p.Draws != 500 {
		t.Errorf("undetermined, left as %x", got)
	}
}

// Priorities of one port have states of their own; a priority that ECN does not act on has none.
func TestTCDPriorities(t *testing.T) {
	r := newRig(t)
	sw, p := r.sw(), r.port(1)
	sw.EcnMode, sw.EcnPriorities, p.T_max = ebpf.ECNTCD, 1<<lossless|1<<4, uint64(100*vtime.Microsecond)
	x := r.State.Pass
	x.Departed = 1_000
	for _, c := range []struct {
		priority uint8
		onSince  uint64
		want     wire.ECN
	}{{lossless, 900, ue}, {4, 0, ceF}, {2, 900, ect1}, {lossless, 900, ue}} {
		frame := roce{in: 0, dst: 1, priority: c.priority, ecn: wire.ECT1, payload: 9}.frame(t)
		x.OnSince = c.onSince
		if got := r.leave(1, 9_000, ebpf.BurstNone, frame); !bytes.Equal(got, withECN(frame, c.want)) {
			t.Errorf("priority %d left with ECN %d, want %d", c.priority, ipHeader(got).ECN(), c.want)
		}
	}
	for i, d := range p.Detector {
		if want := [8]uint8{3: und, 4: cong}[i]; d.Ternary != want {
			t.Errorf("priority %d is in state %d, want %d", i, d.Ternary, want)
		}
	}
	if p.Entered != [3]uint64{und: 1, cong: 1} {
		t.Errorf("entered %v", p.Entered)
	}
}
