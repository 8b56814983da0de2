package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// AllControllers names every congestion control of the registry.
const AllControllers = "all"

// Variant describes a congestion control with settings of its own, which a scenario runs beside other controllers.
type Variant struct {
	Name string // of its run; differs from all names in the registry
	CC   string // name of the congestion control
	// Constants holds its own constants, by parameter name; they override the scenario's for the congestion control.
	Constants map[string]string
	// Switch and Balancing hold the switch settings of its run; nil: the scenario's.
	Switch    *switchagent.Settings
	Balancing *topologies.Balancing
	// Host holds the host settings of its run; nil: the scenario's.
	Host *hostagent.Settings
}

// variant returns the scenario's variant of that name, or nil.
func (s *Scenario) variant(name string) *Variant {
	return lists.Find(s.Variants, func(v *Variant) bool { return strings.EqualFold(v.Name, name) })
}

// ControllerNames returns the names of the runs for a user's list of controllers: names of variants and of the
// registry, in any case, or AllControllers.
func (s *Scenario) ControllerNames(given []string) ([]string, error) {
	var names []string
	for _, g := range given {
		g = strings.TrimSpace(g)
		some := []string{g}
		if strings.EqualFold(g, AllControllers) {
			some = cc.Names()
		}
		for _, name := range some {
			name, _, err := s.Controller(name)
			if err != nil {
				return nil, err
			}
			if slices.Contains(names, name) {
				return nil, fmt.Errorf("congestion control %s is listed twice", name)
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// Controller returns the run's name and the congestion control for a name in this scenario.
func (s *Scenario) Controller(name string) (string, *cc.Spec, error) {
	if v := s.variant(name); v != nil {
		spec, err := s.Lookup(v.CC)
		return v.Name, spec, err
	}
	spec, err := s.Lookup(name)
	if err == nil {
		return spec.Name, spec, nil
	}
	for _, extension := range []string{".star", ".wasm"} {
		if filepath.Ext(name) == "" && IsFile(name+extension) {
			return "", nil, fmt.Errorf("unknown congestion controller %q: did you mean the file, %s?", name,
				asPath(name+extension))
		}
	}
	variants := lists.Map(s.Variants, func(v Variant) string { return v.Name })
	if near := spelling.Nearest(name, variants); near != "" {
		return "", nil, fmt.Errorf("unknown congestion controller %q: did you mean %s's variant %q?", name, s.Name, near)
	}
	if variants != nil {
		return "", nil, fmt.Errorf("%w; %s has the variants %s", err, s.Name, strings.Join(variants, ", "))
	}
	return "", nil, err
}

// Under returns the scenario with the settings of the named controller or variant, the run's name, and the congestion
// control.
func (s *Scenario) Under(name string) (*Scenario, string, *cc.Spec, error) {
	name, spec, err := s.Controller(name)
	if err != nil {
		return nil, "", nil, err
	}
	own := *s
	if v := s.variant(name); v != nil {
		own.ControllerSettings = maps.Clone(s.ControllerSettings)
		own.ControllerSettings[spec.Name] = s.constants(spec, v.Constants)
		if v.Switch != nil {
			own.Switch = *v.Switch
		}
		if v.Host != nil {
			own.Host = *v.Host
		}
		own.Topology = s.Topology.WithBalancing(*cmp.Or(v.Balancing, &s.Topology.Balancing)).
			WithHosts(own.Host.IP, own.Host.Spreads())
	}
	own.CNPAuto = own.Host.CNPInterval == settings.CNPAuto
	own.Host = withCNPInterval(own.Host, spec, spec.Constants(own.ControllerSettings))
	return &own, name, spec, nil
}

// constants returns the scenario's constants for a congestion control, overridden by a variant's.
func (s *Scenario) constants(spec *cc.Spec, own map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, spec.Constants(s.ControllerSettings))
	maps.Copy(all, own)
	return all
}

// Describe returns a variant in one line: "dcqcn with g = 1/16; own switch settings".
func (v *Variant) Describe() string {
	constants := make([]string, 0, len(v.Constants))
	for _, key := range slices.Sorted(maps.Keys(v.Constants)) {
		constants = append(constants, key+" = "+v.Constants[key])
	}
	text := v.CC
	if len(constants) > 0 {
		text += " with " + strings.Join(constants, ", ")
	}
	if v.Switch != nil {
		text += "; own switch settings"
	}
	if v.Host != nil {
		text += "; own host settings"
	}
	return text
}

// Lookup returns a congestion control by its name or its file's path.
func (s *Scenario) Lookup(name string) (*cc.Spec, error) {
	if controllerfile.Is(name) {
		name = controllerfile.Name(name)
	}
	return s.Catalog.Lookup(name)
}

// withCNPInterval returns host settings in which a CNP interval of auto is replaced by the one that a congestion
// control needs under the given constants.
func withCNPInterval(s hostagent.Settings, spec *cc.Spec, constants map[string]string) hostagent.Settings {
	switch {
	case s.CNPInterval != settings.CNPAuto:
	case spec != nil && spec.TellsEachMark(constants):
		s.CNPInterval = 0
	default:
		s.CNPInterval = hostagent.Default().CNPInterval
	}
	return s
}
