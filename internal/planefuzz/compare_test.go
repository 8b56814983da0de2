package planefuzz_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/switchagent"
)

// mostDifferences bounds a report: the first ones tell.
const mostDifferences = 30

// differ collects what differs between runs on two planes.
type differ struct {
	found []string
	a, b  string // the planes' names
}

func (d *differ) note(where string, a, b any) {
	d.found = append(d.found, fmt.Sprintf("%s: %v on the %s plane, %v on the %s plane", where, a, d.a, b, d.b))
}

// differences returns those between runs on two planes; none if they are equal.
func differences(a, b *run) []string {
	d := &differ{a: a.plane.Name(), b: b.plane.Name()}
	k, w := a.engine, b.engine
	d.any("error", text(a.err), text(b.err))
	d.any("fingerprint", k.Fingerprint(), w.Fingerprint())
	d.any("time", k.Now(), w.Now())
	d.any("open flows", k.OpenFlows(), w.OpenFlows())
	d.any("totals", k.Totals, w.Totals)
	d.any("invariant broken", a.violations, b.violations)
	d.any("PFC frames", a.pauses.sent, b.pauses.sent)
	d.any("losses by faults", k.Lost(), w.Lost())
	d.any("deadlocks", k.Deadlocks(), w.Deadlocks())
	d.any("fault events", a.pauses.events, b.pauses.events)
	for i := range k.Flows() {
		d.any(fmt.Sprintf("flow %d", i), outcome(&k.Flows()[i]), outcome(&w.Flows()[i]))
	}
	plan := k.Plan()
	for i, id := range plan.Interfaces {
		d.any("NIC of "+plan.Ports[id].Name, k.NIC(i).Counters, w.NIC(i).Counters)
	}
	for i, id := range plan.Switch {
		for _, p := range plan.Nodes[id].Ports {
			d.any("traffic manager at "+plan.Ports[p].Name, k.Switch(i).Port(int(p)).Counters, w.Switch(i).Port(int(p)).Counters)
		}
	}
	d.states(k, w)
	return d.found
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// flowOutcome holds the result of a flow.
type flowOutcome struct {
	Started                               bool
	Finished, LastRTT                     int64
	Sent, Acked, Retransmitted, Delivered int64
	Rate                                  float64
}

func outcome(f *engine.Flow) flowOutcome {
	o := flowOutcome{
		Started: f.Started(), Finished: int64(f.Finished), LastRTT: int64(f.LastRTT()), Retransmitted: f.Retransmitted(),
		Delivered: f.Delivered(),
	}
	if f.Sender != nil {
		o.Rate, o.Sent, o.Acked = f.Sender.Rate(), f.Sender.Sent(), f.Sender.Acked()
	}
	return o
}

// states compares every table and register of the pipelines.
func (d *differ) states(k, w *engine.Engine) {
	a, b := tablesOf(k.State()), tablesOf(w.State())
	if len(a) != len(b) {
		d.note("tables", len(a), len(b))
		return
	}
	va, vb := reflect.ValueOf(k.State()).Elem(), reflect.ValueOf(w.State()).Elem()
	for i := range a {
		if !bytes.Equal(a[i].memory, b[i].memory) {
			d.compare(a[i].name, va.FieldByName(a[i].name), vb.FieldByName(a[i].name))
		}
	}
}

func (d *differ) any(where string, a, b any) {
	d.compare(where, reflect.ValueOf(a), reflect.ValueOf(b))
}

// compare notes the smallest parts in which two values of one type differ.
func (d *differ) compare(where string, a, b reflect.Value) {
	if len(d.found) >= mostDifferences {
		return
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			d.compare(where+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			d.note("length of "+where, a.Len(), b.Len())
		}
		for i := range min(a.Len(), b.Len()) {
			d.compare(fmt.Sprintf("%s[%d]", where, i), a.Index(i), b.Index(i))
		}
	default:
		if !a.Equal(b) {
			d.note(where, a, b)
		}
	}
}

// losing names the invariant that a scenario's settings can break: too little headroom, a buffer that is too small, or
// with faults a link that is too long. Credits exclude all of these.
const losing = "nothing is dropped in a lossless class"

// broken returns the broken invariants that no settings excuse.
func broken(r *run) []string {
	invariants := slices.DeleteFunc(slices.Clone(r.violations), func(v string) bool {
		return strings.HasPrefix(v, losing) && r.scenario.Switch.FlowControl != switchagent.FlowCBFC
	})
	for i := range r.engine.Flows() {
		f := &r.engine.Flows()[i]
		acked := int64(0)
		if f.Sender != nil {
			acked = f.Sender.Acked()
		} else if f.Started() {
			acked = f.Size
		}
		if f.Delivered() < acked || f.Size > 0 && f.Delivered() > f.Size {
			invariants = append(invariants, fmt.Sprintf("flow %d of %d bytes: %d delivered, %d acknowledged", i, f.Size,
				f.Delivered(), acked))
		}
	}
	return invariants
}
