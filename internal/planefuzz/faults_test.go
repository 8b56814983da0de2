package planefuzz_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// fault describes a fault of a case: of a host's NIC, or else (Host -1) of a link.
type fault struct {
	settings.Occurrence
	settings.Effect
	Link   string // "h0:s0"
	Host   int    // of receiver, pause
	OneWay bool
}

// drawFaults draws what goes wrong. Times are short, so that a short run sees it begin and end.
func (c *testCase) drawFaults(d chooser) {
	if !d.chance("faults", 60) {
		return
	}
	f := &c.Fabric
	for range d.Int("number of faults", 1, 4) {
		x := fault{Host: -1}
		if hosts := len(f.Hosts); len(f.Trunks) == 0 || d.chance("host's link", 35) {
			h := d.Int("linked host", 0, hosts-1)
			x.Link = fmt.Sprintf("h%d:s%d", h, f.Hosts[h].Switch)
		} else {
			t := f.Trunks[d.Int("linked trunk", 0, len(f.Trunks)-1)]
			x.Link = fmt.Sprintf("s%d:s%d", t.A, t.B)
		}
		x.At = vtime.Time(d.Int("fault at", 0, int(c.Duration)))
		if !d.chance("it stays", 20) {
			x.For = d.time("fault for", vtime.Microsecond, c.Duration/2)
			if d.chance("again", 25) {
				x.Every = max(x.For+1, vtime.Microsecond) + d.time("fault every", vtime.Microsecond, c.Duration/2)
			}
		}
		kinds := []settings.FaultKind{settings.FaultDown} // twice: no other changes routes
		for i := range settings.Faults {
			kinds = append(kinds, settings.Faults[i].Kind)
		}
		x.Effect = settings.NewEffect(pick(d, "fault", kinds...))
		if settings.FaultOf(x.Kind).OfHost {
			x.Host, x.Link = d.Int("faulty host", 0, len(f.Hosts)-1), ""
		}
		if !c.drawEffect(d, &x.Effect) {
			continue
		}
		if x.Link != "" && x.Kind != settings.FaultDown {
			x.OneWay = d.chance("one way", 40)
		}
		if x.Kind == settings.FaultPause && c.Switch.FlowControl == switchagent.FlowCBFC || !c.fits(x) {
			continue
		}
		c.Faults = append(c.Faults, x)
	}
	if len(c.Faults) > 0 && c.Host.RetransmitTimeout == 0 {
		c.Host.RetransmitTimeout = d.time("retransmission timeout", 10*vtime.Microsecond, 200*vtime.Microsecond)
	}
}

// drawEffect draws what a fault does, from what a short run on a small fabric shows. A kind that is not listed is drawn
// by its rows; ok is false where that is out of bounds.
func (c *testCase) drawEffect(d chooser, e *settings.Effect) (ok bool) {
	switch e.Kind {
	case settings.FaultDown:
		if d.chance("reroute", 60) {
			e.Reroute = d.time("reroute after", 0, 50*vtime.Microsecond)
		}
	case settings.FaultLoss, settings.FaultCorrupt:
		e.Probability = pick(d, "chance", 0.01, 0.1, 0.5, 1)
	case settings.FaultBER:
		e.Probability = pick(d, "bit error rate", 1e-6, 1e-5, 1e-4)
	case settings.FaultDelay:
		e.Delay = d.time("new delay", vtime.Nanosecond, 50*vtime.Microsecond)
	case settings.FaultRate:
		e.Rate = pick[units.Rate](d, "new rate", 10, 1, 25, 40, 100, 400) * units.Gbps // telemetry has codes for them
	case settings.FaultReceiver:
		e.Receiver = hostagent.NewSlowReceiver()
		e.Receiver.Rate = units.Rate(d.scale("receiver's rate", 10, 40_000)) * units.Mbps
		e.Receiver.Buffer = d.size("receiver's buffer", 2*units.KB, 200*units.KB)
		e.Receiver.Complete()
	case settings.FaultPause:
		e.Interval = d.time("interval", vtime.Microsecond, 100*vtime.Microsecond)
		e.Priorities = 1 << c.Host.DataPriority
		if d.chance("more priorities", 30) {
			e.Priorities |= uint8(d.Int("paused", 0, 255))
		}
	default:
		rows := e.Shown()
		for i := range rows {
			if s := &rows[i]; s.Kind() != schema.Group && rows.Set(s.Name, drawSetting(d, s)) != nil {
				return false
			}
		}
	}
	return true
}

// drawWatchdog draws a PFC watchdog, quick enough for a short run.
func (c *testCase) drawWatchdog(d chooser) {
	if c.Switch.FlowControl == switchagent.FlowCBFC || !d.chance("watchdog", 25) {
		return
	}
	c.Switch.PFC.Watchdog = switchagent.Watchdog{
		Detect:  d.time("detect", vtime.Microsecond, 200*vtime.Microsecond),
		Restore: d.time("restore", vtime.Microsecond, 200*vtime.Microsecond),
		Forward: d.chance("forward", 50),
	}
	if c.Host.RetransmitTimeout == 0 {
		c.Host.RetransmitTimeout = 100 * vtime.Microsecond
	}
}

// fits reports whether a fault is compatible with the others: two faults that end must not overlap. This simplifies the
// scenario's rule: no two of a kind at one location if either ends.
func (c *testCase) fits(x fault) bool {
	return !slices.ContainsFunc(c.Faults, func(o fault) bool {
		return o.Kind == x.Kind && o.Link == x.Link && o.Host == x.Host && (o.For > 0 || x.For > 0)
	})
}

// write writes a fault as an item of a scenario's list.
func (x *fault) write(w func(format string, args ...any)) {
	what := fmt.Sprintf("link: %q", x.Link)
	if x.Host >= 0 {
		what = fmt.Sprintf("host: h%d", x.Host)
	}
	if x.OneWay {
		what += ", one_way: true"
	}
	if x.Kind == settings.FaultDown {
		what += ", down: true" // which is what a fault of that kind does unless told otherwise, and views leave it out
	}
	fields := func(flow string) string { return strings.TrimSuffix(strings.TrimPrefix(flow, "{"), "}") }
	w("  - {%s, %s, %s}", fields(settings.FaultTimes(&x.Occurrence).Flow()), what, fields(x.Shown().Flow()))
}
