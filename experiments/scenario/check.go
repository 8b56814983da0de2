package scenario

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// Check finds every mistake that shows only once a scenario meets its controllers and its seeds: what a run, a sweep
// and validate refuse is what Check refuses, and nothing else of a scenario that could be read. Without seeds it is the
// scenario's own.
func Check(s *Scenario, controllers []string, seeds ...uint64) error {
	if len(seeds) == 0 {
		seeds = []uint64{s.Seed}
	}
	var errs []error
	said := map[string]bool{} // what is wrong under one seed mostly is under all
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

// Fits says what of a scenario does not go with a congestion control, in a run as in a live fabric.
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

// WhyFits says what of a scenario runs cannot tell the time of (--why); nil: nothing.
func (s *Scenario) WhyFits() error {
	return s.simple(fmt.Sprintf("scenario %s: --why", s.Name), func(own *Own) bool { return own.Priority > 0 })
}

// BoundFits says what of a scenario a bound cannot be given for; nil: nothing.
func (s *Scenario) BoundFits() error {
	if s.Topology.Balancing.Moving {
		return fmt.Errorf("scenario %s: a bound is of flows that keep their paths, and packets take several with switch.load_balancing.mode %v and host.entropy %v: "+
			"--set switch.load_balancing.mode=ecmp and host.entropy=flow have the bound of ECMP's paths", s.Name, s.Switch.Balancing.Mode, s.Host.Entropy)
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
		return fmt.Errorf("scenario %s: a bound is of flows that send all they have as soon as links let them, and flow %d (%s) has %s: leave one of the two out",
			s.Name, i, s.Flows[i].Tag, key)
	}
	return nil
}

// LiveFits says what of a flow a live fabric cannot have; nil: nothing.
func (f *Flow) LiveFits() error {
	own := f.own()
	if what := own.special(); what != "" {
		return fmt.Errorf("a flow with %s (%s): a live fabric's flows have none of their own; leave it out", what, f.Tag)
	}
	if own.Priority > 0 {
		return fmt.Errorf("a flow of priority %d (%s): a live fabric's flows have host.data_priority; leave priority out",
			own.Priority-1, f.Tag)
	}
	return nil
}

// simple says which flow is more than one QP that sends what it has, or else is refused.
func (s *Scenario) simple(what string, refused func(*Own) bool) error {
	for i := range s.Flows {
		own := s.Flows[i].own()
		key := own.special()
		if key == "" && refused(&own) {
			key = "priority"
		}
		if key != "" {
			return fmt.Errorf("%s is for flows of one QP that send in host.data_priority what they have, and flow %d (%s) has %s: leave one of the two out",
				what, i, s.Flows[i].Tag, key)
		}
	}
	return nil
}

// special is a key by which a flow is more than one QP that sends what it has; "" if it is not.
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

// telemetryFits refuses a topology with a link that the telemetry of the controller cannot speak of.
func telemetryFits(plan *topologies.Plan, spec *cc.Spec) error {
	if !spec.Needs.INT {
		return nil
	}
	for i := range plan.Ports {
		p := &plan.Ports[i]
		if _, ok := wire.INTRateCode(p.Rate); !ok && plan.Nodes[p.Node].Kind == topologies.Switch {
			return fmt.Errorf("%s %s: %s is a link of %v", spec.Name, telemetryCodes, PortLabel(plan, p.ID), p.Rate)
		}
	}
	return nil
}

// balancingFits refuses load balancing by the packet under a controller whose switches or hosts know a flow by its
// path.
func balancingFits(s *Scenario, spec *cc.Spec) error {
	entropy := s.Host.Entropy != hostagent.EntropyFlow
	if entropy && s.Topology.Hash == topologies.HashHPCC {
		return errors.New("host.entropy has packets with other source ports than those of HPCC's simulator, and routing.hash is hpcc: leave one of them out")
	}
	if s.Host.IP == wire.V6 && s.Topology.Hash == topologies.HashHPCC {
		return errors.New("routing.hash: hpcc hashes a port that packets carry as their IPv4 identification, which those of host.ip: ipv6 have not: leave one of them out")
	}
	if !entropy && !s.Switch.Balancing.ByPacket() {
		return nil
	}
	const packets = "and each packet may take another, by switch.load_balancing or host.entropy: take flowlets, or another congestion control"
	switch {
	case spec.Needs.INT:
		return fmt.Errorf("%s compares the telemetry of a packet with that of the one before on the same path, %s", spec.Name,
			packets)
	case spec.Needs.CNM:
		return fmt.Errorf("%s has switches know the one queue that a flow's packets are in, %s", spec.Name, packets)
	}
	return nil
}

const telemetryCodes = "reads links' rates from in-band telemetry, which has codes for Ethernet's only (" +
	wire.INTRates + ")"

// trimFits refuses trimming where there is nothing that it may cut, or no lossy priority for what is left.
func trimFits(s *Scenario) error {
	lossless := s.Switch.Lossless()
	switch {
	case !s.Switch.Trim:
		return nil
	case s.DataPriorities()&^lossless == 0:
		return fmt.Errorf("switch.trim has no effect: it cuts lossy data that finds no room, and data has priority %d, which is lossless: "+
			"take that out of the lossless priorities (switch.pfc.priorities: [])", s.Host.DataPriority)
	case lossless>>s.Host.ControlPriority&1 != 0:
		return fmt.Errorf("switch.trim: trimmed packets go on in host.control_priority, %d, which is lossless: another control_priority, or take that out of the "+
			"lossless priorities", s.Host.ControlPriority)
	}
	return nil
}

// faultsFit refuses what the faults would do that the controller, or the variant's switches, cannot have.
func faultsFit(s *Scenario, spec *cc.Spec) error {
	for i := range s.Faults {
		f := &s.Faults[i]
		if _, ok := wire.INTRateCode(f.Rate); f.Kind == settings.FaultRate && spec.Needs.INT && !ok {
			return fmt.Errorf("%s %s: a fault changes a link to %v", spec.Name, telemetryCodes, f.Rate)
		}
		if f.Kind == settings.FaultPause && s.Switch.FlowControl == switchagent.FlowCBFC {
			return errors.New("a fault has a host send PAUSE: there is none under flow_control cbfc")
		}
	}
	return nil
}
