package switchagent_test

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// at returns a cable of a rate and a delay, with packets of 1000 B.
func at(rate units.Rate, delay vtime.Time) switchagent.Cable {
	c := cable
	c.Rate, c.PeerRate, c.Delay, c.PeerDelay = rate*units.Gbps, rate*units.Gbps, delay, delay
	return c
}

// TestInFlight checks the bytes in flight, part by part. Frames of 1116 B take 1140 B of line, PFC frames 84 B. Buffers
// hold 1116 B for 1140 of the line. In cells of 144 B a frame takes 8 cells, and one of 60 B and 84 B of line takes one
// cell. In cells of 96 B one of 97 B and 121 B of line takes two.
func TestInFlight(t *testing.T) {
	slow := at(100, vtime.Microsecond) // of which the peer has ten times the rate
	slow.Rate = 10 * units.Gbps
	long := at(40, vtime.Microsecond) // one way 2 us
	long.PeerDelay = 2 * vtime.Microsecond
	jumbo := at(40, vtime.Microsecond)
	jumbo.AheadLine = 9142
	pfc := func(lossless int) switchagent.PFC { return switchagent.PFC{Priorities: uint8(1<<lossless - 1)} }
	ns3 := at(40, vtime.Microsecond) // a frame takes less line time than its bytes
	ns3.LongestLine, ns3.PFCLine = 1106, 60
	for _, c := range []struct {
		name  string
		cable switchagent.Cable
		pfc   switchagent.PFC
		want  switchagent.InFlight
		sum   units.Bytes
	}{
		{
			"40 Gbps, 1 us", at(40, vtime.Microsecond), pfc(1),
			switchagent.InFlight{PastXOFF: 1116, Sending: 1140, PFC: 168, Cable: 10_000, Peer: 1140, Buffered: 13302},
			13_564,
		},
		{
			"400 Gbps, 1 us", at(400, vtime.Microsecond), pfc(1),
			switchagent.InFlight{PastXOFF: 1116, Sending: 1140, PFC: 168, Cable: 100_000, Peer: 1140, Buffered: 101408},
			103_564,
		},
		{
			"800 Gbps, 20 us", at(800, 20*vtime.Microsecond), pfc(1),
			switchagent.InFlight{PastXOFF: 1116, Sending: 1140, PFC: 168, Cable: 4_000_000, Peer: 1140, Buffered: 3919302},
			4_003_564,
		},
		{"no delay, 8 priorities", at(40, 0), pfc(8), switchagent.InFlight{
			PastXOFF: 1116, Sending: 1140, PFC: 1344,
			Peer: 1140, Buffered: 4664,
		}, 4740},
		{
			"part of a byte", at(1, 3*vtime.Nanosecond), pfc(1),
			switchagent.InFlight{PastXOFF: 1116, Sending: 1140, PFC: 168, Cable: 1, Peer: 1140, Buffered: 3514},
			3565,
		},
		{"a faster peer", slow, pfc(1), switchagent.InFlight{
			PastXOFF: 1116, Sending: 11_400, PFC: 1680, Cable: 25_000,
			Peer: 1140, Buffered: 39511,
		}, 40_336},
		{"two ways, two delays", long, pfc(1), switchagent.InFlight{
			PastXOFF: 1116, Sending: 1140, PFC: 168, Cable: 15_000,
			Peer: 1140, Buffered: 18197,
		}, 18_564},
		{"ns3", ns3, pfc(1), switchagent.InFlight{
			PastXOFF: 1116, Sending: 1116, PFC: 122, Cable: 10_091, Peer: 1116,
			Buffered: 13560,
		}, 13_561},
		{
			"hardware that answers", at(40, vtime.Microsecond),
			switchagent.PFC{Priorities: 1, Response: 2 * vtime.Microsecond},
			switchagent.InFlight{
				PastXOFF: 1116, Sending: 1140, PFC: 168, Cable: 10_000, Peer: 1140, Response: 10_000,
				Buffered: 23_092,
			},
			23_564,
		},
		{
			"a jumbo frame of another priority", jumbo, pfc(1),
			switchagent.InFlight{PastXOFF: 1116, Sending: 9142, PFC: 168, Cable: 10_000, Peer: 1140, Buffered: 21_136},
			21_566,
		},
		{
			"full packets in cells", at(40, vtime.Microsecond),
			switchagent.PFC{Priorities: 1, CellSize: 144},
			switchagent.InFlight{PastXOFF: 1116, Sending: 1140, PFC: 168, Cable: 10_000, Peer: 1140, Buffered: 13_732},
			13_732,
		},
		{
			"small packets in cells", at(40, vtime.Microsecond),
			switchagent.PFC{Priorities: 1, CellSize: 144, SmallPackets: 1},
			switchagent.InFlight{PastXOFF: 1116, Sending: 1140, PFC: 168, Cable: 10_000, Peer: 1140, Buffered: 22_492},
			22_492,
		},
		{
			"half of the packets small", at(40, vtime.Microsecond),
			switchagent.PFC{Priorities: 1, CellSize: 144, SmallPackets: 0.5},
			switchagent.InFlight{PastXOFF: 1116, Sending: 1140, PFC: 168, Cable: 10_000, Peer: 1140, Buffered: 14_333},
			14_333,
		},
		{
			"a hundredth of the packets small", at(40, vtime.Microsecond),
			switchagent.PFC{Priorities: 1, CellSize: 144, SmallPackets: 0.01},
			switchagent.InFlight{PastXOFF: 1116, Sending: 1140, PFC: 168, Cable: 10_000, Peer: 1140, Buffered: 13_738},
			13_738,
		},
		{
			"packets of whole cells", at(40, vtime.Microsecond),
			switchagent.PFC{Priorities: 1, CellSize: 124},
			switchagent.InFlight{PastXOFF: 1116, Sending: 1140, PFC: 168, Cable: 10_000, Peer: 1140, Buffered: 13_302},
			13_564,
		},
		{
			"packets of a cell and a byte", at(40, vtime.Microsecond),
			switchagent.PFC{Priorities: 1, CellSize: 96, SmallPackets: 1},
			switchagent.InFlight{PastXOFF: 1116, Sending: 1140, PFC: 168, Cable: 10_000, Peer: 1140, Buffered: 20_905},
			20_905,
		},
	} {
		got := c.cable.InFlight(&c.pfc)
		if got != c.want || got.Sum() != c.sum {
			t.Errorf("%s: %+v, in all %v; want %+v, %v", c.name, got, got.Sum(), c.want, c.sum)
		}
	}
}

// TestResolve: Auto is a time of the line, which at 40 Gb/s gives the values of the DCON paper's switches.
func TestResolve(t *testing.T) {
	const kb = units.KB
	for _, c := range []struct {
		name   string
		edit   func(s *switchagent.Settings)
		cables []switchagent.Cable
		buffer units.Bytes
		want   []switchagent.Thresholds
	}{
		{
			name: "40 and 100 Gbps", cables: []switchagent.Cable{at(40, vtime.Microsecond), at(100, vtime.Microsecond)},
			buffer: 22 * units.MB,
			want: []switchagent.Thresholds{
				{XOFF: 320 * kb, XON: 318 * kb, Headroom: 13_564, KMin: 5 * kb, KMax: 200 * kb, QECN: 200 * kb},
				{XOFF: 800 * kb, XON: 798 * kb, Headroom: 28_564, KMin: 12_500, KMax: 500 * kb, QECN: 500 * kb},
			},
		},
		{
			name: "hardware that answers, and cells", cables: []switchagent.Cable{at(40, vtime.Microsecond)},
			buffer: 22 * units.MB,
			edit: func(s *switchagent.Settings) {
				s.PFC.Response, s.PFC.CellSize, s.PFC.SmallPackets = 2*vtime.Microsecond, 144, 1
			},
			// 22448*144/84 + 1152
			want: []switchagent.Thresholds{{
				XOFF: 320 * kb, XON: 318 * kb, Headroom: 39_635, KMin: 5 * kb, KMax: 200 * kb,
				QECN: 200 * kb,
			}},
		},
		{
			name: "no fewer frames than make sense", cables: []switchagent.Cable{at(1, vtime.Microsecond)},
			buffer: 22 * units.MB,
			want: []switchagent.Thresholds{{
				XOFF: 67_712, XON: 65_712, Headroom: 3_814, KMin: 4_232, KMax: 42_320,
				QECN: 42_320,
			}},
		},
		{
			name: "a cable longer than XOFF's time", cables: []switchagent.Cable{at(40, 100*vtime.Microsecond)},
			buffer: 22 * units.MB,
			want: []switchagent.Thresholds{{
				XOFF: 1000 * kb, XON: 998 * kb, Headroom: 1_003_564, KMin: 5 * kb, KMax: 200 * kb,
				QECN: 200 * kb,
			}},
		},
		{
			name:   "the buffer holds it all, and a lossy queue a port",
			cables: slices.Repeat([]switchagent.Cable{at(800, vtime.Microsecond)}, 32),
			buffer: 32 * (6400*kb + 203_564 + 1000*kb),
			want: slices.Repeat([]switchagent.Thresholds{
				{XOFF: 6400 * kb, XON: 6398 * kb, Headroom: 203_564, KMin: 100 * kb, KMax: 4000 * kb, QECN: 4000 * kb},
			}, 32),
		},
		{
			name:   "a stated buffer is what XOFF has to fit",
			cables: slices.Repeat([]switchagent.Cable{at(40, vtime.Microsecond)}, 4),
			edit:   func(s *switchagent.Settings) { s.Buffer = 500 * kb },
			buffer: 500 * kb,
			want: slices.Repeat([]switchagent.Thresholds{
				{XOFF: 111_436, XON: 109_436, Headroom: 13_564, KMin: 5 * kb, KMax: 200 * kb, QECN: 200 * kb},
			}, 4),
		},
		{
			name: "a stated XOFF has not", cables: slices.Repeat([]switchagent.Cable{at(40, vtime.Microsecond)}, 4),
			edit:   func(s *switchagent.Settings) { s.Buffer, s.PFC.XOFF = 500*kb, 320*kb },
			buffer: 500 * kb,
			want: slices.Repeat([]switchagent.Thresholds{
				{XOFF: 320 * kb, XON: 318 * kb, Headroom: 13_564, KMin: 5 * kb, KMax: 200 * kb, QECN: 200 * kb},
			}, 4),
		},
		{
			name:   "a buffer without room for the headroom",
			cables: slices.Repeat([]switchagent.Cable{at(40, vtime.Microsecond)}, 4),
			edit:   func(s *switchagent.Settings) { s.Buffer = 10 * kb },
			buffer: 10 * kb,
			want: slices.Repeat([]switchagent.Thresholds{
				{XOFF: 1, XON: 0, Headroom: 13_564, KMin: 5 * kb, KMax: 200 * kb, QECN: 200 * kb},
			}, 4),
		},
		{
			name: "what is stated stays", cables: []switchagent.Cable{at(100, vtime.Microsecond)}, buffer: 1 * units.MB,
			edit: func(s *switchagent.Settings) {
				*s = stated()
				s.Buffer, s.PFC.XON = units.MB, 200*kb
			},
			want: []switchagent.Thresholds{{
				XOFF: 320 * kb, XON: 200 * kb, Headroom: 75 * kb, KMin: 5 * kb, KMax: 200 * kb,
				QECN: 200 * kb,
			}},
		},
		{
			name: "Kmin under a stated Kmax, QECN under a stated Q_CNM", cables: []switchagent.Cable{at(40, vtime.Microsecond)},
			buffer: 22 * units.MB,
			edit:   func(s *switchagent.Settings) { s.ECN.KMax, s.CNM.QCNM = 2*kb, 100*kb },
			want: []switchagent.Thresholds{{
				XOFF: 320 * kb, XON: 318 * kb, Headroom: 13_564, KMin: 2 * kb, KMax: 2 * kb,
				QECN: 100 * kb,
			}},
		},
		{
			name: "Kmax above a stated Kmin", cables: []switchagent.Cable{at(40, vtime.Microsecond)}, buffer: 22 * units.MB,
			edit: func(s *switchagent.Settings) { s.ECN.KMin = 300 * kb },
			want: []switchagent.Thresholds{{
				XOFF: 320 * kb, XON: 318 * kb, Headroom: 13_564, KMin: 300 * kb, KMax: 300 * kb,
				QECN: 200 * kb,
			}},
		},
		{
			name: "alpha for a rate, without a bound", cables: []switchagent.Cable{at(400, vtime.Microsecond)},
			buffer: 22 * units.MB,
			edit:   func(s *switchagent.Settings) { s.PFC.Alpha, s.PFC.XOFF, s.PFC.PerRate = 1./8, 0, 100*units.Gbps },
			want:   []switchagent.Thresholds{{Alpha: .5, Headroom: 103_564, KMin: 50 * kb, KMax: 2000 * kb, QECN: 2000 * kb}},
		},
		{
			name: "credits", cables: slices.Repeat([]switchagent.Cable{at(800, vtime.Microsecond)}, 32), buffer: 22 * units.MB,
			edit: func(s *switchagent.Settings) { s.FlowControl = switchagent.FlowCBFC },
			want: slices.Repeat([]switchagent.Thresholds{
				{
					XOFF: 6400 * kb, XON: 6398 * kb, Headroom: 203_564, KMin: 100 * kb, KMax: 4000 * kb, QECN: 4000 * kb,
					Credits: switchagent.Credits{Period: 11_674 * vtime.Nanosecond, Buffer: 5600 * kb},
				},
			}, 32),
		},
		{
			name: "TCD's q_len", cables: []switchagent.Cable{
				at(40, vtime.Microsecond), at(100, vtime.Microsecond),
				at(1, vtime.Microsecond),
			}, buffer: 22 * units.MB,
			edit: func(s *switchagent.Settings) { s.Detector = switchagent.DetectorTCD },
			want: []switchagent.Thresholds{
				{XOFF: 320 * kb, XON: 318 * kb, Headroom: 13_564, KMin: 5 * kb, KMax: 200 * kb, QECN: 200 * kb, QLen: 5 * kb},
				{XOFF: 800 * kb, XON: 798 * kb, Headroom: 28_564, KMin: 12_500, KMax: 500 * kb, QECN: 500 * kb, QLen: 12_500},
				{XOFF: 67_712, XON: 65_712, Headroom: 3_814, KMin: 4_232, KMax: 42_320, QECN: 42_320, QLen: 4_232},
			},
		},
	} {
		s := switchagent.Default()
		if c.edit != nil {
			c.edit(&s)
		}
		buffer, ports := s.Resolve(c.cables)
		if buffer != c.buffer || !slices.Equal(ports, c.want) {
			t.Errorf("%s: buffer %v, %+v\nwant %v, %+v", c.name, buffer, ports, c.buffer, c.want)
		}
	}
}

// A cable that was longer keeps the headroom that it had then, and XOFF where it is.
func TestGrown(t *testing.T) {
	s := switchagent.Default()
	s.Buffer = 500 * units.KB
	cables := []switchagent.Cable{at(40, vtime.Microsecond), at(40, vtime.Microsecond)}
	_, before := s.Resolve(cables)
	cables[1].Grown = 60 * units.KB
	_, after := s.Resolve(cables)
	if after[0] != before[0] || after[1].XOFF != before[1].XOFF || after[1].Headroom != 60*units.KB {
		t.Errorf("%+v, before %+v", after, before)
	}
}

// Credits of a cable, at 40 Gb/s and 1 us the patent's. Both ends come to the same, a buffer holds what comes between
// two messages and what is on the cable, and half of what can be granted is left for the cable.
func TestCredits(t *testing.T) {
	both := switchagent.Default().CBFC
	if got, want := cable.Credits(&both), (switchagent.Credits{
		Period: 40 * vtime.Microsecond,
		Buffer: 280 * units.KB,
	}); got != want {
		t.Errorf("40 Gbps, 1 us: %+v, want %+v", got, want)
	}
	stated := switchagent.CBFC{Period: 3 * vtime.Microsecond, Buffer: 7 * units.KB}
	if c := at(800, 20*vtime.Microsecond); c.Credits(&stated) != (switchagent.Credits{
		Period: stated.Period,
		Buffer: stated.Buffer,
	}) {
		t.Errorf("what is stated does not stay: %+v", c.Credits(&stated))
	}
	// In 40 us and over 40 us of cable come 400000 B, or 378 frames of 1058 B; three more are 381, in 5 blocks of 256 B
	// each.
	if far := at(40, 20*vtime.Microsecond); far.Credits(&both) != (switchagent.Credits{
		Period: 40 * vtime.Microsecond,
		Buffer: 381 * 5 * 256,
	}) {
		t.Errorf("40 Gbps, 20 us: %+v", far.Credits(&both))
	}
	for _, rate := range []units.Rate{1, 10, 25, 40, 100, 200, 400, 800} {
		for _, peer := range []units.Rate{rate, 100} {
			for _, delay := range []vtime.Time{100 * vtime.Nanosecond, vtime.Microsecond, 20 * vtime.Microsecond} {
				c := at(rate, delay)
				c.PeerRate = peer * units.Gbps
				far := at(peer, delay)
				far.PeerRate = rate * units.Gbps
				got := c.Credits(&both)
				if got != far.Credits(&both) {
					t.Errorf("%d and %d Gbps, %v: %+v and %+v at the ends", rate, peer, delay, got, far.Credits(&both))
				}
				fast, slow := max(rate, peer)*units.Gbps, min(rate, peer)*units.Gbps
				if least := min(units.Bytes(fast.BytesIn(got.Period+2*delay)), 2048*1058); got.Buffer < least {
					t.Errorf("%d and %d Gbps, %v: %v, of which %v come in %v and on the cable", rate, peer, delay, got.Buffer, least,
						got.Period)
				}
				if frames := fast.BytesIn(got.Period) / c.LongestLine; frames > 1024 &&
					got.Period > slow.TimeFor(40*c.LongestLine) {
					t.Errorf("%d and %d Gbps: %d frames in a period of %v", rate, peer, frames, got.Period)
				}
				if got.Period < vtime.Microsecond || got.Period%vtime.Nanosecond != 0 {
					t.Errorf("%d and %d Gbps: a period of %v", rate, peer, got.Period)
				}
			}
		}
	}
}

// TestMarkedPorts: which ports ECN marks.
func TestMarkedPorts(t *testing.T) {
	for ports, want := range map[switchagent.ECNPorts][2]bool{ // to switches, to hosts
		switchagent.ECNPortsAll: {true, true}, switchagent.ECNPortsToSwitches: {true, false},
		switchagent.ECNPortsToHosts: {false, true},
	} {
		s := switchagent.Default()
		s.ECN.Ports = ports
		cables := []switchagent.Cable{at(40, vtime.Microsecond), at(40, vtime.Microsecond)}
		cables[1].ToHost = true
		if _, got := s.Resolve(cables); got[0].Unmarked == want[0] || got[1].Unmarked == want[1] {
			t.Errorf("%v: unmarked %v and %v, want marked %v", switchagent.ECNPortsNames[ports], got[0].Unmarked,
				got[1].Unmarked, want)
		}
	}
}
