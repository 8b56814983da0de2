package experiments

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/units"
	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// defaultController is what runs if neither the scenario nor the user names one.
const defaultController = "dcqcn"

// controllers reads the controllers a scenario runs and its constants for them, under the registry's spelling. It comes
// after the flows: a constant may be given in terms of the path's round-trip time, which is the first flow's here.
func (d *decoder) controllers(list, constants *yamlspec.Value) {
	for _, n := range list.Names() {
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
	if len(d.s.Controllers) == 0 {
		d.s.Controllers = []string{defaultController}
	}
	d.s.ControllerSettings = map[string]map[string]string{}
	var checks []func()
	constants.Mapping().All(func(key, value *yamlspec.Value) {
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
		settings := map[string]string{}
		m.All(func(name, constant *yamlspec.Value) {
			var text string
			if constant.String(&text) {
				settings[name.Raw()] = text
			}
		})
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
		_, err := cc.Resolve(spec.Name, spec.Constants(d.s.ControllerSettings), d.env(spec.Needs))
		return err
	}
	err := resolve(spec)
	for b := spec.Base(); b != nil && err != nil; b = b.Base() {
		if d.s.ControllerSettings[b.Name] != nil && resolve(b) != nil {
			return
		}
	}
	if err != nil {
		d.locateConstants(spec.Name, m, at, err)
	}
}

// locateConstants reports what cc.Resolve found wrong, at the constant that a message is about. They read
// `dcqcn.g = "2": ...` and `dcqcn has no parameter "gg" ...`.
func (d *decoder) locateConstants(name string, m *yamlspec.Mapping, at *yamlspec.Value, err error) {
	for _, err := range unjoin(err) {
		message := err.Error()
		place := at
		m.All(func(key, value *yamlspec.Value) {
			switch {
			case strings.HasPrefix(message, name+"."+key.Raw()+" "):
				place = value
			case strings.Contains(message, "no parameter "+strconv.Quote(key.Raw())):
				place = key
			}
		})
		place.Errorf("%s", message)
	}
}

// env is the path that constants are checked for: the first flow's, or an ordinary one while there is none.
func (d *decoder) env(needs cc.SwitchNeeds) cc.Env {
	if d.s.Topology == nil || len(d.s.Flows) == 0 {
		return cc.Env{LineRate: 40 * units.Gbps, BaseRTT: 10 * vtime.Microsecond, MTU: 1000, LineMTU: 1048}
	}
	return environment(d.s.Topology, &d.s.Flows[0], needs)
}
