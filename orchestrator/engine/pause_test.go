package engine

import (
	"fmt"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// departures returns the departure times of the data frames in seen.
func departures(seen []passage) []vtime.Time {
	var left []vtime.Time
	for i := range seen {
		if seen[i].Kind == wire.KindData {
			left = append(left, seen[i].left)
		}
	}
	return left
}

// TestPauseLasts: a pause of q quanta that nothing refreshes or ends holds the priority for q*512 bit times from its
// arrival, at a host and at a switch; the frame that is being sent is finished.
func TestPauseLasts(t *testing.T) {
	type pause struct {
		quanta      uint16
		paused, by  string
		arrival     *vtime.Time
		seen        *[]passage
		frameIsLast bool // the frame that is being sent may outlast the pause
	}
	for _, gigabits := range []int64{10, 25, 40, 100} {
		l := newLab(t, fmt.Sprintf("rate: %dGbps\ndelay: 1us\nstar: {hosts: 2}", gigabits), labOptions{})
		var pauses []pause
		at := 40 * vtime.Microsecond
		for _, link := range [][2]string{{"h0", "s0"}, {"s0", "h1"}} {
			seen := l.watch(l.port(link[1], link[0]))
			for _, quanta := range []uint16{1, 7, 40, 1000} {
				pauses = append(pauses, pause{
					quanta, link[0], link[1], l.sendPFC(l.port(link[1], link[0]), at, 3, quanta), seen, quanta < 20,
				})
				at += 100 * vtime.Microsecond
			}
		}
		l.send("h0", "h1", 0, 0, 0)
		l.run(at)
		for _, p := range pauses {
			frame := vtime.Time((fullFrame + 24) * 8000 / gigabits)
			ends := *p.arrival + vtime.Time(p.quanta)*vtime.Time(512_000/gigabits)
			var before, sends vtime.Time
			for _, left := range departures(*p.seen) {
				if left >= *p.arrival {
					sends = left
					break
				}
				before = left
			}
			if want := max(ends, before+frame); sends != want || want != ends && !p.frameIsLast {
				t.Errorf("%d Gbps: %s paused by %s for %d quanta from %v to %v: frames left at %v and %v",
					gigabits, p.paused, p.by, p.quanta, *p.arrival, ends, before, sends)
			}
		}
	}
}

// TestPauseIsOfOnePriority: control goes on while data is paused, and data while another priority is.
func TestPauseIsOfOnePriority(t *testing.T) {
	l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}", labOptions{})
	seen := l.watch(l.port("s0", "h0"))
	to := l.port("s0", "h0")
	l.send("h0", "h1", 1_000_000, 0, 0)
	l.send("h1", "h0", 1_000_000, 0, 0) // h0 acknowledges
	off := l.sendPFC(to, 40*vtime.Microsecond, 3, wire.PauseMax)
	on := l.sendPFC(to, 80*vtime.Microsecond, 3, wire.Resume)
	other := l.sendPFC(to, 120*vtime.Microsecond, 5, wire.PauseMax)
	l.run(0)
	acks, data := 0, 0
	for _, p := range *seen {
		switch {
		case p.left >= *off && p.left < *on && p.Kind == wire.KindAck:
			acks++
		case p.left >= *off && p.left < *on && p.Kind == wire.KindData:
			t.Errorf("data left at %v, paused from %v to %v", p.left, *off, *on)
		case p.left > *other && p.Kind == wire.KindData:
			data++
		}
	}
	if acks < 150 || data < 100 {
		t.Errorf("%d ACKs left while data was paused, %d data frames while another priority was", acks, data)
	}
}

// TestResumeEndsAPause: the sender goes on as the RESUME arrives, long before the quanta have run out.
func TestResumeEndsAPause(t *testing.T) {
	l := newLab(t, "rate: 100Gbps\ndelay: 1us\nstar: {hosts: 2}", labOptions{})
	seen := l.watch(l.port("s0", "h0"))
	l.send("h0", "h1", 1_000_000, 0, 0)
	off := l.sendPFC(l.port("s0", "h0"), 20*vtime.Microsecond, 3, 1000)
	on := l.sendPFC(l.port("s0", "h0"), 22*vtime.Microsecond, 3, wire.Resume)
	l.run(0)
	found := false
	for _, at := range departures(*seen) {
		if at >= *off && at < *on {
			t.Errorf("a frame left at %v, paused from %v to %v", at, *off, *on)
		}
		found = found || at == *on
	}
	if !found {
		t.Errorf("no frame left at %v, when the RESUME arrived", *on)
	}
}

// TestPauseIsRefreshed: while the account is above XON, PAUSE is sent again after half of its time, so that the sender
// never runs free; after RESUME it is not.
func TestPauseIsRefreshed(t *testing.T) {
	for _, quanta := range []uint16{20, 64, 500} {
		t.Run(fmt.Sprint(quanta), func(t *testing.T) {
			const gigabits = 40
			l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 5}", labOptions{sw: func(s *switchagent.Settings) {
				s.PFC.XOFF, s.PFC.XON, s.PFC.Quanta = 60_000, 30_000, quanta
			}})
			half := vtime.Time(quanta) * (512_000 / gigabits) / 2
			seen := l.watch(l.port("s0", "h1"))
			arrivals := l.watch(l.port("h1", "s0"))
			for i := 1; i <= 4; i++ {
				l.send(fmt.Sprintf("h%d", i), "h0", 300_000, 0, 0)
			}
			l.run(0)
			ackFrame := vtime.Time(lineBytes("ethernet", ackBytes) * 8000 / gigabits)
			refreshes := 0
			last := map[int]pfcFrame{}
			for _, f := range l.pfc {
				before := last[f.port]
				last[f.port] = f
				if !f.pause || !before.pause {
					continue
				}
				refreshes++
				// Each may wait for an ACK that is being sent.
				if gap := f.at - before.at; gap < half-ackFrame || gap > half+ackFrame {
					t.Errorf("port %d: PAUSE at %v and again at %v: half of it is %v", f.port, before.at, f.at, half)
				}
			}
			for port, f := range last {
				if f.pause {
					t.Errorf("port %d: the last of its PFC frames is a PAUSE at %v", port, f.at)
				}
			}
			if refreshes == 0 {
				t.Error("nothing was refreshed: this case tests nothing")
			}
			// From a PAUSE's arrival to its RESUME's, no data leaves the host.
			paused, since := false, vtime.Time(0)
			data := departures(*seen)
			for _, f := range *arrivals {
				if f.Kind != wire.KindPFC {
					continue
				}
				if !paused && f.quanta > 0 {
					since = f.arrived
				}
				if paused && f.quanta == 0 {
					for _, at := range data {
						if at >= since && at < f.arrived {
							t.Errorf("h1 was paused from %v to %v and sent at %v", since, f.arrived, at)
						}
					}
				}
				paused = f.quanta > 0
			}
		})
	}
}

// Two hosts send to each other; one's port is paused. Its ACKs wait with its data, or go all the same: then the other's
// flow ends in time, data stays where it is, and no invariant breaks.
func TestACKsOfAPausedHost(t *testing.T) {
	for _, goes := range []bool{false, true} {
		for _, withData := range []bool{false, true} {
			l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}", labOptions{
				sw: func(s *switchagent.Settings) { s.PFC.Priorities = 1<<3 | 1<<6 },
				host: func(h *hostagent.Settings) {
					h.ACKsWhenPaused, h.ACKsWithData = goes, withData
					h.RetransmitTimeout = 0 // a flow whose ACKs were gone would have stopped for good
				},
			})
			to := l.port("s0", "h1")
			for _, priority := range []uint8{3, 6} {
				l.sendPFC(to, 0, priority, wire.PauseMax)
			}
			ends := l.send("h0", "h1", 50_000, 2*vtime.Microsecond, 0)
			paused := l.send("h1", "h0", 50_000, 2*vtime.Microsecond, 0)
			l.run(100 * vtime.Microsecond)
			ended := l.Flows()[ends].Finished != vtime.Never
			if ended != goes || l.Flows()[ends].Delivered() != 50_000 || l.Flows()[paused].Sender.MostSent() != 0 {
				t.Errorf("ACKs of a paused host go %v, with the data %v: the flow to it has ended %v, %d B delivered, and it has sent %d B itself",
					goes, withData, ended, l.Flows()[ends].Delivered(), l.Flows()[paused].Sender.MostSent())
			}
			if stopped := l.StoppedFlows(); len(stopped) > 0 {
				t.Errorf("ACKs of a paused host go %v, with the data %v: flows %v count as stopped, though their ACKs wait", goes,
					withData, stopped)
			}
			priority := map[bool]uint8{false: 6, true: 3}[withData]
			if acks := l.TxBytes(l.port("h1", "s0"), priority); (acks > 0) != goes {
				t.Errorf("%d B of ACKs left in priority %d", acks, priority)
			}
			for _, priority := range []uint8{3, 6} {
				l.sendPFC(to, l.Now(), priority, wire.Resume)
			}
			l.run(0)
		}
	}
}
