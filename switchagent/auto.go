package switchagent

import (
	"fmt"
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Auto as a size in Settings lets Resolve choose it. It is valid for Buffer, PFC's XOFF, XON and Headroom, CBFC's
// Buffer, ECN's KMin and KMax, CNM's QECN and TCD's QLen.
const Auto units.Bytes = -1

// AutoPeriod as CBFC's Period lets Cable.Credits choose it.
const AutoPeriod vtime.Time = -1

// Auto stands for a time at the port's rate, so that a queue reaches it equally soon, and holds it equally long, at
// every rate. At 40 Gb/s these are the values of the DCON paper's switches (section 6): ECN from 5 to 200 KB, XOFF 320
// KB. The minimum is a number of full frames: with slow links or large packets, a threshold of a frame or two would not
// distinguish congestion.
const (
	autoKMin, leastKMin = vtime.Microsecond, 4
	autoKMax, leastKMax = 40 * vtime.Microsecond, 40
	autoXOFF, leastXOFF = 64 * vtime.Microsecond, 64
	leastBuffer         = 22 * units.MB
)

// Values of Auto for credit-based flow control. At 40 Gb/s they are those of TCD's patent: a message every 40 us, and
// 280 KB. A period uses at most half of the maximum grant (ebpf.CreditMost, a credit per frame). The other half is for
// the cable.
const (
	autoPeriod, leastPeriod, mostPeriod = 40 * vtime.Microsecond, 40, 1024
	autoCredits, leastCredits           = 56 * vtime.Microsecond, 56
	mostCredits                         = 2 * units.GB // limit below the range of registers, with a cable of any length
)

// Cable describes a switch's port and its cable, as far as thresholds depend on them.
type Cable struct {
	Rate, PeerRate   units.Rate // rate of the port, and of the one at the other end
	Delay, PeerDelay vtime.Time // propagation from the port, and to it
	Full             int        // bytes of a full data packet, as queues count them
	Longest          int        // bytes of the longest frame
	LongestLine      int64      // bytes of line time that it takes
	PFCLine          int64      // bytes of line time of a PFC frame, which is a frame of the least length
	// AheadLine holds the length of the longest frame of any priority that a PAUSE may wait for, in bytes of line time;
	// 0 means LongestLine.
	AheadLine int64
	ToHost    bool // there is a host at the other end
	// Grown holds the minimum headroom for Auto: the headroom needed when the cable was longer, or the port faster.
	Grown units.Bytes
}

// InFlight holds the bytes of a lossless priority that may still arrive at a port once its account is about to reach
// XOFF: the headroom that it needs. The parts are those of IEEE 802.1Qbb-2011, annex O, in bytes of line time. IEEE
// 802.3 (31B.3.7 for PAUSE) limits its interface delays and higher-layer delays: PFC.Response.
type InFlight struct {
	PastXOFF units.Bytes // the frame that takes the account to XOFF: all but one byte may be beyond
	Sending  units.Bytes // arrivals while the port sends the frame that PAUSE must wait for
	PFC      units.Bytes // arrivals while it sends PFC frames: PAUSE and RESUME of every lossless priority
	Cable    units.Bytes // bytes on the cable, both ways
	Peer     units.Bytes // the frame that the peer is sending when PAUSE arrives
	Response units.Bytes // arrivals while hardware sends and obeys PAUSE
	// Buffered holds the buffer space of the sum: without bytes that belong to no frame, and in whole cells.
	Buffered units.Bytes
}

// String returns the parts as a readable sum.
func (f *InFlight) String() string {
	return fmt.Sprintf("%v on the cable, both ways; %v past XOFF; %v while a frame is sent that PAUSE waits for, %v "+
		"while PFC frames are; "+
		"%v that the peer is sending%s", f.Cable, f.PastXOFF, f.Sending, f.PFC, f.Peer, f.hardware())
}

// hardware returns the parts that only some settings have.
func (f *InFlight) hardware() (text string) {
	if f.Response > 0 {
		text = fmt.Sprintf("; %v while hardware answers", f.Response)
	}
	if n := f.Sum() - f.Line(); n > 0 {
		text += fmt.Sprintf("; %v more in whole cells", n)
	}
	return text
}

// Line returns the sum of the parts.
func (f *InFlight) Line() units.Bytes {
	return f.PastXOFF + f.Sending + f.PFC + f.Cable + f.Peer + f.Response
}

// Sum returns the headroom for all parts. It is no less than the parts: the exact share of preambles and gaps in real
// hardware is unknown.
func (f *InFlight) Sum() units.Bytes { return max(f.Line(), f.Buffered) }

// InFlight returns the bytes that may still arrive at a port with these settings once its account is about to reach
// XOFF.
func (c *Cable) InFlight(p *PFC) InFlight {
	// A time on the line is a number of line bytes; buffers count bytes of frames, which may be more (framing ns3).
	counted := func(line int64) units.Bytes {
		return units.Bytes(scaleUp(line, int64(max(c.Longest, int(c.LongestLine))), c.LongestLine))
	}
	// While the port sends, the peer does at its own rate.
	meanwhile := func(line int64) int64 { return scaleUp(line, int64(c.PeerRate), int64(c.Rate)) }
	sending := meanwhile(max(c.LongestLine, c.AheadLine))
	pfc := meanwhile(2 * int64(bits.OnesCount8(p.Priorities)) * c.PFCLine) // a priority's RESUME may wait with its PAUSE
	cable := scaleUp(int64(c.PeerRate), int64(c.Delay+c.PeerDelay), 8*int64(vtime.Second))
	response := scaleUp(int64(c.PeerRate), int64(p.Response), 8*int64(vtime.Second))
	room, line := c.occupancy(p)
	return InFlight{
		PastXOFF: units.Bytes(c.Longest),
		Sending:  counted(sending),
		PFC:      counted(pfc),
		Cable:    counted(cable),
		Peer:     counted(c.LongestLine),
		Response: counted(response),
		Buffered: units.Bytes(p.cells(int64(c.Longest)) + scaleUp(sending+pfc+cable+response+c.LongestLine, room, line)),
	}
}

// cells returns the buffer space of a frame of n bytes.
func (p *PFC) cells(n int64) int64 {
	if p.CellSize == 0 {
		return n
	}
	cell := p.cell()
	return (n + cell - 1) / cell * cell
}

// cell returns the bytes of a cell, limited so that no product overflows.
func (p *PFC) cell() int64 { return int64(min(p.CellSize, 64*units.KB)) }

// occupancy returns the maximum buffer space of the packets in flight, for the given bytes of line time.
func (c *Cable) occupancy(p *PFC) (room, line int64) {
	room, line = p.cells(int64(c.Longest)), c.LongestLine
	if p.CellSize == 0 || p.SmallPackets == 0 {
		return room, line
	}
	// The least frame wastes the most of its cell, or the one that needs a byte of another cell.
	beside := c.LongestLine - int64(c.Longest) // bytes of a line that are no frame's
	least, cell := c.PFCLine-beside, p.cell()
	small := least
	if next := (least+cell-1)/cell*cell + 1; p.cells(next)*c.PFCLine > p.cells(least)*(next+beside) {
		small = next
	}
	const whole = 1 << 16
	part := int64(p.SmallPackets * whole)
	return p.cells(small)*part + room*(whole-part), (small+beside)*part + line*(whole-part)
}

// scaleUp returns n*by/of, rounded up.
func scaleUp(n, by, of int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(by))
	q, r := bits.Div64(hi, lo, uint64(of))
	if r > 0 {
		q++
	}
	return int64(q)
}

// Thresholds holds the thresholds of one port.
type Thresholds struct {
	XOFF, XON, Headroom units.Bytes
	Alpha               float64
	KMin, KMax          units.Bytes
	Unmarked            bool // ECN marks nothing at the port, whatever KMin and KMax
	QECN                units.Bytes
	QLen                units.Bytes // for the detector TCD
	Credits             Credits     // for credit-based flow control
}

// Credits holds the parameters of credit-based flow control at the two ports of a link.
type Credits struct {
	Period vtime.Time
	Buffer units.Bytes
}

// Credits returns the cable's parameters of credits. Both ends compute the same, because a block has one size on a
// link.
func (c *Cable) Credits(s *CBFC) Credits {
	slow, fast := *c, *c
	slow.Rate, fast.Rate = min(c.Rate, c.PeerRate), max(c.Rate, c.PeerRate)
	of := Credits{Period: s.Period, Buffer: s.Buffer}
	if s.Period == AutoPeriod {
		frames := func(n int64) int64 { return n * c.LongestLine }
		of.Period = max(min(autoPeriod, fast.Rate.TimeFor(frames(mostPeriod))), slow.Rate.TimeFor(frames(leastPeriod)),
			vtime.Microsecond)
		of.Period = (of.Period + vtime.Nanosecond - 1) / vtime.Nanosecond * vtime.Nanosecond // ports' phases are whole ones
	}
	if s.Buffer == Auto {
		// Frames on the cable, both ways, when a message leaves, and arrivals until the next; at either end the message
		// waits for a frame that is being sent.
		frames := min(int64(fast.Rate.BytesIn(of.Period+c.Delay+c.PeerDelay))/int64(c.Full)+3, ebpf.CreditMost)
		of.Buffer = max(fast.worth(autoCredits, leastCredits), s.room(units.Bytes(frames), c.Full))
		of.Buffer = min(of.Buffer, mostCredits)
	}
	return of
}

// Resolve returns the shared buffer and the ports' thresholds of a switch with these cables. It replaces Auto, and
// scales values for a rate (PerRate) to each port's own.
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

// Reach returns the maximum bytes of lossless priorities in a switch with these cables and thresholds: XOFF and
// headroom of every port. An unbounded dynamic threshold counts with the XOFF that Auto would choose.
func (s *Settings) Reach(cables []Cable, ports []Thresholds) units.Bytes {
	const most = 1000 * units.GB // limit for a port, so that no sum overflows
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

// at returns a port's thresholds, except XON.
func (s *Settings) at(c *Cable) (t Thresholds) {
	t.XOFF = s.PFC.XOFF
	if t.XOFF == Auto {
		t.XOFF = c.xoff()
	}
	t.Alpha, t.Headroom = s.PFC.At(c.Rate)
	if s.PFC.Headroom == Auto {
		f := c.InFlight(&s.PFC)
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

// worth returns the bytes that the line carries in a time, at least those of the given number of full frames.
func (c *Cable) worth(t vtime.Time, frames int) units.Bytes {
	return units.Bytes(max(c.Rate.BytesIn(t), int64(frames*c.Full)))
}

// xoff returns XOFF for Auto. It is at least the bytes on the cable in both directions, because data resumes only that
// long after a RESUME.
func (c *Cable) xoff() units.Bytes {
	return max(c.worth(autoXOFF, leastXOFF), units.Bytes(c.PeerRate.BytesIn(c.Delay+c.PeerDelay)))
}

// fit reduces all XOFFs in proportion until the configured buffer is large enough for all ports.
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
