package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// The reference values of this file are worked out by hand from the formats: a RoCEv2 data frame is Ethernet 14, IPv4
// 20, UDP 8, BTH 12, the payload padded to 4, ICRC 4, and RETH 16 in the first frame of a WRITE; an ACK has an AETH of
// 4 instead. A frame costs, with its FCS, preamble and gap, 24 B more on Ethernet and at least 84; 10 B less in the
// simulators' framing and at least 60.

const (
	ackBytes = 14 + 20 + 8 + 12 + 4 + 4
	mtuBytes = 1000
)

func dataBytes(payload int64, first bool) int64 {
	n := 14 + 20 + 8 + 12 + (payload+3)/4*4 + 4
	if first {
		n += 16
	}
	return n
}

func lineBytes(framing string, frame int64) int64 {
	if framing == "ns3" {
		return max(frame-10, 60)
	}
	return max(frame, 60) + 24
}

// framesOf returns the line bytes of a flow's data frames.
func framesOf(framing string, size int64) []int64 {
	var frames []int64
	for at := int64(0); at < size; at += mtuBytes {
		frames = append(frames, lineBytes(framing, dataBytes(min(mtuBytes, size-at), at == 0)))
	}
	return frames
}

// aloneFCT returns the time a lone flow takes over links of one rate: the longest way through the lattice of frames and
// links is all frames over one link, and the longest of them over the others. Then the last ACK comes back.
func aloneFCT(framing string, size int64, gigabits int64, links int64, delay vtime.Time) vtime.Time {
	frames := framesOf(framing, size)
	line := (links - 1) * slices.Max(frames)
	for _, n := range frames {
		line += n
	}
	line += links * lineBytes(framing, ackBytes)
	return vtime.Time(line*8000/gigabits) + vtime.Time(2*links)*delay
}

// TestLoneFlow: one flow alone takes its ideal time. Only an ACK that waits behind the one before it, when the last
// frame is shorter than an ACK, is not in the formula.
func TestLoneFlow(t *testing.T) {
	const delay = vtime.Microsecond
	sizes := []int64{1, 999, 1000, 1001, 2000, 2001, 100_000, 1_000_000, 1_000_001}
	for _, gigabits := range []int64{10, 25, 40, 100} {
		for _, framing := range []string{"ethernet", "ns3"} {
			for _, shape := range []struct {
				name, topology, from, to string
				links                    int64
			}{
				{"star", "star: {hosts: 2}", "h0", "h1", 2},
				{"leafspine", "leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 1}", "h0", "h1", 4},
			} {
				t.Run(fmt.Sprintf("%d/%s/%s", gigabits, framing, shape.name), func(t *testing.T) {
					l := newLab(t, fmt.Sprintf("framing: %s\nrate: %dGbps\ndelay: %v\n%s\n", framing, gigabits, delay, shape.topology),
						labOptions{})
					for i, size := range sizes {
						l.send(shape.from, shape.to, size, vtime.Time(i)*2*vtime.Millisecond, 0)
					}
					l.run(0)
					frame := vtime.Time(lineBytes(framing, dataBytes(mtuBytes, true)) * 8000 / gigabits)
					for i, size := range sizes {
						want, got := aloneFCT(framing, size, gigabits, shape.links, delay), l.fct(i)
						exact := size%mtuBytes == 0 || size < mtuBytes
						if exact && got != want || got < want || got > want+frame {
							t.Errorf("%d B took %v, ideal %v", size, got, want)
						}
						if i == len(sizes)-2 { // a MB: line rate but for the path's own time
							payload := float64(size) * 8 / (got - vtime.Time(shape.links*2)*delay).Seconds()
							line := float64(gigabits) * 1e9 * mtuBytes / float64(lineBytes(framing, dataBytes(mtuBytes, false)))
							if payload < 0.99*line {
								t.Errorf("goodput %.4g bps of %.4g", payload, line)
							}
						}
					}
				})
			}
		}
	}
}

// TestLoneFlowOverUnequalLinks follows every frame over a slow host link and a fast uplink, and back to a slow one.
func TestLoneFlowOverUnequalLinks(t *testing.T) {
	l := newLab(t, "delay: 3us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1, host_rate: 25Gbps, fabric_rate: 100Gbps}", labOptions{})
	const size = 50_000
	l.send("h0", "h1", size, 0, 0)
	l.run(0)
	psPerByte := []int64{320, 80, 80, 320}
	left := make([]int64, len(psPerByte)) // when each link is done with the frame before
	var at int64
	for _, n := range framesOf("ethernet", size) {
		at = 0
		for i, ps := range psPerByte {
			left[i] = max(left[i], at) + n*ps
			at = left[i] + 3_000_000
		}
	}
	for _, ps := range psPerByte {
		at += lineBytes("ethernet", ackBytes)*ps + 3_000_000
	}
	if got := l.fct(0); got != vtime.Time(at) {
		t.Errorf("took %v, ideal %v", got, vtime.Time(at))
	}
}

// TestBaseRTT: with nothing else under way a packet's RTT is delays plus serialisations, to the picosecond.
func TestBaseRTT(t *testing.T) {
	for _, c := range []struct {
		topology string
		data     []int64 // ps per byte of each link, there
		delays   vtime.Time
	}{
		{"rate: 40Gbps\ndelay: 5us\nstar: {hosts: 2}", []int64{200, 200}, 20 * vtime.Microsecond},
		{"rate: 100Gbps\ndelay: 1500ns\nframing: ns3\nstar: {hosts: 2}", []int64{80, 80}, 6 * vtime.Microsecond},
		{
			"delay: 1us\nleafspine: {spines: 2, leaves: 2, hosts_per_leaf: 1, host_rate: 10Gbps, fabric_rate: 40Gbps}",
			[]int64{800, 200, 200, 800},
			8 * vtime.Microsecond,
		},
		{"delay: 1us\nrate: 25Gbps\nfattree: {k: 2}", []int64{320, 320, 320, 320, 320, 320}, 12 * vtime.Microsecond},
	} {
		l := newLab(t, c.topology, labOptions{})
		framing := l.plan.Framing.String()
		var full, first vtime.Time
		for _, ps := range c.data {
			ack := lineBytes(framing, ackBytes)
			full += vtime.Time(ps * (lineBytes(framing, dataBytes(mtuBytes, false)) + ack))
			first += vtime.Time(ps * (lineBytes(framing, dataBytes(mtuBytes, true)) + ack))
		}
		full, first = full+c.delays, first+c.delays
		source, destination := &l.plan.Nodes[l.plan.Hosts[0]], &l.plan.Nodes[l.plan.Hosts[1]]
		// At a third of the line rate no packet catches up with the one before.
		samples := new(rtts)
		id := l.send(source.Name, destination.Name, 20*mtuBytes, 0, l.plan.Ports[source.Ports[0]].Rate/3)
		l.Flows()[id].RTT = func(int) hostagent.RTTCounter { return samples }
		l.run(0)
		if got := l.plan.BaseRTT(source.ID, destination.ID, topologies.Pair{}, int(dataBytes(mtuBytes, false)),
			ackBytes); got != full {
			t.Errorf("%s: BaseRTT says %v, by hand %v", c.topology, got, full)
		}
		for i, rtt := range *samples {
			if i == 0 && rtt != first || i > 0 && rtt != full {
				t.Errorf("%s: packet %d: RTT %v, by hand %v and %v", c.topology, i, rtt, first, full)
			}
		}
		if len(*samples) != 20 {
			t.Errorf("%d samples of 20 packets", len(*samples))
		}
	}
}
