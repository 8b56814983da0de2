package experiments

import (
	"strings"

	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// FaultKind is what a fault does.
type FaultKind string

// Kinds of faults, by their key in scenario files.
const (
	FaultDown     FaultKind = "down"
	FaultLoss     FaultKind = "loss"
	FaultCorrupt  FaultKind = "corrupt"
	FaultBER      FaultKind = "ber"
	FaultDelay    FaultKind = "delay"
	FaultRate     FaultKind = "rate"
	FaultReceiver FaultKind = "receiver"
	FaultPause    FaultKind = "pause"
)

var (
	linkFaults = []FaultKind{FaultDown, FaultLoss, FaultCorrupt, FaultBER, FaultDelay, FaultRate}
	hostFaults = []FaultKind{FaultReceiver, FaultPause}
)

// Fault is something that goes wrong at a virtual time, once or again and again.
type Fault struct {
	Name string // may be empty
	Kind FaultKind
	At   vtime.Time
	For  vtime.Time // after which it is undone; 0: it is not
	// Every is the time from one occurrence to the next, of Times; 0: there is one. Times 0: until the run's duration.
	Every vtime.Time
	Times int

	Ports  []topologies.PortID // of links: one end of each
	OneWay bool                // only frames that leave by Ports are concerned
	Hosts  []topologies.NodeID

	Up          bool       // of FaultDown: the link comes up
	Reroute     vtime.Time // of FaultDown: time until routes follow; vtime.Never: they do not
	Probability float64    // of FaultLoss, FaultCorrupt, FaultBER
	Delay       vtime.Time
	Rate        units.Rate
	Receiver    orchestrator.Receiver
	Priorities  uint8      // of FaultPause
	Interval    vtime.Time // between its PAUSEs; 0: half of the longest pause
}

// loses says whether frames of a lossless class may be lost by the fault.
func (f *Fault) loses() bool {
	switch f.Kind {
	case FaultDown, FaultLoss, FaultCorrupt, FaultBER, FaultReceiver:
		return true
	}
	return false
}

const (
	maxFaults = 1 << 16
	// minEvery is the least time between two occurrences of a fault.
	minEvery = vtime.Microsecond
)

func (d *decoder) faults(v *yamlspec.Value) {
	for _, item := range v.Items() {
		if !item.IsMapping() {
			item.Errorf("a fault is a mapping such as {at: 1ms, for: 2ms, link: \"L2:S1\", down: true}")
			continue
		}
		d.fault(item)
	}
	if len(d.s.Faults) > maxFaults {
		v.Errorf("more than %d faults", maxFaults)
	}
}

// fault reads one entry of faults.
func (d *decoder) fault(v *yamlspec.Value) {
	before := v.Report().Count()
	m := v.Mapping()
	f := Fault{Reroute: vtime.Never}
	if name := m.Get("name"); name.String(&f.Name) && !tagName.MatchString(f.Name) {
		name.Errorf("name %q: a fault's name is letters, digits and _ . + / -", f.Name)
	}
	if at := m.Need("at"); at.Time(&f.At) && f.At > maxDuration {
		at.Errorf("at %v is above %v", f.At, maxDuration)
	}
	d.recurrence(m, &f)
	link, host := m.Get("link"), m.Get("host")
	switch {
	case link != nil && host != nil:
		m.Key("host").Errorf("a fault is of a link or of a host, not of both")
	case link == nil && host == nil:
		v.Errorf("a fault is of a link (link: \"L2:S1\") or of a host (host: H0)")
	}
	for _, item := range link.Items() {
		f.Ports = append(f.Ports, d.ports(item)...)
	}
	nodes, at := d.find(host)
	f.Hosts = d.faultyHosts(nodes, at)
	d.faultKind(v, m, &f, link != nil)
	if one := m.Get("one_way"); one.Bool(&f.OneWay) && f.OneWay && (link == nil || f.Kind == FaultDown) {
		one.Errorf("one_way is for loss, corrupt, ber, delay and rate of a link: a link is down both ways")
	}
	m.Done()
	if v.Report().Count() == before {
		d.checkOverlap(v, &f)
		d.s.Faults = append(d.s.Faults, f)
	}
}

// recurrence reads when a fault happens again and when it is undone.
func (d *decoder) recurrence(m *yamlspec.Mapping, f *Fault) {
	if length := m.Get("for"); length.Time(&f.For) && f.For == 0 {
		length.Errorf("for 0s: a fault that is undone at once is none; leave it out for one that stays")
	}
	every, times := m.Get("every"), m.Get("times")
	if every.Time(&f.Every) && f.Every < minEvery {
		every.Errorf("every %v is below %v", f.Every, minEvery)
	}
	times.Int(&f.Times, 1, maxFaults)
	switch {
	case every == nil && times != nil:
		m.Key("times").Errorf("times needs the time from one to the next, such as every: 5ms")
	case every != nil && f.For == 0:
		m.Key("every").Errorf("a fault that happens again is undone in between: it needs for")
	case every != nil && f.For >= f.Every:
		m.Key("every").Errorf("every %v: the fault lasts for %v", f.Every, f.For)
	case every != nil && f.Times == 0 && d.s.Duration/f.Every > maxFaults:
		every.Errorf("every %v: that is more than %d times", f.Every, maxFaults)
	}
}

func (d *decoder) faultyHosts(nodes []topologies.NodeID, at []*yamlspec.Value) []topologies.NodeID {
	var hosts []topologies.NodeID
	for i, id := range nodes {
		if n := &d.s.Topology.Nodes[id]; n.Kind != topologies.Host {
			at[i].Errorf("%s is a switch: receiver and pause are of hosts' NICs", n.Name)
			continue
		}
		hosts = append(hosts, id)
	}
	return hosts
}

// faultKind reads what a fault does: the one key of its kinds that it has.
func (d *decoder) faultKind(v *yamlspec.Value, m *yamlspec.Mapping, f *Fault, ofLink bool) {
	kinds, others := linkFaults, hostFaults
	if !ofLink {
		kinds, others = hostFaults, linkFaults
	}
	for _, k := range others {
		if m.Get(string(k)) != nil {
			m.Key(string(k)).Errorf("%s is a fault of a %s", k, map[bool]string{true: "host", false: "link"}[ofLink])
		}
	}
	for _, k := range kinds {
		if m.Get(string(k)) == nil {
			continue
		}
		if f.Kind != "" {
			m.Key(string(k)).Errorf("%s beside %s: a fault is of one kind; write two", k, f.Kind)
			continue
		}
		f.Kind = k
	}
	value := m.Get(string(f.Kind))
	reroute, interval := m.Get("reroute"), m.Get("interval")
	if reroute != nil && f.Kind != FaultDown && f.Kind != "" {
		m.Key("reroute").Errorf("reroute is for links that go down")
	}
	if interval != nil && f.Kind != FaultPause && f.Kind != "" {
		m.Key("interval").Errorf("interval is for hosts that send PAUSE")
	}
	switch f.Kind {
	case "":
		names := make([]string, len(kinds))
		for i, k := range kinds {
			names[i] = string(k)
		}
		v.Errorf("a fault has one of %s", strings.Join(names, ", "))
	case FaultDown:
		down := true
		value.Bool(&down)
		f.Up = !down
		if f.Up && f.For > 0 {
			m.Key("for").Errorf("a link that comes up is not taken down again: write at and for of its going down")
		}
		if reroute.Raw() != "never" {
			reroute.Time(&f.Reroute)
		}
	case FaultLoss, FaultCorrupt, FaultBER:
		if value.Float(&f.Probability) && (f.Probability < 0 || f.Probability > 1) {
			value.Errorf("%s %v is not a probability", f.Kind, f.Probability)
		}
	case FaultDelay:
		if value.Time(&f.Delay) && (f.Delay < vtime.Nanosecond || f.Delay > vtime.Second) {
			value.Errorf("delay %v is outside 1ns..1s", f.Delay)
		}
	case FaultRate:
		if value.Rate(&f.Rate) && (f.Rate < units.Mbps || f.Rate > 10*units.Tbps) {
			value.Errorf("rate %v is outside 1Mbps..10Tbps", f.Rate)
		}
	case FaultReceiver:
		d.slowReceiver(value, &f.Receiver)
	case FaultPause:
		settings.DecodePriorities(value, &f.Priorities)
		if f.Priorities == 0 {
			value.Errorf("pause needs priorities, such as [3]")
		}
		if d.s.Switch.FlowControl == switchagent.FlowCBFC {
			m.Key("pause").Errorf("there is no PAUSE under flow_control cbfc")
		}
		if interval.Time(&f.Interval) && f.Interval < vtime.Microsecond {
			interval.Errorf("interval %v is below 1us", f.Interval)
		}
	}
}

// slowReceiver reads the settings of one.
func (d *decoder) slowReceiver(v *yamlspec.Value, r *orchestrator.Receiver) {
	m := v.Mapping()
	m.Need("rate").Rate(&r.Rate)
	r.Buffer = 512 * units.KB
	m.Get("buffer").Bytes(&r.Buffer)
	r.XOFF = r.Buffer / 2
	m.Get("xoff").Bytes(&r.XOFF)
	r.XON = r.XOFF / 2
	m.Get("xon").Bytes(&r.XON)
	m.Done()
	if v.IsMapping() && v.Has("rate") {
		d.locate(v, r.Validate())
	}
}

// reroutes says whether any of the scenario's faults has the routes change.
func (s *Scenario) reroutes() bool {
	for i := range s.Faults {
		if s.Faults[i].Kind == FaultDown && s.Faults[i].Reroute != vtime.Never {
			return true
		}
	}
	return false
}
