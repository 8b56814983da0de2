package star

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/vtime"
)

// opaque provides the methods that all values of this package share.
type opaque struct{}

func (opaque) Freeze()               {}
func (opaque) Truth() starlark.Bool  { return true }
func (opaque) Hash() (uint32, error) { return 0, fmt.Errorf("it cannot be hashed") }

// slots numbers the attributes of flows by name: all attributes that the program sets.
type slots map[string]int

// Attributes of a flow with its decisions.
const (
	rateName, windowName, timerName, movesName = "rate", "window", "timer", "moves"
)

// flowValue represents a flow to its program.
type flowValue struct {
	opaque
	names  slots
	values []starlark.Value // nil: not set yet
	answer controllerfile.Answer
}

func (f *flowValue) String() string { return "flow" }
func (f *flowValue) Type() string   { return "flow" }

// AttrNames returns the names of all attributes.
func (f *flowValue) AttrNames() []string {
	names := []string{rateName, windowName, timerName, movesName}
	for name := range f.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Attr returns the value of an attribute.
func (f *flowValue) Attr(name string) (starlark.Value, error) {
	if slot, ok := f.names[name]; ok {
		if v := f.values[slot]; v != nil {
			return v, nil
		}
		return nil, fmt.Errorf("flow.%s has no value yet: set it in init", name)
	}
	switch name {
	case rateName:
		if f.answer.Rate == 0 {
			return nil, fmt.Errorf("flow.rate has no value yet: set it in init, for example to path.line_rate")
		}
		return starlark.Float(f.answer.Rate), nil
	case windowName:
		return starlark.Float(f.answer.Window), nil
	case timerName:
		if f.answer.Timer == vtime.Never {
			return starlark.Float(math.Inf(1)), nil
		}
		return starlark.Float(f.answer.Timer), nil
	case movesName:
		return starlark.Bool(f.answer.Moves), nil
	}
	if pathNamed(name) {
		return nil, fmt.Errorf("flow has no .%s: use path.%s", name, name)
	}
	return nil, starlark.NoSuchAttrError(fmt.Sprintf("flow has no .%s: the file never sets it, but %s", name,
		strings.Join(f.AttrNames(), ", ")))
}

// SetField sets an attribute.
func (f *flowValue) SetField(name string, v starlark.Value) error {
	if slot, ok := f.names[name]; ok {
		if err := storable(v); err != nil {
			return fmt.Errorf("flow.%s: %w", name, err)
		}
		f.values[slot] = v
		return nil
	}
	if name == movesName {
		moves, ok := v.(starlark.Bool)
		if !ok {
			return fmt.Errorf("flow.moves must be True or False, not %s", article(v))
		}
		f.answer.Moves = bool(moves)
		return nil
	}
	number, ok := v.(starlark.Float)
	if !ok {
		if v == starlark.None && name == timerName {
			f.answer.Timer = vtime.Never
			return nil
		}
		return fmt.Errorf("flow.%s must be a number, not %s%s", name, article(v), ifNone(v))
	}
	switch name {
	case rateName:
		return f.answer.SetRate(float64(number))
	case windowName:
		return f.answer.SetWindow(float64(number))
	default:
		return f.answer.SetTimer(float64(number))
	}
}

func ifNone(v starlark.Value) string {
	if v == starlark.None {
		return " (a function without return gives None)"
	}
	return ""
}

// article returns a value's type for messages.
func article(v starlark.Value) string {
	switch v := v.(type) {
	case starlark.NoneType:
		return "None"
	case *sampleValue:
		return "an " + v.Type()
	case starlark.Float:
		return "a number"
	case starlark.Bool:
		return "True or False"
	case *starlark.Function, *starlark.Builtin:
		return "a function (did you mean to call it, with parentheses?)"
	default:
		return "a " + v.Type()
	}
}

// storable returns an error if a value cannot outlive a call.
func storable(v starlark.Value) error {
	switch v.(type) {
	case starlark.Float, starlark.Bool, starlark.NoneType, *listValue, *hopValue:
		return nil
	case *sampleValue:
		return fmt.Errorf("%s is valid only during the call: keep the values that you need, such as its rtt", article(v))
	}
	return fmt.Errorf("a flow can keep numbers, True, False, None and lists of them, but not %s", article(v))
}

// sampleValue represents an ACK, CNP or CNM during a call.
type sampleValue struct {
	opaque
	of   *cc.Sample
	kind string
	hops []controllerfile.Hop // of of, if the program reads hops
}

func (s *sampleValue) String() string { return s.kind }
func (s *sampleValue) Type() string   { return s.kind }

// sampleFields lists the fields by kind of sample, as in the documentation.
var sampleFields = map[string][]string{
	"ACK": {"now", "rtt", "acked_bytes", "ack_sequence", "next_send", "in_flight", "ce", "ue", "hops", "path_id"},
	"CNP": {"now", "ack_sequence", "next_send", "ce", "ue", "received", "receiving_rate"},
	"CNM": {"now", "ack_sequence", "next_send", "flows", "rate"},
}

// AttrNames returns the names of the fields.
func (s *sampleValue) AttrNames() []string { return sampleFields[s.kind] }

// Attr returns a field.
func (s *sampleValue) Attr(name string) (starlark.Value, error) {
	switch name {
	case "now":
		return starlark.Float(s.of.Now), nil
	case "ack_sequence":
		return starlark.Float(s.of.AckSequence), nil
	case "next_send":
		return starlark.Float(s.of.NextSend), nil
	}
	if s.kind != "CNM" {
		switch name {
		case "ce":
			return starlark.Bool(s.of.CE), nil
		case "ue":
			return starlark.Bool(s.of.UE), nil
		}
	}
	switch s.kind + "." + name {
	case "CNP.received":
		return starlark.Float(s.of.Received), nil
	case "CNP.receiving_rate":
		return starlark.Float(s.of.ReceivingRate), nil
	case "CNM.flows":
		return starlark.Float(s.of.CNMFlows), nil
	case "CNM.rate":
		return starlark.Float(s.of.CNMRate), nil
	}
	if s.kind == "ACK" {
		switch name {
		case "rtt":
			return starlark.Float(s.of.RTT), nil
		case "in_flight":
			return starlark.Float(s.of.InFlight), nil
		case "acked_bytes":
			return starlark.Float(s.of.AckedBytes), nil
		case "path_id":
			return starlark.Float(s.of.PathID), nil
		case "hops":
			hops := &listValue{items: make([]starlark.Value, len(s.hops))}
			for i := range s.hops {
				hops.items[i] = &hopValue{of: s.hops[i]}
			}
			return hops, nil
		}
	}
	for kind, fields := range sampleFields {
		if slices.Contains(fields, name) {
			return nil, fmt.Errorf("%s has no .%s, which belongs to on_%s (it has %s)",
				strings.Replace(article(s), "an C", "a C", 1),
				name, strings.ToLower(kind), strings.Join(s.AttrNames(), ", "))
		}
	}
	return nil, starlark.NoSuchAttrError(fmt.Sprintf("%s has no .%s: it has %s",
		strings.Replace(article(s), "an C", "a C", 1), name, strings.Join(s.AttrNames(), ", ")))
}

// hopValue represents the telemetry of a switch on the packet's path about the port that it left by.
type hopValue struct {
	opaque
	of controllerfile.Hop
}

func (h *hopValue) String() string      { return "hop" }
func (h *hopValue) Type() string        { return "hop" }
func (h *hopValue) AttrNames() []string { return controllerfile.HopFields[:] }

// Attr returns a field.
func (h *hopValue) Attr(name string) (starlark.Value, error) {
	if i := slices.Index(controllerfile.HopFields[:], name); i >= 0 {
		return starlark.Float(h.of.Numbers()[i]), nil
	}
	return nil, starlark.NoSuchAttrError(fmt.Sprintf("a hop has no .%s: it has %s", name,
		strings.Join(controllerfile.HopFields[:], ", ")))
}

// pathNames lists the constants of a flow's path.
const pathNames = "line_rate, base_rtt, mtu, line_mtu"

func pathNamed(name string) bool { return slices.Contains(strings.Split(pathNames, ", "), name) }

// pathConstant returns one of them.
func pathConstant(env *cc.Env, name string) (value any, ok bool) {
	switch name {
	case "line_rate":
		return float64(env.LineRate), true
	case "base_rtt":
		return float64(env.BaseRTT), true
	case "mtu":
		return float64(env.MTU), true
	case "line_mtu":
		return float64(env.LineMTU), true
	}
	return nil, false
}

// shown formats a number for messages.
func shown(v starlark.Value) string {
	if f, ok := v.(starlark.Float); ok {
		if f >= 1e6 && f < 1e18 && f == starlark.Float(math.Trunc(float64(f))) {
			return fmt.Sprintf("%.0f", float64(f))
		}
		return fmt.Sprintf("%g", float64(f))
	}
	return v.String()
}
