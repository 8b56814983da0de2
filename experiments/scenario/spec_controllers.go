package scenario

import (
	"errors"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// defaultController is what runs if neither the scenario nor the user names one.
const defaultController = "dcqcn"

// constants reads the scenario's constants for controllers, under the registry's spelling. It comes after the flows: a
// constant may be given in terms of the path's round-trip time, which is the first flow's here.
func (d *decoder) constants(v *yamlspec.Value) {
	d.s.ControllerSettings = map[string]map[string]string{}
	var checks []func()
	v.Mapping().All(func(key, value *yamlspec.Value) {
		spec, err := cc.Lookup(key.Raw())
		if err != nil {
			key.Errorf("%v", err)
			return
		}
		if d.s.ControllerSettings[spec.Name] != nil {
			key.Errorf("controller %q has constants already", spec.Name)
			return
		}
		m := value.Mapping()
		settings := texts(m)
		d.s.ControllerSettings[spec.Name] = settings
		checks = append(checks, func() { d.checkConstants(spec, m, value) })
	})
	// What a controller has by its base's name may stand below its own.
	for _, check := range checks {
		check()
	}
}

// checkConstants reports what is wrong with a controller's constants, but for what is wrong with one that it is derived
// from.
func (d *decoder) checkConstants(spec *cc.Spec, m *yamlspec.Mapping, at *yamlspec.Value) {
	resolve := func(spec *cc.Spec) error {
		_, err := Resolver.Resolve(spec.Name, spec.Constants(d.s.ControllerSettings), d.env(spec.Needs))
		return err
	}
	err := resolve(spec)
	for b := spec.Base(); b != nil && err != nil; b = b.Base() {
		if d.s.ControllerSettings[b.Name] != nil && resolve(b) != nil {
			return
		}
	}
	if err != nil {
		d.locateConstants(m, at, err)
	}
}

// texts are the scalars of a mapping whose keys are the user's own.
func texts(m *yamlspec.Mapping) map[string]string {
	all := map[string]string{}
	m.All(func(key, value *yamlspec.Value) {
		var text string
		if value.String(&text) {
			all[key.Raw()] = text
		}
	})
	return all
}

// controllers reads the controllers and variants that a scenario runs. It comes after the constants and the settings of
// switches and hosts, which variants change.
func (d *decoder) controllers(list, sw, host *yamlspec.Value) {
	for _, item := range list.Items() {
		if item.IsMapping() {
			d.variant(item, sw, host)
			continue
		}
		for _, n := range item.Names() {
			spec, err := cc.Lookup(n.Text)
			switch {
			case err != nil:
				n.At.Errorf("%v", err)
			case slices.Contains(d.s.Controllers, spec.Name):
				n.At.Errorf("controller %q is listed twice", n.Text)
			default:
				d.s.Controllers = append(d.s.Controllers, spec.Name)
			}
		}
	}
	if len(d.s.Controllers) == 0 {
		d.s.Controllers = []string{defaultController}
	}
}

// variant reads a controller that runs under settings of its own.
func (d *decoder) variant(v, sw, host *yamlspec.Value) {
	m := v.Mapping()
	var variant Variant
	name, base := m.Need("name"), m.Need("cc")
	set, own, ownHost := m.Get("set"), m.Get("switch"), m.Get("host")
	m.Done()
	if name.String(&variant.Name) {
		_, err := cc.Lookup(variant.Name)
		switch {
		case !NamePattern.MatchString(variant.Name):
			name.Errorf("name %q: a variant's name is letters, digits, '.', '_' and '-', since it names a folder", variant.Name)
		case Reserved(variant.Name):
			name.Errorf("name %q is that of a file of results, and a variant's names a folder beside such: give it another", variant.Name)
		case err == nil:
			name.Errorf("%q is a congestion control itself: give the variant a name of its own", variant.Name)
		case strings.EqualFold(variant.Name, AllControllers):
			name.Errorf("--cc %s means every congestion control: give the variant another name", variant.Name)
		case d.s.variant(variant.Name) != nil:
			name.Errorf("variant %q is listed twice", variant.Name)
		}
	}
	if set == nil && own == nil && ownHost == nil {
		v.Errorf("a variant changes something: set (constants of the congestion control), switch or host (their settings)")
	}
	hosts := d.s.Host
	if ownHost != nil {
		laid := ownHost.Over(host)
		hosts = d.hostSettings(laid)
		if !laid.Has("retransmit_timeout") {
			hosts.RetransmitTimeout = d.s.Host.RetransmitTimeout
		}
		variant.Host = &hosts
	}
	// What the switches do by default is on the data's priority.
	if own != nil || hosts.DataPriority != d.s.Host.DataPriority {
		laid := own.Over(sw)
		switches := d.switchSettings(laid, hosts.DataPriority)
		variant.Switch = &switches
	}
	constants := set.Mapping()
	variant.Constants = texts(constants)
	if text := ""; base.String(&text) {
		spec, err := cc.Lookup(text)
		if err != nil {
			base.Errorf("%v", err)
			return
		}
		variant.CC = spec.Name
		env := d.env(spec.Needs)
		// What is wrong with the scenario's own constants has been said.
		if _, err := Resolver.Resolve(spec.Name, d.s.constants(spec, nil), env); err == nil && len(variant.Constants) > 0 {
			if _, err := Resolver.Resolve(spec.Name, d.s.constants(spec, variant.Constants), env); err != nil {
				d.locateConstants(constants, set, err)
			}
		}
	}
	d.s.Variants = append(d.s.Variants, variant)
	d.s.Controllers = append(d.s.Controllers, variant.Name)
}

// locateConstants reports what resolving found wrong, each at the constant that it is about, as the user has spelled it.
func (d *decoder) locateConstants(m *yamlspec.Mapping, at *yamlspec.Value, err error) {
	for _, err := range unjoin(err) {
		place := at
		if field := (*schema.FieldError)(nil); errors.As(err, &field) {
			name := field.Path[strings.LastIndexByte(field.Path, '.')+1:]
			m.All(func(key, value *yamlspec.Value) {
				switch {
				case !cc.SameName(key.Raw(), name):
				case field.Key:
					place = key
				default:
					place = value
				}
			})
		}
		place.Errorf("%v", err)
	}
}

// env is the path that constants are checked for: the first flow's, or a usual one while there is none.
func (d *decoder) env(needs cc.SwitchNeeds) cc.Env {
	if d.s.Topology == nil || len(d.s.Flows) == 0 {
		return cc.Env{LineRate: 40 * units.Gbps, BaseRTT: 10 * vtime.Microsecond, MTU: 1000, LineMTU: 1048}
	}
	return Environment(d.s.Topology, &d.s.Flows[0], needs)
}
