package scenario

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// Check reports every mistake that shows only under a scenario's controllers and seeds. Runs, sweeps and validate
// reject exactly the scenarios that Load or Check rejects. Without seeds, Check uses the scenario's own.
func Check(s *Scenario, controllers []string, seeds ...uint64) error {
	if len(seeds) == 0 {
		seeds = []uint64{s.Seed}
	}
	var errs []error
	said := map[string]bool{} // an error under one seed usually occurs under all
	for _, seed := range seeds {
		seeded, err := s.WithSeed(seed)
		if err != nil {
			errs = append(errs, fmt.Errorf("scenario %s with seed %d: %w", s.Name, seed, err))
			continue
		}
		for _, name := range controllers {
			if _, err := NewSetup(seeded, name, seed); err != nil && !said[err.Error()] {
				said[err.Error()] = true
				errs = append(errs, fmt.Errorf("scenario %s: %w", s.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Fits reports settings of a scenario that do not work with a congestion control, in a run or a live fabric.
func Fits(s *Scenario, spec *cc.Spec) error {
	if err := errors.Join(telemetryFits(s.Topology, spec), faultsFit(s, spec), trimFits(s),
		balancingFits(s, spec)); err != nil {
		return err
	}
	if err := HostSettings(s, spec.Needs).Validate(); err != nil {
		return fmt.Errorf("%s: host: %w", spec.Name, err)
	}
	return nil
}

// WhyFits returns an error if --why cannot explain the scenario's flows.
func (s *Scenario) WhyFits() error {
	return s.simple(fmt.Sprintf("scenario %s: --why", s.Name), func(own *Own) bool { return own.Priority > 0 })
}

// BoundFits returns an error if no bound can be computed for the scenario.
func (s *Scenario) BoundFits() error {
	if s.Topology.Moving() {
		return fmt.Errorf("scenario %s: a bound needs flows that keep their paths, but switch.load_balancing.mode %v and "+
			"host.entropy %v spread a flow's packets over several; for the bound of ECMP's paths add --set "+
			"switch.load_balancing.mode=ecmp --set host.entropy=flow", s.Name, s.Topology.Balancing.Mode, s.Host.Entropy)
	}
	for i := range s.Flows {
		own, key := s.Flows[i].own(), ""
		switch {
		case own.Stop > 0:
			key = "stop"
		case own.Off > 0:
			key = "on_off"
		default:
			continue
		}
		return fmt.Errorf("scenario %s: a bound needs flows that send as fast as links allow, but flow %d (%s) has %s: "+
			"remove that, or compute no bound",
			s.Name, i, s.Flows[i].Tag, key)
	}
	return nil
}

// LiveFits returns an error if a live fabric does not support a setting of the flow.
func (f *Flow) LiveFits() error {
	own := f.own()
	if what := own.special(); what != "" {
		return fmt.Errorf("a flow with %s (%s) is not supported in a live fabric: remove that setting", what, f.Tag)
	}
	if own.Priority > 0 {
		return fmt.Errorf("a flow of priority %d (%s) is not supported in a live fabric, whose flows use "+
			"host.data_priority: remove priority",
			own.Priority-1, f.Tag)
	}
	return nil
}

// simple returns an error that names the first flow of several QPs, or with a setting that delays its data or that
// refused reports.
func (s *Scenario) simple(what string, refused func(*Own) bool) error {
	for i := range s.Flows {
		own := s.Flows[i].own()
		key := own.special()
		if key == "" && refused(&own) {
			key = "priority"
		}
		if key != "" {
			return fmt.Errorf("%s needs flows of one QP that send without a break in host.data_priority, but flow %d "+
				"(%s) has %s: remove one of the two",
				what, i, s.Flows[i].Tag, key)
		}
	}
	return nil
}

// special returns the flow's key that --why and bounds do not support: qps, stop, on_off or weight; "" if it has none.
func (o *Own) special() string {
	switch {
	case o.QPs.Count > 1:
		return "qps"
	case o.Stop > 0:
		return "stop"
	case o.Off > 0:
		return "on_off"
	case o.Weight > 0:
		return "weight"
	}
	return ""
}

// telemetryFits rejects a topology with a link rate that the controller's telemetry cannot encode.
func telemetryFits(plan *topologies.Plan, spec *cc.Spec) error {
	if !spec.Needs.INT {
		return nil
	}
	for i := range plan.Ports {
		p := &plan.Ports[i]
		if _, ok := wire.INTRateCode(p.Rate); !ok && plan.Nodes[p.Node].Kind == topologies.Switch {
			return fmt.Errorf("%s %s, but %s is a link of %v", spec.Name, telemetryCodes, PortLabel(plan, p.ID), p.Rate)
		}
	}
	return nil
}

// balancingFits rejects load balancing by packet under a controller whose switches or hosts assume one path for each
// flow.
func balancingFits(s *Scenario, spec *cc.Spec) error {
	entropy := s.Host.Spreads()
	if entropy && s.Topology.Hash == topologies.HashHPCC {
		return errors.New("host.entropy changes source ports, but routing.hash: hpcc needs those of HPCC's simulator: " +
			"remove one of the two")
	}
	if s.Host.IP == wire.V6 && s.Topology.Hash == topologies.HashHPCC {
		return errors.New("routing.hash: hpcc hashes a port that packets carry as IPv4 identification, which host.ip: " +
			"ipv6 does not have: remove one of the two")
	}
	if !entropy && !s.Topology.Balancing.ByPacket() {
		return nil
	}
	const packets = "but switch.load_balancing or host.entropy sends packets over several paths: use flowlets or " +
		"another congestion control"
	switch {
	case spec.Needs.INT:
		return fmt.Errorf("%s compares the telemetry of consecutive packets on one path, %s", spec.Name,
			packets)
	case spec.Needs.CNM:
		return fmt.Errorf("%s needs all packets of a flow in one queue of each switch, %s", spec.Name, packets)
	}
	return nil
}

const telemetryCodes = "reads link rates from in-band telemetry, which has codes for Ethernet rates only (" +
	wire.INTRates + ")"

// trimFits rejects trimming if no data is lossy, or if trimmed packets have no lossy priority.
func trimFits(s *Scenario) error {
	lossless := s.Switch.Lossless()
	switch {
	case !s.Switch.Trim:
		return nil
	case s.DataPriorities()&^lossless == 0:
		return fmt.Errorf("switch.trim has no effect: it cuts lossy data, but data has priority %d, which is lossless: "+
			"remove it from the lossless priorities (switch.pfc.priorities: [])", s.Host.DataPriority)
	case lossless>>s.Host.ControlPriority&1 != 0:
		return fmt.Errorf("switch.trim: trimmed packets use host.control_priority, %d, which is lossless: "+
			"change host.control_priority, or remove it from the lossless priorities", s.Host.ControlPriority)
	}
	return nil
}

// faultsFit rejects faults that the controller or the variant's switches do not support.
func faultsFit(s *Scenario, spec *cc.Spec) error {
	for i := range s.Faults {
		f := &s.Faults[i]
		if _, ok := wire.INTRateCode(f.Rate); f.Kind == settings.FaultRate && spec.Needs.INT && !ok {
			return fmt.Errorf("%s %s, but a fault changes a link to %v", spec.Name, telemetryCodes, f.Rate)
		}
		if f.Kind == settings.FaultPause && s.Switch.FlowControl == switchagent.FlowCBFC {
			return errors.New("a fault makes a host send PAUSE, which does not exist under flow_control cbfc: remove the fault")
		}
	}
	return nil
}
