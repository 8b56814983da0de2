package settings

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// FaultKind is what a fault does, by its key in scenario files and in the shell.
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

// Effect is what a fault does to a link or to a host's NIC.
type Effect struct {
	Kind        FaultKind
	Up          bool       // of FaultDown: the link comes up
	Reroute     vtime.Time // of FaultDown: time until routes follow; vtime.Never: they do not
	Probability float64    // of FaultLoss, FaultCorrupt, FaultBER
	Delay       vtime.Time
	Rate        units.Rate
	Receiver    Receiver
	Priorities  uint8      // of FaultPause
	Interval    vtime.Time // between its PAUSEs; 0: half of the longest pause
}

// NewEffect is an effect of a kind that has its defaults and lacks what its kind needs.
func NewEffect(kind FaultKind) Effect { return Effect{Kind: kind, Reroute: vtime.Never} }

// FaultInfo is a kind of faults.
type FaultInfo struct {
	Kind   FaultKind
	OfHost bool     // of a host's NIC; otherwise of a link
	Loses  bool     // frames of a lossless class may be lost by it
	Beside []string // other keys that only this kind has
	Who    string   // what has them: "links that go down"
	says   func(e *Effect) string
}

// Faults are the kinds of faults, those of links first.
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
	{Kind: FaultLoss, Loses: true, says: func(e *Effect) string { return fmt.Sprintf("loses %.6g %% of the frames", 100*e.Probability) }},
	{Kind: FaultCorrupt, Loses: true, says: func(e *Effect) string { return fmt.Sprintf("damages %.6g %% of the frames", 100*e.Probability) }},
	{Kind: FaultBER, Loses: true, says: func(e *Effect) string { return fmt.Sprintf("damages bits at a rate of %v", e.Probability) }},
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

// FaultOf is a kind's row, nil if there is none.
func FaultOf(kind FaultKind) *FaultInfo {
	i := slices.IndexFunc(Faults, func(f FaultInfo) bool { return f.Kind == kind })
	if i < 0 {
		return nil
	}
	return &Faults[i]
}

// String is what the fault does, after the name of what it does it to: "loses 1 % of the frames".
func (e *Effect) String() string { return FaultOf(e.Kind).says(e) }

// Fault is the table of all that faults may do, bound to e.
func Fault(e *Effect) keys.Table {
	r := &e.Receiver
	probability := func(kind FaultKind, doc string) keys.Key {
		row := keys.Number(string(kind), &e.Probability).Between("0", "1").Usually("required").Optional()
		return row.As("probability").Means(doc)
	}
	return keys.Table{
		keys.Inverse(string(FaultDown), &e.Up).Usually("required").Optional().As("up").Means(
			"takes the link down in both directions; `down: false` brings it up"),
		keys.Time("reroute", &e.Reroute).Or("never", int64(vtime.Never)).Means(
			"time until the routes follow; `never`: static routes, as in Mininet"),
		probability(FaultLoss, "probability that a frame is lost"),
		probability(FaultCorrupt, "probability that a frame is damaged"),
		probability(FaultBER, "probability that a bit is damaged: for a frame of n bytes that is 1-(1-`ber`)^(8(n+4))"),
		keys.Time(string(FaultDelay), &e.Delay).Between("1ns", "1s").Usually("required").Means(
			"the new propagation delay"),
		keys.Rate(string(FaultRate), &e.Rate).Between("1Mbps", "10Tbps").Usually("required").Means("the new rate"),
		keys.GroupOf(string(FaultReceiver), &keys.Group{}).Usually("required").Means(
			"slows the NIC's receiver: it accepts frames at `rate` only"),
		keys.Rate("receiver.rate", &r.Rate).Between("1Mbps", "10Tbps").Usually("required").Means(
			"rate of frames, without FCS"),
		keys.Size("receiver.buffer", &r.Buffer).Between("1B", "1GB").Usually("512KB").Means(
			"one buffer for all arriving frames; frames that find it full are lost"),
		keys.Size("receiver.xoff", &r.XOFF).AtLeast("1B").Usually("half of `buffer`").Means(
			"bytes in the buffer at which the host pauses its switch"),
		keys.Size("receiver.xon", &r.XON).Usually("half of `xoff`").Means(
			"bytes in the buffer at which the host lets it resume"),
		keys.Priorities(string(FaultPause), &e.Priorities).Usually("required").As("priorities").Means(
			"the NIC sends PAUSE for these priorities, with the longest pause time"),
		keys.Time("interval", &e.Interval).AtLeast("1us").Usually("half of the pause time").Optional().Means(
			"time between two of these PAUSE frames"),
	}
}

// Shown are the rows of an effect's own kind.
func (e *Effect) Shown() (rows keys.Table) {
	info := FaultOf(e.Kind)
	for _, s := range Fault(e) {
		if s.Name == string(e.Kind) || s.Group() == string(e.Kind) || slices.Contains(info.Beside, s.Name) {
			rows = append(rows, s)
		}
	}
	return rows
}

// Receiver is a NIC that takes frames at less than line rate, as over a slow bus. What waits is in its buffer, and it
// has its switch paused, or grants less, before that is full. A healthy NIC takes every frame as it comes.
type Receiver struct {
	Rate      units.Rate // of frames without FCS
	Buffer    units.Bytes
	XOFF, XON units.Bytes // as a switch's, of what is in the buffer; negative before Complete: by default
}

// NewReceiver is one with the defaults, which Complete fills in, and without its rate.
func NewReceiver() Receiver { return Receiver{Buffer: 512 * units.KB, XOFF: -1, XON: -1} }

// Complete fills in what follows from the buffer, unless it is stated.
func (r *Receiver) Complete() {
	if r.XOFF < 0 {
		r.XOFF = r.Buffer / 2
	}
	if r.XON < 0 {
		r.XON = r.XOFF / 2
	}
}

// Validate says everything that is wrong with r, as joined FieldErrors of a fault; nil if it can work.
func (r *Receiver) Validate() error {
	e := Effect{Kind: FaultReceiver, Receiver: *r}
	err := e.Shown().Check()
	if r.XOFF > r.Buffer {
		err = errors.Join(err, schema.Errorf("receiver.xoff", "%v is above receiver.buffer %v", r.XOFF, r.Buffer))
	}
	if r.XON >= r.XOFF {
		err = errors.Join(err, schema.Errorf("receiver.xon", "%v must be below receiver.xoff %v", r.XON, r.XOFF))
	}
	return err
}
