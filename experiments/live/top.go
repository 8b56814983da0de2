//go:build linux

package live

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/pausenet/pausenet/units"
)

// Top holds the changes between two snapshots. Rates are in virtual time.
type Top struct {
	now   *Snapshot
	span  float64 // virtual seconds
	ports []topPort
	flows []topFlow
}

type topPort struct {
	*PortSnapshot
	queue, buffered  uint64
	paused           string  // paused priorities, now
	pausedShare      float64 // fraction of the time, for the priority paused longest
	pausesTx         float64 // per second
	pausesRx, marked float64
	tx               float64 // bits per second
	busy             float64 // fraction of the time
}

type topFlow struct {
	*FlowSnapshot
	goodput float64 // bits per second
}

// NewTop compares two snapshots.
func NewTop(before, now *Snapshot) *Top {
	t := &Top{now: now, span: seconds(max(1, now.Clock.VirtualNS-before.Clock.VirtualNS))}
	for i := range now.Ports {
		t.ports = append(t.ports, t.port(&before.Ports[i], &now.Ports[i]))
	}
	slices.SortStableFunc(t.ports, func(a, b topPort) int {
		return cmp.Or(cmp.Compare(b.queue+b.buffered, a.queue+a.buffered), cmp.Compare(b.pausedShare, a.pausedShare),
			cmp.Compare(b.pausesTx+b.pausesRx, a.pausesTx+a.pausesRx), cmp.Compare(b.tx, a.tx))
	})
	delivered := map[int]int64{}
	for i := range before.Flows {
		delivered[before.Flows[i].Flow] = before.Flows[i].DeliveredBytes
	}
	for i := range now.Flows {
		f := &now.Flows[i]
		t.flows = append(t.flows, topFlow{f, float64(f.DeliveredBytes-delivered[f.Flow]) * 8 / t.span})
	}
	slices.SortStableFunc(t.flows, func(a, b topFlow) int { return cmp.Compare(b.goodput, a.goodput) })
	return t
}

func (t *Top) port(before, now *PortSnapshot) topPort {
	p := topPort{
		PortSnapshot: now, pausesTx: float64(now.PausesSent-before.PausesSent) / t.span,
		pausesRx: float64(now.PausesReceived-before.PausesReceived) / t.span,
		marked:   float64(now.ECNMarks+now.UEMarks-before.ECNMarks-before.UEMarks) / t.span,
		tx:       float64(now.TxBytes-before.TxBytes) * 8 / t.span, busy: min(1, seconds(now.BusyNS-before.BusyNS)/t.span),
	}
	was := map[uint8]int64{}
	for i := range before.Classes {
		was[before.Classes[i].Priority] = before.Classes[i].PausedNS
	}
	var paused []string
	for i := range now.Classes {
		c := &now.Classes[i]
		p.queue += c.QueueBytes
		p.buffered += c.BufferedBytes
		p.pausedShare = max(p.pausedShare, min(1, seconds(c.PausedNS-was[c.Priority])/t.span))
		if word := strconv.Itoa(int(c.Priority)); c.Storm {
			paused = append(paused, word+" storm")
		} else if c.Paused {
			paused = append(paused, word)
		}
	}
	p.paused = strings.Join(paused, ",")
	return p
}

// idle reports whether the port had no activity.
func (p *topPort) idle() bool {
	return p.Up && p.queue+p.buffered == 0 && p.paused == "" && p.pausedShare+p.pausesTx+p.pausesRx+p.tx == 0
}

// Write prints the busiest ports and flows in at most the given number of lines.
func (t *Top) Write(w io.Writer, lines int) {
	c := &t.now.Clock
	name := cmp.Or(t.now.Fabric, "fabric")
	fmt.Fprintf(w, "%s: virtual time %v, slow-down %s; event latency %v (p50), %v (p99); busy %s; %d flows open\n", name,
		virtualNS(c.VirtualNS),
		c.slowdown(), virtualNS(c.LatenessP50NS), virtualNS(c.LatenessP99NS), percent(c.Busy), t.now.OpenFlows)
	lines--
	if c.Frames > 0 {
		fmt.Fprintln(w, c.frames())
		lines--
	}
	if t.now.Deadlock != "" {
		fmt.Fprintf(w, "DEADLOCK: %s\n", t.now.Deadlock)
		lines--
	}
	flows := min(len(t.flows), max(1, (lines-4)/3))
	if flows > 0 {
		lines -= flows + 2
	}
	t.writePorts(w, lines-1)
	if flows > 0 {
		t.writeFlows(w, flows)
	}
}

func (t *Top) writePorts(out io.Writer, lines int) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	defer w.Flush()
	fmt.Fprintln(w, "port\tto\tqueue\tingress\tpaused\tof time\tPAUSE/s out\tin\tmarks/s\ttx\tuse\t")
	for i := range t.ports {
		p := &t.ports[i]
		if i >= lines || p.idle() {
			continue
		}
		use := fmt.Sprintf("%.0f%%", 100*p.busy)
		if !p.Up {
			use = "down"
		}
		fmt.Fprintf(w, "%s\t%s\t%v\t%v\t%s\t%.0f%%\t%s\t%s\t%s\t%s\t%s\t\n", p.Port, p.Peer, size(p.queue), size(p.buffered),
			p.paused, 100*p.pausedShare,
			count(p.pausesTx), count(p.pausesRx), count(p.marked), bits(p.tx), use)
	}
}

func (t *Top) writeFlows(out io.Writer, flows int) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	defer w.Flush()
	fmt.Fprintln(out)
	fmt.Fprintln(w, "flow\tfrom\tto\tdelivered\tof\trate\tgoodput\tRTT\t")
	for _, f := range t.flows[:flows] {
		of := size(uint64(f.SizeBytes))
		if f.QueuePair != 0 {
			of = fmt.Sprintf("QP %#x", f.QueuePair)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%v\t\n", f.Flow, f.From, f.To, size(uint64(f.DeliveredBytes)), of,
			bits(f.RateBPS), bits(f.goodput), virtualNS(f.RTTNS))
	}
}

// size formats bytes with three or four digits.
func size(n uint64) string {
	return scaled(float64(n), units.Sizes)
}

// bits formats a rate with three or four digits.
func bits(r float64) string {
	return scaled(r, units.Rates)
}

// count formats a rate of events.
func count(n float64) string {
	return scaled(n, []units.Unit{
		{Name: "", Size: 1},
		{Name: "K", Size: 1e3},
		{Name: "M", Size: 1e6},
		{Name: "G", Size: 1e9},
	})
}

func scaled(v float64, all []units.Unit) string {
	unit := units.Largest(all, v)
	if v /= unit.Size; v == float64(int64(v)) || v >= 100 {
		return fmt.Sprintf("%.0f%s", v, unit.Name)
	}
	return fmt.Sprintf("%.3g%s", v, unit.Name)
}
