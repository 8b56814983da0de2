package scenario

import (
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
)

// withCNPInterval are host settings with the CNP interval of a congestion control under the given constants, if they leave it to it.
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

// hostSettings reads host settings.
func (d *decoder) hostSettings(v *yamlspec.Value) hostagent.Settings {
	s := settings.DecodeHost(v)
	own := withCNPInterval(s, nil, nil)
	d.locate(v, settings.CheckHost(&own))
	return s
}

// switchSettings reads switch settings, where data has these priorities.
func (d *decoder) switchSettings(v *yamlspec.Value, data uint8) switchagent.Settings {
	s := settings.DecodeSwitch(v, data)
	d.locate(v, settings.CheckSwitch(&s))
	d.locate(v, fill.CheckFlowControl(d.s.Topology, &s))
	d.locate(v, fill.CheckThresholds(d.s.Topology, &s))
	d.locate(v, paths.CheckBalancing(d.s.Topology, &s))
	return s
}
