package switchagent

import (
	"fmt"
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Auto in the place of a size of Settings leaves it to Resolve. Buffer, PFC's XOFF, XON and Headroom, CBFC's Buffer, ECN's KMin and
// KMax, CNM's QECN and TCD's QLen may be Auto.
const Auto units.Bytes = -1

// AutoPeriod in the place of CBFC's Period leaves it to Cable.Credits.
const AutoPeriod vtime.Time = -1

// What Auto stands for is time of the port's line, so that it comes as soon, and lasts as long, at every rate. At 40 Gb/s these
// are the DCON paper's switches (section 6): ECN from 5 to 200 KB, XOFF 320 KB. It is no less than so many full frames: where
// lines are slow or packets large, a threshold of a frame or two would tell congestion from nothing.
const (
	autoKMin, leastKMin = vtime.Microsecond, 4
	autoKMax, leastKMax = 40 * vtime.Microsecond, 40
	autoXOFF, leastXOFF = 64 * vtime.Microsecond, 64
	leastBuffer         = 22 * units.MB
)

// What Auto stands for where flow control goes by credits: at 40 Gb/s TCD's patent's, a message every 40 us and 280 KB. A period is
// no more than half of what can be granted at once (ebpf.CreditMost, a frame a credit), which has the other half for the cable.
const (
	autoPeriod, leastPeriod, mostPeriod = 40 * vtime.Microsecond, 40, 1024
	autoCredits, leastCredits           = 56 * vtime.Microsecond, 56
	mostCredits                         = 2 * units.GB // below what registers hold, of a cable of any length
)

// Cable is a switch's port and its cable, as far as thresholds follow from them.
type Cable struct {
	Rate, PeerRate   units.Rate // of the port, and of the one at the other end
	Delay, PeerDelay vtime.Time // propagation from the port, and to it
	Full             int        // bytes of a full data packet, as queues count them
	Longest          int        // bytes of the longest frame
	LongestLine      int64      // bytes of line time that it takes
	PFCLine          int64      // bytes of line time of a PFC frame
	ToHost           bool       // the other end is a host
	// Grown is the least headroom that Auto comes to: what the cable needed when it was longer, or the port faster.
	Grown units.Bytes
}

// InFlight is what a port may get of a lossless priority once its account is about to reach XOFF: the headroom that it needs. The
// parts are those of IEEE 802.1Qbb-2011, annex O. Its interface delays and higher-layer delays, for which IEEE 802.3 (31B.3.7 for
// PAUSE) sets limits, are none here: pipelines and NICs take no virtual time.
type InFlight struct {
	PastXOFF units.Bytes // the frame that takes the account to XOFF: all of it but a byte may be beyond
	Sending  units.Bytes // what comes while the port sends the frame that PAUSE has to wait for
	PFC      units.Bytes // and while it sends the PFC frames: PAUSE, and those of other priorities before it
	Cable    units.Bytes // what the cable holds, both ways
	Peer     units.Bytes // the frame that the peer is sending as PAUSE arrives
}

// String is the parts, as people add them up.
func (f *InFlight) String() string {
	return fmt.Sprintf("%v on the cable, both ways; %v past XOFF; %v while a frame is sent that PAUSE waits for, %v while PFC frames are; "+
		"%v that the peer is sending", f.Cable, f.PastXOFF, f.Sending, f.PFC, f.Peer)
}

// Sum is all of it.
func (f *InFlight) Sum() units.Bytes { return f.PastXOFF + f.Sending + f.PFC + f.Cable + f.Peer }

// InFlight is what may come in by a port of which so many priorities are lossless.
func (c *Cable) InFlight(lossless int) InFlight {
	// What comes in during a time is bytes of line; what counts is bytes of frames, of which a line may hold more (framing ns3).
	counted := func(line int64) units.Bytes {
		return units.Bytes(scaleUp(line, int64(max(c.Longest, int(c.LongestLine))), c.LongestLine))
	}
	// While the port sends, the peer does at its own rate.
	meanwhile := func(line int64) int64 { return scaleUp(line, int64(c.PeerRate), int64(c.Rate)) }
	return InFlight{
		PastXOFF: units.Bytes(c.Longest),
		Sending:  counted(meanwhile(c.LongestLine)),
		PFC:      counted(meanwhile(2 * int64(lossless) * c.PFCLine)), // a priority's RESUME may wait with its PAUSE
		Cable:    counted(scaleUp(int64(c.PeerRate), int64(c.Delay+c.PeerDelay), 8*int64(vtime.Second))),
		Peer:     counted(c.LongestLine),
	}
}

// scaleUp is n*by/of, rounded up.
func scaleUp(n, by, of int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(by))
	q, r := bits.Div64(hi, lo, uint64(of))
	if r > 0 {
		q++
	}
	return int64(q)
}

// Thresholds are those of one port.
type Thresholds struct {
	XOFF, XON, Headroom units.Bytes
	Alpha               float64
	KMin, KMax          units.Bytes
	Unmarked            bool // ECN marks nothing at the port, whatever KMin and KMax are
	QECN                units.Bytes
	QLen                units.Bytes // of a detector that is TCD
	Credits             Credits     // of a flow control that goes by them
}

// Credits are what credit-based flow control has at the two ports of a link.
type Credits struct {
	Period vtime.Time
	Buffer units.Bytes
}

// Credits are those of the cable's ports. Both ends come to the same: a block has one size on a link.
func (c *Cable) Credits(s *CBFC) Credits {
	slow, fast := *c, *c
	slow.Rate, fast.Rate = min(c.Rate, c.PeerRate), max(c.Rate, c.PeerRate)
	of := Credits{Period: s.Period, Buffer: s.Buffer}
	if s.Period == AutoPeriod {
		frames := func(n int64) int64 { return n * c.LongestLine }
		of.Period = max(min(autoPeriod, fast.Rate.TimeFor(frames(mostPeriod))), slow.Rate.TimeFor(frames(leastPeriod)), vtime.Microsecond)
		of.Period = (of.Period + vtime.Nanosecond - 1) / vtime.Nanosecond * vtime.Nanosecond // ports' phases are whole ones
	}
	if s.Buffer == Auto {
		// What is on the cable, both ways, as a message leaves, and what comes until the next; at either end a frame is being sent that
		// it waits for.
		frames := min(int64(fast.Rate.BytesIn(of.Period+c.Delay+c.PeerDelay))/int64(c.Full)+3, ebpf.CreditMost)
		of.Buffer = max(fast.worth(autoCredits, leastCredits), s.room(units.Bytes(frames), c.Full))
		of.Buffer = min(of.Buffer, mostCredits)
	}
	return of
}

// Resolve is the shared buffer and the ports' thresholds of a switch with these cables: nothing is Auto in them, and what stands
// for a rate (PerRate) is each port's own.
func (s *Settings) Resolve(cables []Cable) (buffer units.Bytes, ports []Thresholds) {
	ports = make([]Thresholds, len(cables))
	for i := range cables {
		ports[i] = s.at(&cables[i])
	}
	if s.Buffer != Auto && s.FlowControl == FlowPFC && s.PFC.XOFF == Auto && s.PFC.Alpha == 0 {
		fit(ports, s.Buffer, bits.OnesCount8(s.PFC.Priorities))
	}
	for i := range ports {
		if s.PFC.Headroom == Auto {
			ports[i].Headroom = max(ports[i].Headroom, cables[i].Grown)
		}
		if ports[i].XON = s.PFC.XON; s.PFC.XON == Auto {
			ports[i].XON = max(0, ports[i].XOFF-s.PFC.XOFFToXON)
		}
	}
	if buffer = s.Buffer; buffer == Auto {
		buffer = leastBuffer
		if s.FlowControl == FlowPFC { // with credits ports have buffers of their own
			buffer = max(buffer, s.Reach(cables, ports)+units.Bytes(len(ports))*min(s.LossyLimit, units.GB))
		}
	}
	return buffer, ports
}

// Reach is the most bytes that lossless priorities may hold of a switch with these cables and thresholds: XOFF and headroom of
// every port. Where the dynamic threshold has no bound, it is with what XOFF would be of itself.
func (s *Settings) Reach(cables []Cable, ports []Thresholds) units.Bytes {
	const most = 1000 * units.GB // of a port, so that no sum overflows
	sum := units.Bytes(0)
	for i := range ports {
		xoff := ports[i].XOFF
		if xoff == 0 {
			xoff = cables[i].xoff()
		}
		sum += min(xoff, most) + min(ports[i].Headroom, most)
	}
	return sum * units.Bytes(bits.OnesCount8(s.PFC.Priorities))
}

// at are a port's thresholds, but for XON.
func (s *Settings) at(c *Cable) (t Thresholds) {
	t.XOFF = s.PFC.XOFF
	if t.XOFF == Auto {
		t.XOFF = c.xoff()
	}
	t.Alpha, t.Headroom = s.PFC.At(c.Rate)
	if s.PFC.Headroom == Auto {
		f := c.InFlight(bits.OnesCount8(s.PFC.Priorities))
		t.Headroom = f.Sum()
	}
	t.KMin, t.KMax = s.ECN.At(c.Rate)
	if s.ECN.KMin == Auto {
		t.KMin = c.worth(autoKMin, leastKMin)
	}
	if s.ECN.KMax == Auto {
		t.KMax = max(c.worth(autoKMax, leastKMax), t.KMin)
	}
	if s.ECN.KMin == Auto {
		t.KMin = min(t.KMin, t.KMax)
	}
	t.Unmarked = !s.ECN.Ports.marks(c.ToHost)
	if t.QECN = s.CNM.QECN; t.QECN == Auto {
		t.QECN = c.worth(autoKMax, leastKMax)
		if s.CNM.QCNM > 0 {
			t.QECN = min(t.QECN, s.CNM.QCNM)
		}
	}
	if s.Detector == DetectorTCD {
		if t.QLen = s.TCD.QLen; t.QLen == Auto {
			t.QLen = c.worth(autoKMin, leastKMin)
		}
	}
	if s.FlowControl == FlowCBFC {
		t.Credits = c.Credits(&s.CBFC)
	}
	return t
}

// worth is what the line carries in a time, and no less than so many full frames.
func (c *Cable) worth(t vtime.Time, frames int) units.Bytes {
	return units.Bytes(max(c.Rate.BytesIn(t), int64(frames*c.Full)))
}

// xoff is also no less than what the cable holds both ways: that long it takes until data comes again after a RESUME.
func (c *Cable) xoff() units.Bytes {
	return max(c.worth(autoXOFF, leastXOFF), units.Bytes(c.PeerRate.BytesIn(c.Delay+c.PeerDelay)))
}

// fit makes the XOFFs smaller, all in proportion, until a stated buffer holds what the ports may hold.
func fit(ports []Thresholds, buffer units.Bytes, lossless int) {
	var xoff, headroom units.Bytes
	for i := range ports {
		xoff += ports[i].XOFF
		headroom += ports[i].Headroom
	}
	room := max(0, buffer/units.Bytes(max(1, lossless))-headroom)
	if xoff <= room {
		return
	}
	for i := range ports {
		hi, lo := bits.Mul64(uint64(ports[i].XOFF), uint64(room))
		share, _ := bits.Div64(hi, lo, uint64(xoff))
		ports[i].XOFF = max(1, units.Bytes(share))
	}
}
