package planefuzz_test

import (
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// fault is a fault of a case: of a host's NIC, or else (Host -1) of a link.
type fault struct {
	Kind       settings.FaultKind
	At, For    vtime.Time // For 0: it stays
	Every      vtime.Time
	Link       string // "h0:s0"
	Host       int    // of receiver, pause
	OneWay     bool
	Reroute    vtime.Time // -1: never
	Chance     float64
	Delay      vtime.Time
	Rate       units.Rate
	Buffer     units.Bytes
	Priorities uint8
	Interval   vtime.Time
}

// drawFaults draws what goes wrong. Times are short, so that a short run sees it begin and end.
func (c *testCase) drawFaults(d chooser) {
	if !d.chance("faults", 60) {
		return
	}
	f := &c.Fabric
	for range d.Int("number of faults", 1, 4) {
		x := fault{Host: -1, Reroute: -1}
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
		x.Kind = pick(d, "fault", settings.FaultDown, settings.FaultDown, settings.FaultLoss, settings.FaultCorrupt,
			settings.FaultBER, settings.FaultDelay, settings.FaultRate, settings.FaultReceiver, settings.FaultPause)
		switch x.Kind {
		case settings.FaultDown:
			if d.chance("reroute", 60) {
				x.Reroute = d.time("reroute after", 0, 50*vtime.Microsecond)
			}
		case settings.FaultLoss, settings.FaultCorrupt:
			x.Chance = pick(d, "chance", 0.01, 0.1, 0.5, 1)
		case settings.FaultBER:
			x.Chance = pick(d, "bit error rate", 1e-6, 1e-5, 1e-4)
		case settings.FaultDelay:
			x.Delay = d.time("new delay", vtime.Nanosecond, 50*vtime.Microsecond)
		case settings.FaultRate:
			x.Rate = pick[units.Rate](d, "new rate", 10, 1, 25, 40, 100, 400) * units.Gbps // telemetry has codes for them
		default:
			x.Host, x.Link = d.Int("faulty host", 0, len(f.Hosts)-1), ""
			x.Rate = units.Rate(d.scale("receiver's rate", 10, 40_000)) * units.Mbps
			x.Buffer = d.size("receiver's buffer", 2*units.KB, 200*units.KB)
			x.Interval = d.time("interval", vtime.Microsecond, 100*vtime.Microsecond)
			x.Priorities = 1 << c.Host.DataPriority
			if d.chance("more priorities", 30) {
				x.Priorities |= uint8(d.Int("paused", 0, 255))
			}
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

// drawWatchdog draws a PFC watchdog, quick enough for a short run.
func (c *testCase) drawWatchdog(d chooser) {
	if c.Switch.FlowControl == switchagent.FlowCBFC || !d.chance("watchdog", 25) {
		return
	}
	c.Switch.PFC.Watchdog = switchagent.Watchdog{
		Detect: d.time("detect", vtime.Microsecond, 200*vtime.Microsecond), Restore: d.time("restore", vtime.Microsecond, 200*vtime.Microsecond),
		Forward: d.chance("forward", 50),
	}
	if c.Host.RetransmitTimeout == 0 {
		c.Host.RetransmitTimeout = 100 * vtime.Microsecond
	}
}

// fits says whether a fault can stand beside the others: two that are undone must not overlap. It is the scenario's rule, made
// simpler: no two of a kind at one place if either is undone.
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
	switch x.Kind {
	case settings.FaultDown:
		reroute := "never"
		if x.Reroute >= 0 {
			reroute = fmt.Sprintf("%dps", x.Reroute)
		}
		what += ", down: true, reroute: " + reroute
	case settings.FaultLoss, settings.FaultCorrupt, settings.FaultBER:
		what += fmt.Sprintf(", %s: %g", x.Kind, x.Chance)
	case settings.FaultDelay:
		what += fmt.Sprintf(", delay: %dps", x.Delay)
	case settings.FaultRate:
		what += fmt.Sprintf(", rate: %dbps", x.Rate)
	case settings.FaultReceiver:
		what += fmt.Sprintf(", receiver: {rate: %dbps, buffer: %dB}", x.Rate, x.Buffer)
	case settings.FaultPause:
		what += fmt.Sprintf(", pause: %s, interval: %dps", bits(x.Priorities), x.Interval)
	}
	if x.OneWay {
		what += ", one_way: true"
	}
	if x.For > 0 {
		what += fmt.Sprintf(", for: %dps", x.For)
	}
	if x.Every > 0 {
		what += fmt.Sprintf(", every: %dps", x.Every)
	}
	w("  - {at: %dps, %s}", x.At, what)
}
