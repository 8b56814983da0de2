package cc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/vtime"
)

// registry lists every congestion control, by name in ascending order. Adding one is one file and one line here.
var registry = []*Spec{
	dconSpec,
	dcqcnSpec,
	dcqcnTCDSpec,
	dctcpSpec,
	hpccSpec,
	lstmPIDSpec,
	lstmPIDRTTchSpec,
	noneSpec,
	nsccSpec,
	pcnSpec,
	pidSpec,
	pidRTTchSpec,
	rcccSpec,
	swiftSpec,
	timelySpec,
	timelyTCDSpec,
}

// Spec describes one congestion control: its properties and constants, and how to build it. Specs are read-only.
type Spec struct {
	Name       string      `json:"name"`
	Summary    string      `json:"summary"`
	Source     string      `json:"source"` // source of the algorithm and its constants
	Needs      SwitchNeeds `json:"needs"`
	Departure  Departure   `json:"departure"` // effect of a change of the rate on a scheduled departure
	HasWindow  bool        `json:"window"`    // it limits the bytes in flight; without a window, use NAME+win for that
	Parameters []Parameter `json:"parameters"`
	// Selector names the parameter, a flag or a choice, whose value decides which entries of Parameters apply (see
	// Parameter.When); empty: all apply.
	Selector string `json:"selector,omitempty"`
	// NetworkRTT names the time parameter that is the network's RTT in the parameters after it, for netrtt and netbdp.
	// Empty: the RTT of the fabric's longest path.
	NetworkRTT string `json:"network_rtt,omitempty"`
	// DelayTarget names a parameter: while the queueing delay is below its value, marks slow no flow down. Empty: marks
	// always do.
	DelayTarget string `json:"-"`
	// File describes the file of a congestion control; nil: it is built in.
	File *File `json:"file,omitempty"`
	// EachMark holds the Selector's value under which receivers report every marked packet, like the simulator from
	// which the constants come. Empty: at most one CNP per interval.
	EachMark string `json:"each_mark,omitempty"`
	// New builds the controller of one flow. The settings must come from Resolve for this controller and for an Env
	// that may differ from this one only in its Seed. It is cheap: it looks nothing up and parses nothing.
	New func(Env, Settings) (Controller, error) `json:"-"`

	// Idle returns the parameters that have no effect under some settings, and why; nil: all have an effect.
	Idle func(*Settings) (parameters []string, why string) `json:"-"`

	compile func(Env, *Settings) (any, error)
	build   func(Env, any) (Controller, error) // builds a controller from the result of compile
	base    *Spec                              // see Base
}

// File describes the file of a congestion control.
type File struct {
	Name    string `json:"name"` // name of the file without its folder, equal to that of the congestion control
	SHA256  string `json:"sha256"`
	Content []byte `json:"-"`
	// Warnings describes likely mistakes in the file, each with its position.
	Warnings []string `json:"-"`
}

// SwitchNeeds lists the requirements of a congestion control on switches and receivers.
type SwitchNeeds struct {
	ECN bool `json:"ecn"` // mark packets congestion experienced, according to the switch settings' ECN part
	// ECNStep makes ECN mark every packet above one queue length (the switch settings' step mode) instead of by RED:
	// the algorithm uses the fraction of marks as the fraction of time that the queue was longer.
	ECNStep bool `json:"ecn_step"`
	// ECNInside means that the algorithm cannot use marks of links to hosts, so by default only ports to switches mark.
	ECNInside bool `json:"ecn_inside"`
	// CNP makes receivers report marks to senders by congestion notification packets, like DCQCN's. Without CNP and
	// PCN, they send none: the algorithm uses the ACKs' echo.
	CNP bool `json:"cnp"`
	// ACK means that the algorithm uses the contents of ACKs: RTTs, marks, telemetry, or the room in its window.
	// Without it receivers may answer many packets by one ACK (the scenario's host.coalesce_acks).
	ACK bool `json:"ack"`
	// Timestamps makes data packets carry their departure time, and ACKs return it: the sender computes RTTs from it.
	Timestamps bool `json:"timestamps"`
	// Grants makes senders announce their backlog to receivers, and limits them to the bytes that receivers grant
	// (RCCC). Its controllers are ByGrants, and need neither INT nor Timestamps.
	Grants bool `json:"grants"`

	CNM bool `json:"cnm"` // detect bursts and send congestion notification messages to senders (DCON)
	INT bool `json:"int"` // append in-band telemetry to data packets (HPCC)
	// mark by ternary congestion detection: CE if a queue grows by itself, UE if pauses may be the reason
	TCD bool `json:"tcd"`
	// mark by PCN's rule: no packet that waited through a pause, and otherwise each that leaves a queue behind
	PCN bool `json:"pcn"`
}

// String lists the needs of switches, such as "ECN, CNM"; "-" for none.
func (n SwitchNeeds) String() string {
	var s []string
	for _, need := range []struct {
		on   bool
		name string
	}{
		{n.ECN && !n.ECNStep, "ECN"},
		{n.ECN && n.ECNStep, "ECN step"},
		{n.CNM, "CNM"},
		{n.TCD, "TCD"},
		{n.INT, "INT"},
		{n.PCN, "PCN"},
	} {
		if need.on {
			s = append(s, need.name)
		}
	}
	if s == nil {
		return "-"
	}
	return strings.Join(s, ", ")
}

// define completes s. compile turns resolved settings into the constants P, which all flows of a run share and must not
// change. build makes one flow's controller from them.
func define[P any](s Spec, compile func(Env, *Settings) (*P, error), build func(Env, *P) Controller) *Spec {
	return Define(s, compile, func(env Env, p *P) (Controller, error) { return build(env, p), nil })
}

// Define completes the Spec of a congestion control that is not in the registry. compile turns resolved settings into
// the constants P, which all flows of an Env share and must not change. build makes one flow's controller from them.
// Pass the result to a Catalog.
func Define[P any](s Spec, compile func(Env, *Settings) (*P, error), build func(Env, *P) (Controller, error)) *Spec {
	if s.Parameters == nil {
		s.Parameters = []Parameter{} // [] in JSON, not null
	}
	s.compile = func(env Env, set *Settings) (any, error) { return compile(env, set) }
	s.build = func(env Env, p any) (Controller, error) { return build(env, p.(*P)) }
	return complete(s)
}

// complete adds New, which uses compile and build.
func complete(spec Spec) *Spec {
	spec.New = func(env Env, set Settings) (Controller, error) {
		if set.Controller() != spec.Name {
			return nil, fmt.Errorf("%s: these settings are for another controller", spec.Name)
		}
		if shared(env) != set.env {
			return nil, fmt.Errorf("%s: settings were resolved for %+v, not for %+v: resolve once per distinct Env", spec.Name,
				set.env, env)
		}
		return spec.build(env, set.constants)
	}
	return &spec
}

// shared returns env without the fields that differ between flows.
func shared(env Env) Env {
	env.Seed = 0
	return env
}

// Names returns the names of the registry's congestion controls, in ascending order.
func Names() []string { return Catalog{}.Names() }

// Lookup finds a congestion control of the registry by name, like Catalog.Lookup.
func Lookup(name string) (*Spec, error) { return Catalog{}.Lookup(name) }

// Base returns the controller that this one extends by a suffix (+tcd, +win); nil if it has no suffix.
func (spec *Spec) Base() *Spec { return spec.base }

// Constants returns the constants that apply to the controller, by name in the registry's spelling. Constants of NAME
// also apply to NAME+win and NAME+tcd, unless these have their own.
func (spec *Spec) Constants(given map[string]map[string]string) map[string]string {
	all, taken := map[string]string{}, map[string]bool{}
	for ; spec != nil; spec = spec.Base() {
		for key, text := range given[spec.Name] {
			if !taken[foldName(key)] {
				all[key] = text
			}
		}
		for key := range all {
			taken[foldName(key)] = true
		}
	}
	return all
}

// TellsEachMark reports whether receivers report every marked packet under the given constants by default.
func (spec *Spec) TellsEachMark(given map[string]string) bool {
	if spec.EachMark == "" {
		return false
	}
	p := spec.entry(spec.Selector, "")
	texts, _ := spec.texts(given)
	text, chosen := texts[p.Name]
	if !chosen {
		text = p.Default
	}
	v, err := parse(p, text, Env{})
	return err == nil && spell(p, v) == spec.EachMark
}

// Resolve checks the given constants of the named congestion control, and fills in the others' defaults for env. It
// reports all errors at once, as joined FieldErrors (package schema) with the path "NAME.CONSTANT". Call it once per
// run, or once per distinct Env if paths differ; env.Seed is ignored.
//
// A given min_rate takes precedence over env.MinRate, and that over the algorithm's default. Constants cannot name
// files: use a Resolver for that.
func Resolve(name string, given map[string]string, env Env) (Settings, error) {
	spec, err := Lookup(name)
	if err != nil {
		return Settings{}, err
	}
	return Resolver{}.Resolve(spec, given, env)
}

// Resolve works like the function Resolve, for any controller and with files.
func (r Resolver) Resolve(spec *Spec, given map[string]string, env Env) (Settings, error) {
	if env.LineRate <= 0 || env.BaseRTT < 0 || env.MinRate < 0 || env.MTU <= 0 || env.LineMTU < int64(env.MTU) {
		return Settings{}, fmt.Errorf("%s: invalid environment %+v: expected a line rate, an MTU, and a line MTU no "+
			"smaller than the MTU",
			spec.Name, env)
	}
	s := Settings{spec: spec, env: shared(env)}
	texts, errs := spec.texts(given)

	selected := ""
	var err error
	if spec.Selector != "" {
		p := spec.entry(spec.Selector, "")
		if _, selected, err = s.read(p, texts, s.env, r); err != nil {
			return Settings{}, errors.Join(append(errs, err)...)
		}
	}
	applies, within := map[string]bool{}, s.env
	for i := range spec.Parameters {
		p := &spec.Parameters[i]
		if p.When != "" && p.When != selected {
			continue
		}
		applies[p.Name] = true
		v, text, err := s.read(p, texts, within, r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if p.Name == spec.NetworkRTT {
			within.NetworkRTT = vtime.Time(v.integer)
		}
		s.values = append(s.values, setting{p.Name, p.Kind, v, text})
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !applies[name] {
			errs = append(errs, spec.wrong(name, "has no effect with %s=%s", spec.Selector, selected))
		}
	}
	if len(errs) > 0 {
		return Settings{}, errors.Join(errs...)
	}
	if s.constants, err = spec.compile(s.env, &s); err != nil {
		if field := (*schema.FieldError)(nil); errors.As(err, &field) {
			return Settings{}, spec.wrong(field.Path, "%w", field.Err)
		}
		return Settings{}, fmt.Errorf("%s: %w", spec.Name, err)
	}
	return s, nil
}

// wrong returns an error about a parameter.
func (spec *Spec) wrong(name, format string, args ...any) error {
	return schema.Errorf(spec.Name+"."+name, format, args...)
}

// texts returns the given values under the parameters' own names.
func (spec *Spec) texts(given map[string]string) (map[string]string, []error) {
	texts := map[string]string{}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(given)) {
		name := foldName(key)
		if !slices.ContainsFunc(spec.Parameters, func(p Parameter) bool { return p.Name == name }) {
			errs = append(errs, &schema.FieldError{
				Path: spec.Name + "." + key, Key: true, Err: fmt.Errorf("= %q: no such parameter%s", given[key],
					spec.near(name)),
			})
			continue
		}
		if _, twice := texts[name]; twice {
			errs = append(errs, spec.wrong(name, "duplicate, also given as %q", key))
			continue
		}
		texts[name] = given[key]
	}
	return texts, errs
}

// near suggests parameters whose names are like name.
func (spec *Spec) near(name string) string {
	var names []string
	for i := range spec.Parameters {
		if !slices.Contains(names, spec.Parameters[i].Name) {
			names = append(names, spec.Parameters[i].Name)
		}
	}
	if len(names) == 0 {
		return "; it has none"
	}
	if s := didYouMean(name, names); s != "" {
		return s
	}
	return "; it has " + strings.Join(names, ", ")
}

// entry returns the parameter with that name and selection.
func (spec *Spec) entry(name, when string) *Parameter {
	for i := range spec.Parameters {
		if p := &spec.Parameters[i]; p.Name == name && p.When == when {
			return p
		}
	}
	panic("cc: " + spec.Name + " has no parameter " + name)
}
