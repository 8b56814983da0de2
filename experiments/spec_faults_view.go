package experiments

import (
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// FaultView is a fault of a View. Only what its kind has is there.
type FaultView struct {
	Name        string        `json:"name,omitempty"`
	Kind        FaultKind     `json:"kind"`
	At          float64       `json:"at_ns"`
	For         float64       `json:"for_ns,omitempty"`
	Every       float64       `json:"every_ns,omitempty"`
	Times       int           `json:"times,omitempty"`
	Links       []string      `json:"links,omitempty"` // by one of their ports, "node:peer"
	OneWay      bool          `json:"one_way,omitempty"`
	Hosts       []string      `json:"hosts,omitempty"`
	Up          bool          `json:"up,omitempty"`
	Reroute     *float64      `json:"reroute_ns,omitempty"` // absent: never
	Probability float64       `json:"probability,omitempty"`
	Delay       float64       `json:"delay_ns,omitempty"`
	Rate        units.Rate    `json:"rate_bps,omitempty"`
	Receiver    *ReceiverView `json:"receiver,omitempty"`
	Priorities  []int         `json:"priorities,omitempty"`
	Interval    float64       `json:"interval_ns,omitempty"` // absent: half of the longest pause
}

// ReceiverView is the settings of a slow receiver.
type ReceiverView struct {
	Rate   units.Rate  `json:"rate_bps"`
	Buffer units.Bytes `json:"buffer_bytes"`
	XOFF   units.Bytes `json:"xoff_bytes"`
	XON    units.Bytes `json:"xon_bytes"`
}

func (s *Scenario) viewFaults() []FaultView {
	var views []FaultView
	for i := range s.Faults {
		f := &s.Faults[i]
		v := FaultView{
			Name: f.Name, Kind: f.Kind, At: nanoseconds(f.At), For: nanoseconds(f.For), Every: nanoseconds(f.Every), Times: f.Times,
			Links: f.links(s.Topology), OneWay: f.OneWay, Hosts: f.hosts(s.Topology), Up: f.Up, Probability: f.Probability,
			Delay: nanoseconds(f.Delay), Rate: f.Rate, Interval: nanoseconds(f.Interval),
		}
		if f.Kind == FaultDown && f.Reroute != vtime.Never {
			reroute := nanoseconds(f.Reroute)
			v.Reroute = &reroute
		}
		if f.Kind == FaultPause {
			v.Priorities = settings.Priorities(f.Priorities)
		}
		if r := &f.Receiver; f.Kind == FaultReceiver {
			v.Receiver = &ReceiverView{r.Rate, r.Buffer, r.XOFF, r.XON}
		}
		views = append(views, v)
	}
	return views
}

func (f *Fault) links(plan *topologies.Plan) (names []string) {
	for _, id := range f.Ports {
		names = append(names, PortLabel(plan, id))
	}
	return names
}

func (f *Fault) hosts(plan *topologies.Plan) (names []string) {
	for _, id := range f.Hosts {
		names = append(names, plan.Nodes[id].Name)
	}
	return names
}

// Describe is the fault in a line: "at 1ms for 2ms: L2:S1 down, routes follow after 100us".
func (f *Fault) Describe(plan *topologies.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "at %v", f.At)
	if f.For > 0 {
		fmt.Fprintf(&b, " for %v", f.For)
	}
	if f.Every > 0 {
		fmt.Fprintf(&b, ", every %v", f.Every)
	}
	if f.Times > 0 {
		fmt.Fprintf(&b, ", %d times", f.Times)
	}
	if f.Name != "" {
		fmt.Fprintf(&b, " (%s)", f.Name)
	}
	place := f.links(plan)
	if len(f.Hosts) > 0 {
		place = append(place, topologies.Abbreviate(f.hosts(plan)))
	}
	fmt.Fprintf(&b, ": %s ", strings.Join(place, " "))
	//exhaustive:enforce
	switch f.Kind {
	case FaultDown:
		follow := "routes do not follow"
		if f.Reroute != vtime.Never {
			follow = fmt.Sprintf("routes follow after %v", f.Reroute)
		}
		fmt.Fprintf(&b, "%s, %s", map[bool]string{true: "up", false: "down"}[f.Up], follow)
	case FaultLoss:
		fmt.Fprintf(&b, "loses %.6g %% of the frames", 100*f.Probability)
	case FaultCorrupt:
		fmt.Fprintf(&b, "damages %.6g %% of the frames", 100*f.Probability)
	case FaultBER:
		fmt.Fprintf(&b, "damages bits at a rate of %v", f.Probability)
	case FaultDelay:
		fmt.Fprintf(&b, "takes %v", f.Delay)
	case FaultRate:
		fmt.Fprintf(&b, "at %v", f.Rate)
	case FaultReceiver:
		fmt.Fprintf(&b, "takes frames at %v; buffer %v, XOFF %v, XON %v", f.Receiver.Rate, f.Receiver.Buffer, f.Receiver.XOFF, f.Receiver.XON)
	case FaultPause:
		fmt.Fprintf(&b, "sends PAUSE for priorities %v", settings.Priorities(f.Priorities))
		if f.Interval > 0 {
			fmt.Fprintf(&b, " every %v", f.Interval)
		}
	}
	if f.OneWay {
		b.WriteString(", one way")
	}
	return b.String()
}
