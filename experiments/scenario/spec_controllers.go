package scenario

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// defaultController runs if neither the scenario nor the user names a controller.
const defaultController = "dcqcn"

// constants reads the scenario's constants for controllers, by the names of the catalogue. It runs after the flows,
// because the check of a constant may need the round-trip time of a path, that of the first flow.
func (d *decoder) constants(v *yamlspec.Value) {
	d.s.ControllerSettings = map[string]map[string]string{}
	var checks []func()
	v.Mapping().All(func(key, value *yamlspec.Value) {
		spec := d.lookup(key, key.Raw())
		if spec == nil {
			return
		}
		if d.s.ControllerSettings[spec.Name] != nil {
			key.Errorf("controller %q already has constants", spec.Name)
			return
		}
		m := value.Mapping()
		settings := texts(m)
		d.s.ControllerSettings[spec.Name] = settings
		checks = append(checks, func() { d.checkConstants(spec, m, value) })
	})
	// Constants of a base controller may come after those of a controller derived from it.
	for _, check := range checks {
		check()
	}
}

// checkConstants reports wrong constants of a controller, except those of the controller that it is derived from.
func (d *decoder) checkConstants(spec *cc.Spec, m *yamlspec.Mapping, at *yamlspec.Value) {
	resolve := func(spec *cc.Spec) error {
		_, err := d.s.Resolver().Resolve(spec, spec.Constants(d.s.ControllerSettings), d.env(spec.Needs))
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

// texts returns the scalars of a mapping with arbitrary keys.
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

// controllers reads the controllers and variants that a scenario runs. It runs after the constants and the settings of
// switches and hosts, which variants change.
func (d *decoder) controllers(list, sw, host *yamlspec.Value) {
	for _, item := range list.Items() {
		if item.IsMapping() {
			d.variant(item, sw, host)
			continue
		}
		for _, n := range item.Names() {
			spec := d.lookup(n.At, n.Text)
			switch {
			case spec == nil:
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

// variant reads a controller with its own settings.
func (d *decoder) variant(v, sw, host *yamlspec.Value) {
	var variant Variant
	m := variant.keys().Decode(v)
	set, own, ownHost := m.Get("set"), m.Get("switch"), m.Get("host")
	if name := m.Get("name"); variant.Name != "" {
		_, err := d.s.Lookup(variant.Name)
		switch {
		case Reserved(variant.Name):
			name.Errorf("name %q is reserved for a file of results: choose another",
				variant.Name)
		case err == nil:
			name.Errorf("%q is the name of a congestion control: choose another for the variant", variant.Name)
		case strings.EqualFold(variant.Name, AllControllers):
			name.Errorf("--cc %s stands for every congestion control: choose another name for the variant", variant.Name)
		case d.s.variant(variant.Name) != nil:
			name.Errorf("variant %q is listed twice", variant.Name)
		}
	}
	hosts := d.s.Host
	if ownHost != nil {
		hosts = d.hostSettings(ownHost.Over(host))
		variant.Host = &hosts
	}
	// By default, switches apply PFC and ECN to the priority of data.
	if own != nil || hosts.DataPriority != d.s.Host.DataPriority {
		laid := own.Over(sw)
		switches, balancing := d.switchSettings(laid, d.s.dataOf(hosts.DataPriority))
		variant.Switch, variant.Balancing = &switches, &balancing
	}
	constants := set.Mapping()
	variant.Constants = texts(constants)
	if base := m.Get("cc"); base.IsScalar() {
		spec := d.lookup(base, variant.CC)
		if spec == nil {
			return
		}
		variant.CC = spec.Name
		env := d.env(spec.Needs)
		// Mistakes in the scenario's own constants have been reported.
		if _, err := d.s.Resolver().Resolve(spec, d.s.constants(spec, nil), env); err == nil && len(variant.Constants) > 0 {
			if _, err := d.s.Resolver().Resolve(spec, d.s.constants(spec, variant.Constants), env); err != nil {
				d.locateConstants(constants, set, err)
			}
		}
	}
	d.s.Variants = append(d.s.Variants, variant)
	d.ownHosts = append(d.ownHosts, ownHost)
	d.s.Controllers = append(d.s.Controllers, variant.Name)
}

// locateConstants reports the errors of constants, each at the user's key or value of the constant.
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

// env returns the path for which constants are checked: the first flow's, or a typical one if there is none.
func (d *decoder) env(needs cc.SwitchNeeds) cc.Env {
	if d.s.Topology == nil || len(d.s.Flows) == 0 {
		return cc.Env{LineRate: 40 * units.Gbps, BaseRTT: 10 * vtime.Microsecond, MTU: 1000, LineMTU: 1048}
	}
	return Environment(d.s.Topology, &d.s.Flows[0], needs)
}

// lookup returns a congestion control, or reports that it does not exist and returns nil. It reports no second error
// for a file with mistakes.
func (d *decoder) lookup(at *yamlspec.Value, name string) *cc.Spec {
	spec, err := d.s.Lookup(name)
	if err != nil && !slices.Contains(d.unread, strings.TrimSpace(name)) {
		at.Errorf("%v", err)
	}
	return spec
}

// readControllers reads the controller files among some names, relative to the working directory.
func (s *Scenario) readControllers(names []string) error {
	var errs []error
	for _, name := range names {
		if controllerfile.Is(name) {
			s.Recipe.Controllers = append(s.Recipe.Controllers, name)
			errs = append(errs, s.readController(name))
		}
	}
	return errors.Join(errs...)
}

func (s *Scenario) readController(path string) error {
	spec, err := controllerfile.ReadFrom(s.Recipe.sources, path)
	if err == nil {
		s.Catalog, err = s.Catalog.With(spec)
	}
	return err
}

// controllerFiles reads the controller files that the scenario names in these values, relative to its own folder.
func (d *decoder) controllerFiles(places []*yamlspec.Value) {
	for _, at := range places {
		name := strings.TrimSpace(at.Raw())
		if !controllerfile.Is(name) {
			continue
		}
		// --cc or an earlier list may have read the file: then its name is enough.
		if _, err := d.s.Lookup(name); err == nil && controllerfile.Name(name) == name {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(d.dir, name)
		}
		for _, err := range unjoin(d.s.readController(name)) {
			if err != nil {
				at.Errorf("%v", err)
				d.unread = append(d.unread, strings.TrimSpace(at.Raw()))
			}
		}
	}
}

// controllerValues returns the values of a scenario that may name congestion controls.
func controllerValues(list, constants, flows, workloads *yamlspec.Value) (places []*yamlspec.Value) {
	if !list.IsSequence() && !list.IsScalar() {
		list = nil // an error is reported when it is read
	}
	for _, item := range list.Items() {
		if item.IsMapping() {
			if base := item.At("cc"); base.IsScalar() {
				places = append(places, base)
			}
			continue
		}
		if item.IsScalar() {
			places = append(places, item)
		}
	}
	if constants.IsMapping() {
		constants.Mapping().All(func(key, _ *yamlspec.Value) { places = append(places, key) })
	}
	for _, list := range []*yamlspec.Value{flows, workloads} {
		if !list.IsSequence() {
			continue
		}
		for _, item := range list.Items() {
			if item.IsMapping() && item.Has(ownController) && item.At(ownController).IsScalar() {
				places = append(places, item.At(ownController))
			}
		}
	}
	return places
}

// controllerFileNames returns the controllers' names of the files that a scenario and its user name, each also without
// the suffix +win.
func controllerFileNames(root *yamlspec.Value, given []string) (names []string) {
	part := func(key string) *yamlspec.Value {
		if root.Has(key) {
			return root.At(key)
		}
		return nil
	}
	for _, at := range controllerValues(part("controllers"), part("cc"), part("flows"), part("workloads")) {
		given = append(slices.Clip(given), at.Raw())
	}
	for _, name := range given {
		if controllerfile.Is(name) {
			names = append(names, controllerfile.Name(name),
				strings.TrimSuffix(controllerfile.Name(name), controllerfile.WindowEnd))
		}
	}
	return names
}

// hostSettings reads host settings. A CNP interval of auto remains: it depends on the congestion control.
func (d *decoder) hostSettings(v *yamlspec.Value) hostagent.Settings {
	s := settings.DecodeHost(v)
	own := withCNPInterval(s, nil, nil)
	d.locate(v, settings.CheckHost(&own))
	return s
}

// switchSettings reads switch settings. data is the set of the priorities of data.
func (d *decoder) switchSettings(v *yamlspec.Value, data uint8) (switchagent.Settings, topologies.Balancing) {
	s, b := settings.DecodeSwitch(v, data)
	d.locate(v, settings.CheckSwitch(&s, &b))
	d.locate(v, fill.CheckFlowControl(d.s.Topology, &s))
	d.locate(v, fill.CheckThresholds(d.s.Topology, &s))
	d.locate(v, fill.CheckBalancing(d.s.Topology, &b))
	return s, b
}
