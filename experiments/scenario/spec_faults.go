package scenario

import (
	"slices"
	"strings"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

func (f *Fault) keys() keys.Table {
	return slices.Concat(f.positionKeys(), settings.FaultTimes(&f.Occurrence), settings.Fault(&f.Effect))
}

func (f *Fault) positionKeys() keys.Table {
	return keys.Table{
		keys.Matching("name", &f.Name, tagName, "a fault's name may have only letters, digits and _ . + / -").Means(
			"name for `--set faults.NAME.at=2ms`; without it, use the item's index"),
		keys.Names("link").Present("this or `host`").Means(
			"a port, `\"L2:S1\"`, or a list of ports: the link at that port. `node:peer` means all parallel links; " +
				"for a host of several ports also `h0.2`, or `h0.2:leaf1`"),
		keys.Names("host").Present("this or `link`").Means(
			"hosts, `H0..H3`: all of their ports; or one interface of a host of several ports, `h0.2`"),
		keys.Flag("one_way", &f.OneWay).Means(
			"`true` limits `loss`, `corrupt`, `ber`, `delay` or `rate` of a link to frames that leave the " +
				"named port"),
	}
}

func (d *decoder) faults(v *yamlspec.Value) {
	for _, item := range v.Mappings("a fault must be a mapping such as {at: 1ms, for: 2ms, link: \"L2:S1\", down: true}") {
		d.fault(item)
	}
	if len(d.s.Faults) > settings.MostFaults {
		v.Errorf("more than %d faults in the scenario", settings.MostFaults)
	}
}

// fault reads one entry of faults.
func (d *decoder) fault(v *yamlspec.Value) {
	m := v.Mapping()
	f := Fault{Effect: settings.NewEffect("")}
	f.positionKeys().Read(m)
	d.occurrence(m, &f)
	link, host := m.Get("link"), m.Get("host")
	switch {
	case link != nil && host != nil:
		m.Key("host").Errorf("a fault has link or host, not both: remove one")
	case link == nil && host == nil:
		v.Errorf("a fault needs link (link: \"L2:S1\") or host (host: H0)")
	}
	for _, item := range link.Items() {
		f.Ports = append(f.Ports, d.ports(item)...)
	}
	for _, n := range host.Names() {
		if d.nodes != nil {
			f.NICs = append(f.NICs, d.faultyNICs(n)...)
		}
	}
	d.faultKind(v, m, &f, link != nil)
	if one := m.Get("one_way"); f.OneWay && (link == nil || f.Kind == settings.FaultDown) {
		one.Errorf("one_way applies to loss, corrupt, ber, delay and rate of a link only: a link goes down " +
			"in both directions")
	}
	m.Done()
	if m.Sound() {
		d.checkOverlap(v, &f)
		d.s.Faults = append(d.s.Faults, f)
	}
}

// occurrence reads when a fault occurs, how often, and when it ends.
func (d *decoder) occurrence(m *yamlspec.Mapping, f *Fault) {
	settings.FaultTimes(&f.Occurrence).Read(m)
	every, times := m.Get("every"), m.Get("times")
	switch {
	case every == nil && times != nil:
		m.Key("times").Errorf("times needs the time between occurrences, such as every: 5ms")
	case every != nil && f.For == 0:
		m.Key("every").Errorf("a repeated fault must end before it occurs again: add for")
	case every != nil && f.Every > 0 && f.For >= f.Every:
		m.Key("every").Errorf("every %v must be longer than for, %v", f.Every, f.For)
	case every != nil && f.Every > 0 && f.Times == 0 && d.s.Duration/f.Every > settings.MostFaults:
		every.Errorf("every %v gives more than %d occurrences: raise it or set times", f.Every, settings.MostFaults)
	}
}

// faultyNICs returns the ports that a name of a host or interface stands for.
func (d *decoder) faultyNICs(name yamlspec.Name) []topologies.PortID {
	if id, known := d.nodes[name.Text]; known && d.s.Topology.Nodes[id].Kind != topologies.Host {
		name.At.Errorf("%s is a switch, but receiver and pause are faults of hosts' NICs: name a host", name.Text)
		return nil
	}
	e, ok := d.end(name.Text, name.At)
	if !ok {
		return nil
	}
	ports := d.s.Topology.Nodes[e.host].Ports
	if e.named {
		return ports[e.place : e.place+1]
	}
	return ports
}

// faultKind reads the kind of a fault, the settings that go with it, and reports keys of other kinds.
func (d *decoder) faultKind(v *yamlspec.Value, m *yamlspec.Mapping, f *Fault, ofLink bool) {
	var kinds []string
	for i := range settings.Faults {
		k := &settings.Faults[i]
		given := m.Get(string(k.Kind)) != nil
		switch key := m.Key(string(k.Kind)); {
		case k.OfHost == ofLink:
			if given {
				key.Errorf("%s is a fault of a %s", k.Kind, map[bool]string{true: "host", false: "link"}[k.OfHost])
			}
			continue
		case given && f.Kind != "":
			key.Errorf("%s and %s are two faults: write an entry for each", k.Kind, f.Kind)
		case given:
			f.Kind = k.Kind
		}
		kinds = append(kinds, string(k.Kind))
	}
	if f.Kind == "" {
		v.Errorf("a fault needs one of %s", strings.Join(kinds, ", "))
	}
	table := settings.Fault(&f.Effect)
	for i := range settings.Faults {
		for _, key := range settings.Faults[i].Beside {
			if value := m.Get(key); f.Kind == settings.Faults[i].Kind {
				table.Find(key).Read(value)
			} else if value != nil && f.Kind != "" {
				m.Key(key).Errorf("%s applies only to %s", key, settings.Faults[i].Who)
			}
		}
	}
	value := m.Get(string(f.Kind))
	switch f.Kind {
	case settings.FaultReceiver:
		d.slowReceiver(value, f)
		return
	case "":
		return
	}
	table.Find(string(f.Kind)).Read(value)
	switch {
	case f.Kind == settings.FaultDown && f.Up && f.For > 0:
		m.Key("for").Errorf("for has no effect on a link that comes up: set at and for where it goes down")
	case f.Kind == settings.FaultPause && f.Priorities == 0:
		value.Errorf("pause needs priorities, such as [3]")
	case f.Kind == settings.FaultPause && d.s.Switch.FlowControl == switchagent.FlowCBFC:
		m.Key("pause").Errorf("pause has no effect under flow_control cbfc, which has no PAUSE: remove the fault")
	}
}

// slowReceiver reads the settings of a slow receiver.
func (d *decoder) slowReceiver(v *yamlspec.Value, f *Fault) {
	f.Receiver = hostagent.NewSlowReceiver()
	before := v.Report().Count()
	settings.Fault(&f.Effect).Within(string(settings.FaultReceiver)).Decode(v)
	if v.IsMapping() && !v.Has("rate") {
		v.Errorf("missing key %q", "rate")
	}
	if f.Receiver.Complete(); v.Report().Count() == before {
		d.locateIn(v, string(settings.FaultReceiver), settings.CheckReceiver(&f.Receiver))
	}
}
