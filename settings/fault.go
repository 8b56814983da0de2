package settings

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// FaultKind names a kind of fault. Its value is the key in scenario files and in the shell.
type FaultKind string

// Kinds of faults.
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

// Effect describes the effect of a fault on a link or a host's NIC.
type Effect struct {
	Kind        FaultKind
	Up          bool       // for FaultDown: the link comes up
	Reroute     vtime.Time // for FaultDown: time until routes adapt; vtime.Never: they do not
	Probability float64    // for FaultLoss, FaultCorrupt and FaultBER
	Delay       vtime.Time
	Rate        units.Rate
	Receiver    hostagent.SlowReceiver
	Priorities  uint8      // for FaultPause
	Interval    vtime.Time // between PAUSE frames; 0: half of the longest pause
}

// NewEffect returns an effect with the defaults of its kind. Required fields are still unset.
func NewEffect(kind FaultKind) Effect { return Effect{Kind: kind, Reroute: vtime.Never} }

// FaultInfo describes a kind of fault.
type FaultInfo struct {
	Kind   FaultKind
	OfHost bool     // affects a host's NIC instead of a link
	Loses  bool     // may lose frames of a lossless class
	Beside []string // further keys of this kind only
	Who    string   // subjects of these keys: "links that go down"
	says   func(e *Effect) string
}

// Faults lists the kinds of faults, those of links first.
var Faults = []FaultInfo{
	{Kind: FaultDown, Loses: true, Beside: []string{"reroute"}, Who: "links that go down", says: func(e *Effect) string {
		way, follow := "down", "routes do not follow"
		if e.Up {
			way = "up"
		}
		if e.Reroute != vtime.Never {
			follow = fmt.Sprintf("routes follow after %v", e.Reroute)
		}
		return way + ", " + follow
	}},
	{
		Kind: FaultLoss, Loses: true,
		says: func(e *Effect) string { return fmt.Sprintf("loses %.6g %% of the frames", 100*e.Probability) },
	},
	{
		Kind: FaultCorrupt, Loses: true,
		says: func(e *Effect) string { return fmt.Sprintf("damages %.6g %% of the frames", 100*e.Probability) },
	},
	{
		Kind: FaultBER, Loses: true,
		says: func(e *Effect) string { return fmt.Sprintf("damages bits at a rate of %v", e.Probability) },
	},
	{Kind: FaultDelay, says: func(e *Effect) string { return fmt.Sprintf("takes %v", e.Delay) }},
	{Kind: FaultRate, says: func(e *Effect) string { return fmt.Sprintf("at %v", e.Rate) }},
	{Kind: FaultReceiver, OfHost: true, Loses: true, says: func(e *Effect) string {
		r := &e.Receiver
		return fmt.Sprintf("takes frames at %v; buffer %v, XOFF %v, XON %v", r.Rate, r.Buffer, r.XOFF, r.XON)
	}},
	{
		Kind: FaultPause, OfHost: true, Beside: []string{"interval"}, Who: "hosts that send PAUSE",
		says: func(e *Effect) string {
			text := fmt.Sprintf("sends PAUSE for priorities %v", keys.PriorityList(e.Priorities))
			if e.Interval > 0 {
				text += fmt.Sprintf(" every %v", e.Interval)
			}
			return text
		},
	},
}

// FaultOf returns the description of a kind, or nil.
func FaultOf(kind FaultKind) *FaultInfo {
	i := slices.IndexFunc(Faults, func(f FaultInfo) bool { return f.Kind == kind })
	if i < 0 {
		return nil
	}
	return &Faults[i]
}

// String returns the effect as a predicate of its subject: "loses 1 % of the frames".
func (e *Effect) String() string { return FaultOf(e.Kind).says(e) }

// Fault returns the keys of all effects of faults, bound to e.
func Fault(e *Effect) keys.Table {
	r := &e.Receiver
	probability := func(kind FaultKind, doc string) keys.Key {
		row := keys.Number(string(kind), &e.Probability).Between("0", "1").Present("required").Optional()
		return row.As("probability").Means(doc)
	}
	return keys.Table{
		keys.Inverse(string(FaultDown), &e.Up).Present("required").Optional().As("up").Means(
			"takes the link down in both directions; `down: false` brings it up"),
		keys.Time("reroute", &e.Reroute).Or("never", int64(vtime.Never)).Means(
			"time until the routes follow; `never`: static routes, as in Mininet"),
		probability(FaultLoss, "probability that a frame is lost"),
		probability(FaultCorrupt, "probability that a frame is damaged"),
		probability(FaultBER, "probability that a bit is damaged: for a frame of n bytes that is 1-(1-`ber`)^(8(n+4))"),
		keys.Time(string(FaultDelay), &e.Delay).Between("1ns", "1s").Present("required").Means(
			"the new propagation delay"),
		keys.Rate(string(FaultRate), &e.Rate).Between("1Mbps", "10Tbps").Present("required").Means("the new rate"),
		keys.GroupOf(string(FaultReceiver), &keys.Group{}).Present("required").Means(
			"slows the NIC's receiver: it accepts frames at `rate` only"),
		keys.Rate("receiver.rate", &r.Rate).Between("1Mbps", "10Tbps").Present("required").Means(
			"rate of frames, without FCS"),
		keys.Size("receiver.buffer", &r.Buffer).Between("1B", "1GB").Usually("512KB").Means(
			"one buffer for all arriving frames; frames that find it full are lost"),
		keys.Size("receiver.xoff", &r.XOFF).AtLeast("1B").Usually("half of `buffer`").Means(
			"bytes in the buffer at which the host pauses its switch"),
		keys.Size("receiver.xon", &r.XON).Usually("half of `xoff`").Means(
			"bytes in the buffer at which the host lets it resume"),
		keys.Priorities(string(FaultPause), &e.Priorities).Present("required").As("priorities").Means(
			"the NIC sends PAUSE for these priorities, with the longest pause time"),
		keys.Time("interval", &e.Interval).AtLeast("1us").Usually("half of the pause time").Optional().Means(
			"time between two of these PAUSE frames"),
	}
}

// Shown returns the keys of an effect's own kind.
func (e *Effect) Shown() (rows keys.Table) {
	info := FaultOf(e.Kind)
	for _, s := range Fault(e) {
		if s.Name == string(e.Kind) || s.Group() == string(e.Kind) || slices.Contains(info.Beside, s.Name) {
			rows = append(rows, s)
		}
	}
	return rows
}

// CheckReceiver returns all errors of a slow receiver, as joined FieldErrors of a fault; nil: it is valid.
func CheckReceiver(r *hostagent.SlowReceiver) error {
	e := Effect{Kind: FaultReceiver, Receiver: *r}
	return errors.Join(e.Shown().Check(), r.Validate())
}
