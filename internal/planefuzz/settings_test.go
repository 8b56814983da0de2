package planefuzz_test

import (
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/traffic/collective"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// drawCase returns a case on a fabric. Its thresholds are small, so that a short run reaches them.
func drawCase(d chooser, f fabric) *testCase {
	c := &testCase{
		Fabric: f, Switch: switchagent.Default(), Balancing: topologies.DefaultBalancing(), Host: drawHost(d),
		Controller: pick(d, "controller", cc.Names()...),
		Duration:   d.time("duration", 50*vtime.Microsecond, vtime.Millisecond),
		Seed:       uint64(d.Int("seed", 1, 1<<30)),
		Hops:       int64(d.scale("hops", 1000, 20_000)),
		Finish:     d.chance("finish", 60),
		Tap:        d.chance("tap", 2),
		Wazero:     d.chance("wazero", 20),
	}
	c.drawPFC(d)
	c.drawCredits(d)
	c.drawRecovery(d)
	c.drawMarking(d)
	if d.chance("dwrr", 40) {
		for _, p := range []uint8{c.Host.DataPriority, c.Host.ControlPriority, 7} {
			if !d.chance("strict", 25) {
				c.Switch.Scheduler.Quantum[p] = d.size("dwrr quantum", 10, 20*units.KB)
			}
		}
	}
	if spec, err := cc.Lookup(c.Controller); err == nil && spec.Needs.PCN {
		c.Host.CNPInterval = max(c.Host.CNPInterval, 2*vtime.Microsecond) // reports without a period are refused
	}
	c.drawFlows(d)
	c.drawConstants(d)
	c.drawWatchdog(d)
	c.drawFaults(d)
	c.drawPerRate(d)
	c.drawOthers(d)
	weighted := slices.ContainsFunc(c.Fabric.Trunks, func(l trunk) bool { return l.Weight > 1 })
	singlePort := !slices.ContainsFunc(c.Fabric.Hosts, func(h hostLink) bool { return len(h.More) > 0 })
	if d.chance("hash of HPCC's simulator", 25) && singlePort && !weighted && c.Host.IP == wire.V4 {
		c.Hash = topologies.HashHPCC
	} else {
		c.drawBalancing(d)
	}
	if c.waitsForEver() {
		c.Host.RetransmitTimeout = d.time("retransmission timeout", 10*vtime.Microsecond, 500*vtime.Microsecond)
	}
	c.balance()
	c.drawOwn(d)
	c.drawJob(d)
	c.balance()
	if !c.runnable() { // a job's flow has a longer path than the constants allow
		c.Job = job{}
	}
	return c
}

// drawJob draws flows that wait for each other.
func (c *testCase) drawJob(d chooser) {
	if !d.chance("job", 25) || c.Hash == topologies.HashHPCC {
		return
	}
	ranks := d.Int("ranks", 2, len(c.Fabric.Hosts))
	j := job{
		Ranks: ranks, Iterations: d.Int("iterations", 1, 3),
		Compute: d.time("compute", vtime.Picosecond, 20*vtime.Microsecond),
		Jitter:  d.time("jitter of a compute", vtime.Picosecond, 5*vtime.Microsecond), Overlap: d.chance("overlap", 40),
		Barrier: d.chance("barrier", 40), Pair: d.chance("collective of a pair", 30),
		Placement: pick(d, "placement", "given", "packed", "across-racks", "random"),
		QPs:       pick(d, "QPs of a connection", 1, 1, 1, 2),
		Collective: collective.Spec{
			Kind: pick(d, "collective", collective.Kinds...), Algorithm: pick(d, "algorithm", collective.Algorithms...),
			Size: int64(d.size("size of a collective", 1000, 300*units.KB)), Chunks: pick(d, "chunks", 1, 1, 2, 3), Group: 2,
		},
	}
	if j.fits() {
		c.Job = j
	}
}

// waitsForEver reports whether load balancing lets packets overtake each other, which go-back-N refuses, and no timer
// retransmits them.
func (c *testCase) waitsForEver() bool {
	return c.Host.RetransmitTimeout == 0 && c.Host.Recovery == hostagent.GoBackN &&
		(!c.Balancing.KeepsPath() || c.Host.Spreads())
}

// balance leaves load balancing out that the congestion controls do not go with.
func (c *testCase) balance() {
	if !c.balances() {
		c.Balancing, c.Host.Entropy = topologies.DefaultBalancing(), hostagent.EntropyFlow
	}
}

// balances reports whether the congestion controls of the flows support the load balancing.
func (c *testCase) balances() bool {
	s, err := c.scenario()
	if err != nil {
		panic(err)
	}
	_, err = scenario.NewSetup(s, s.Controllers[0], s.Seed)
	return err == nil
}

// drawBalancing draws how switches choose among equal-cost ports.
func (c *testCase) drawBalancing(d chooser) {
	b := &c.Balancing
	if !d.chance("load balancing", 50) {
		return
	}
	b.Mode = topologies.BalancingMode(d.Int("mode", 0, len(topologies.BalancingModes)-1))
	b.Fields = topologies.HashFields(d.Int("fields", 0, len(topologies.HashFieldsNames)-1))
	if d.chance("one seed", 50) {
		b.Seed = d.Int("seed of the hash", 0, 1<<32-1)
	}
	b.Gap = d.time("gap", vtime.Nanosecond, 50*vtime.Microsecond)
	b.RoundRobin, b.ByFlowlet = d.chance("in turn", 50), d.chance("by flowlet", 50)
}

func drawHost(d chooser) hostagent.Settings {
	h := hostagent.Default()
	if d.chance("other priorities", 30) {
		h.DataPriority, h.ControlPriority = uint8(d.Int("data priority", 0, 7)), uint8(d.Int("control priority", 0, 7))
	}
	h.ACKsWithData, h.ACKsWhenPaused = d.chance("ACKs with the data", 30), d.chance("ACKs when paused", 30)
	h.AckEvery = pick(d, "ack every", 1, 1, 1, 2, 5, 16, 64)
	h.CNPInterval = pick[vtime.Time](d, "cnp interval", 50, 10, 2, 0) * vtime.Microsecond
	h.NakInterval = pick[vtime.Time](d, "nak interval", 500, 50, 5, 0) * vtime.Microsecond
	if d.chance("timeout", 60) {
		h.RetransmitTimeout = d.time("retransmission timeout", 10*vtime.Microsecond, 500*vtime.Microsecond)
	}
	return h
}

// drawPFC draws what decides between pausing and dropping.
func (c *testCase) drawPFC(d chooser) {
	s, p := &c.Switch, &c.Switch.PFC
	p.Priorities = 1 << c.Host.DataPriority
	mtu := units.Bytes(c.Fabric.MTU)
	if d.chance("lossy", 20) {
		p.Priorities = 0
	} else if d.chance("more lossless priorities", 15) {
		p.Priorities |= uint8(d.Int("lossless", 0, 255))
	}
	if d.chance("small lossy queues", 50) {
		s.LossyLimit = d.size("lossy limit", mtu, 50*units.KB+mtu)
	}
	if p.Priorities == 0 && c.Host.RetransmitTimeout == 0 && !d.chance("no timeout", 15) {
		c.Host.RetransmitTimeout = d.time("retransmission timeout", 10*vtime.Microsecond, 200*vtime.Microsecond)
	}
	p.XOFF = d.size("xoff", mtu, 100*units.KB)
	p.XOFFToXON = d.size("xoff to xon", 0, p.XOFF)
	p.XON = max(0, p.XOFF-1-d.size("below xoff", 0, p.XOFF))
	p.Headroom = c.Fabric.roundTrip()
	if d.chance("small headroom", 12) {
		p.Headroom = d.size("headroom", 0, p.Headroom)
	}
	p.Quanta = pick[uint16](d, "quanta", 0xFFFF, 0xFFFF, 0)
	if p.Quanta == 0 {
		p.Quanta = uint16(d.scale("small quanta", 1, 2000))
	}
	s.Buffer = pick(d, "buffer", 22*units.MB, 22*units.MB, 0)
	if s.Buffer == 0 {
		s.Buffer = d.size("small buffer", 2*units.KB, 2*units.MB)
	}
	if d.chance("dynamic threshold", 35) {
		p.Alpha = pick(d, "alpha", 1.0, 0.5, 0.125, 0.03125, 0.3, 4, 64)
		s.Buffer = d.size("shared buffer", 20*units.KB, units.MB) +
			units.Bytes(d.Int("reserved", 0, 4))*p.Headroom*units.Bytes(len(c.Fabric.Hosts))/2
		if !d.chance("bounded", 40) {
			p.XOFF = 0
		}
	}
}

// drawRecovery draws how losses come about in lossy classes, and how they are repaired. What needs the data to be lossy
// is drawn where it is.
func (c *testCase) drawRecovery(d chooser) {
	s, h := &c.Switch, &c.Host
	if d.chance("lossy alpha", 25) {
		s.LossyAlpha = pick(d, "lossy alpha", 1.0, 0.125, 0.03, 0.5, 4)
	}
	if lossless := s.Lossless(); (lossless>>h.DataPriority|lossless>>h.ControlPriority)&1 == 0 {
		s.Trim = d.chance("trim", 50)
	}
	if !d.chance("selective repeat", 35) {
		return
	}
	h.Recovery, h.NakInterval = hostagent.SelectiveRepeat, hostagent.Default().NakInterval
	if d.chance("cap", 60) {
		h.Selective.Cap = d.size("bdp cap", 0, 300*units.KB)
	}
	h.Selective.LowTimeout = d.time("rto low", vtime.Microsecond, 200*vtime.Microsecond)
	h.Selective.LowPackets = d.Int("rto low packets", 0, 10)
	h.Selective.Reorder = pick(d, "reorder", 0, 1, 1, 2, 3, 8, 64)
}

// drawCredits draws credit-based flow control in place of PFC, of lanes that may be the control frames' too.
func (c *testCase) drawCredits(d chooser) {
	if !d.chance("cbfc", 20) {
		return
	}
	s, k := &c.Switch, &c.Switch.CBFC
	s.FlowControl = switchagent.FlowCBFC
	k.Priorities = 1 << c.Host.DataPriority
	if d.chance("more lanes", 30) {
		k.Priorities |= uint8(d.Int("lanes", 0, 255))
	}
	k.Period = d.time("credit period", vtime.Microsecond, 100*vtime.Microsecond)
	// A block above a frame's length, or a few, is as good as any; room for a frame there must be.
	least := 2 * units.Bytes(c.Fabric.MTU+200)
	k.Buffer = d.size("credit buffer", least, 400*units.KB)
	if d.chance("block", 40) {
		k.Block = 64 << d.Int("block", 0, 6)
		for k.Block > k.Buffer/4 || k.Block > 64 && k.Block > least/2 {
			k.Block /= 2
		}
		k.Block = max(k.Block, 64)
	}
}

// roundTrip returns the bytes that may be in flight on the worst link when PAUSE is sent.
func (f *fabric) roundTrip() units.Bytes {
	var most units.Bytes
	look := func(c cable) {
		most = max(most, units.Bytes(c.Rate.BytesIn(2*c.Delay))+units.Bytes(3*(f.MTU+100)))
	}
	for i := range f.Hosts {
		look(f.Hosts[i].cable)
	}
	for i := range f.Trunks {
		look(f.Trunks[i].cable)
	}
	return most
}

// drawMarking draws what ECN and DCON's detector go by.
func (c *testCase) drawMarking(d chooser) {
	e, n := &c.Switch.ECN, &c.Switch.CNM
	e.Mode = pick(d, "ecn", switchagent.ECNRED, switchagent.ECNRED, switchagent.ECNStep, switchagent.ECNPCN,
		switchagent.ECNOff)
	if e.Mode != switchagent.ECNPCN {
		e.Point = pick(d, "ecn at", switchagent.ECNByMode, switchagent.ECNEnqueue, switchagent.ECNDequeue)
	}
	e.Ports = pick(d, "ecn ports", switchagent.ECNPortsAuto, switchagent.ECNPortsAuto, switchagent.ECNPortsAll,
		switchagent.ECNPortsToSwitches, switchagent.ECNPortsToHosts)
	e.Priorities = 1 << c.Host.DataPriority
	if d.chance("more marked priorities", 10) {
		e.Priorities = uint8(d.Int("marked", 0, 255))
	}
	e.KMin = d.size("kmin", 0, 20*units.KB)
	e.KMax = e.KMin + d.size("kmax over kmin", 0, 60*units.KB)
	e.PMax = pick(d, "pmax", 0.01, 0.1, 0.2, 0.5, 1, 0)
	if d.chance("tcd", 20) {
		t := &c.Switch.TCD
		c.Switch.Detector, t.QLen, t.RED = switchagent.DetectorTCD, d.size("q_len", 0, 20*units.KB), d.chance("red", 40)
		t.Epsilon = pick(d, "epsilon", 0.05, 0.2, 1)
		if d.chance("t_max", 50) {
			t.TMax = d.time("t_max", 100*vtime.Nanosecond, 100*vtime.Microsecond)
		}
	}
	n.QECN = d.size("q_ecn", 0, 40*units.KB)
	n.QCNM = 0
	if d.chance("fixed q_cnm", 50) {
		n.QCNM = max(1, n.QECN+d.size("q_cnm over q_ecn", 0, 40*units.KB))
	}
	n.Window = pick[vtime.Time](d, "window", 120, 10, 1, 0) * vtime.Microsecond
	n.Repeat = pick[vtime.Time](d, "repeat", 50, 10, 1, 0) * vtime.Microsecond
	n.AtOnset = d.chance("shared at onset", 50)
	n.SharedBy = pick(d, "shared by", switchagent.SharedByEdge, switchagent.SharedByOther, switchagent.SharedByAny)
}

func (c *testCase) drawFlows(d chooser) {
	hosts := len(c.Fabric.Hosts)
	sink := -1
	if d.chance("incast", 60) {
		sink = d.Int("sink", 0, hosts-1)
	}
	start := vtime.Time(d.Int("common start", 0, int(c.Duration/4)))
	for range d.Int("flows", 1, 12) {
		f := flow{From: d.Int("from", 0, hosts-1), To: d.Int("to", 0, hosts-1)}
		if sink >= 0 && !d.chance("elsewhere", 25) {
			f.To = sink
		}
		if f.From == f.To {
			f.From = (f.From + 1) % hosts
		}
		f.Size = d.size("size", 1, 300*units.KB)
		if d.chance("large", 50) {
			f.Size = d.size("large size", 20*units.KB, 300*units.KB)
		}
		if d.chance("unbounded", 8) {
			f.Size = 0
		}
		switch d.Int("start's kind", 0, 2) {
		case 1:
			f.Start = start
		case 2:
			f.Start = vtime.Time(d.Int("start", 0, int(c.Duration/2)))
		}
		line := int(c.Fabric.Hosts[f.From].Rate)
		switch d.Int("rate's kind", 0, 19) {
		case 17:
			f.StartRate = units.Rate(d.scale("start rate", line/1000, line))
		case 18:
			f.ConstantRate = units.Rate(d.scale("constant rate", line/100, line))
		case 19:
			f.ConstantRate = units.Rate(line)
		}
		if ports := len(c.Fabric.Hosts[f.From].More) + 1; ports > 1 && d.chance("named interfaces", 30) {
			f.FromPort = d.Int("from's port", 1, ports)
			f.ToPort = f.FromPort // the same plane, if there are any
		}
		c.Flows = append(c.Flows, f)
	}
}

// drawOwn gives flows what they may have of their own. What does not go with the rest is left out again, and the
// congestion control at last.
func (c *testCase) drawOwn(d chooser) {
	if d.chance("flows differ", 40) {
		for i := range c.Flows {
			f := &c.Flows[i]
			if f.ConstantRate == 0 && d.chance("own congestion control", 40) {
				f.CC = pick(d, "own congestion control", cc.Names()...)
			}
			if d.chance("own priority", 25) {
				f.Priority = 1 + d.Int("priority", 0, 7)
			}
			if d.chance("weight", 25) {
				f.Weight = d.Int("weight", 1, 9)
			}
			if d.chance("stop", 15) {
				f.Stop = f.Start + d.time("until the stop", 1, c.Duration/2)
			}
			if d.chance("on and off", 15) {
				f.On, f.Off = d.time("on", vtime.Microsecond, c.Duration/2), d.time("off", vtime.Microsecond, c.Duration/2)
			}
			if c.Hash == topologies.HashOwn && d.chance("QPs", 25) {
				f.QPs = d.Int("number of QPs", 2, 5)
				if d.chance("messages", 40) {
					f.Message = d.size("message", 1, 100*units.KB)
				}
			}
		}
	}
	for i := len(c.Flows) - 1; i >= 0 && !c.runnable(); i-- {
		f := &c.Flows[i]
		f.CC, f.QPs, f.Priority, f.Stop = "", 0, 0, 0
	}
	if !c.runnable() {
		c.Controller, c.Constants = "none", nil
	}
}

// runnable reports whether users can run the case.
func (c *testCase) runnable() bool {
	s, err := c.scenario()
	if err != nil {
		panic(err)
	}
	return scenario.Check(s, s.Controllers, c.Seed) == nil
}

// drawConstants draws some of the controller's constants. What cannot be is left out again.
func (c *testCase) drawConstants(d chooser) {
	spec, err := cc.Lookup(c.Controller)
	if err != nil {
		panic(err) // its name is the registry's
	}
	for i := range spec.Parameters {
		p := &spec.Parameters[i]
		if !d.chance("constant "+p.Name, 20) {
			continue
		}
		var value string
		switch p.Kind {
		case cc.RateKind:
			value = fmt.Sprintf("line/%d", d.scale(p.Name, 1, 2000))
		case cc.TimeKind:
			value = fmt.Sprintf("%dns", d.scale(p.Name, 500, 200_000))
		case cc.SizeKind:
			value = fmt.Sprintf("%dB", d.scale(p.Name, 100, 1_000_000))
		case cc.NumberKind:
			value = fmt.Sprintf("1/%d", d.scale(p.Name, 1, 1024))
		case cc.IntegerKind:
			value = fmt.Sprint(d.Int(p.Name, 1, 8))
		case cc.FlagKind:
			value = pick(d, p.Name, "true", "false")
		case cc.ChoiceKind:
			value = pick(d, p.Name, p.Choices...)
		}
		c.Constants = append(c.Constants, constant{p.Name, value})
	}
	for len(c.Constants) > 0 && !c.resolves() {
		c.Constants = c.Constants[:len(c.Constants)-1]
	}
}

// drawPerRate has thresholds be those of ports of one of the fabric's rates, and others' in proportion. It is left out
// again where a switch has ports of too many rates, or no buffer for their headroom.
func (c *testCase) drawPerRate(d chooser) {
	rate := func(label string) units.Rate {
		if !d.chance(label, 30) {
			return 0
		}
		if len(c.Fabric.Trunks) > 0 && d.chance(label+" of a trunk", 50) {
			return c.Fabric.Trunks[d.Int(label+"'s trunk", 0, len(c.Fabric.Trunks)-1)].Rate
		}
		return c.Fabric.Hosts[d.Int(label+"'s host", 0, len(c.Fabric.Hosts)-1)].Rate
	}
	c.Switch.PFC.PerRate, c.Switch.ECN.PerRate = rate("pfc by rate"), rate("ecn by rate")
	if c.Switch.PFC.PerRate == 0 && c.Switch.ECN.PerRate == 0 {
		return
	}
	if _, err := c.scenario(); err != nil {
		c.Switch.PFC.PerRate, c.Switch.ECN.PerRate = 0, 0
	}
}

// drawnByHand names the settings that the functions above draw, so that a short run reaches them, and with each other.
// The other settings, new ones among them, are drawn by their rows. A name is a key's, never a group's: a new key of a
// group is not drawn by hand until it is named.
var drawnByHand = []string{
	"buffer", "lossy_limit", "lossy_alpha", "trim",
	"pfc.priorities", "pfc.xoff", "pfc.xon", "pfc.xoff_to_xon", "pfc.alpha", "pfc.headroom", "pfc.per_rate", "pfc.quanta",
	"pfc.watchdog.detect", "pfc.watchdog.restore", "pfc.watchdog.action",
	"ecn.mode", "ecn.at", "ecn.priorities", "ecn.kmin", "ecn.kmax", "ecn.pmax", "ecn.per_rate",
	"flow_control", "cbfc.priorities", "cbfc.period", "cbfc.buffer", "cbfc.block",
	"detector", "tcd.q_len", "tcd.t_max", "tcd.epsilon", "tcd.mark",
	"cnm.ecn_threshold", "cnm.threshold", "cnm.window", "cnm.repeat", "cnm.shared_at", "cnm.shared_by",
	"scheduler.dwrr",
	"load_balancing.mode", "load_balancing.seed", "load_balancing.fields", "load_balancing.gap", "load_balancing.order",
	"load_balancing.by",
	"data_priority", "control_priority", "ack_priority", "ack_when_paused", "ack_every", "cnp_interval",
	"retransmit_timeout", "nak_interval",
	"recovery", "selective.bdp_cap", "selective.rto_low", "selective.rto_low_packets", "selective.reorder",
}

// drawOthers draws the other settings, and keeps the defaults if the scenario is not valid with them.
func (c *testCase) drawOthers(d chooser) {
	before := *c
	for _, table := range []keys.Table{settings.Switch(&c.Switch, &c.Balancing), settings.Host(&c.Host)} {
		for i := range table {
			s := &table[i]
			if s.Kind() == schema.Group || slices.Contains(drawnByHand, s.Name) || !d.chance(s.Name, 25) {
				continue
			}
			if err := table.Set(s.Name, drawSetting(d, s)); err != nil {
				continue // out of its bounds
			}
		}
	}
	if _, err := c.scenario(); err != nil {
		c.Switch, c.Host = before.Switch, before.Host
	}
}

// drawSetting returns a value of a setting's kind.
func drawSetting(d chooser, s *keys.Key) string {
	switch s.Kind() {
	case schema.Choice, schema.Flag:
		return pick(d, s.Name, s.Words()...)
	case schema.Time:
		return fmt.Sprintf("%dns", d.scale(s.Name, 100, 200_000))
	case schema.Size:
		return fmt.Sprintf("%dB", d.scale(s.Name, 1, 200_000))
	case schema.Rate:
		return fmt.Sprintf("%dMbps", d.scale(s.Name, 10, 400_000))
	case schema.Integer:
		return fmt.Sprint(d.scale(s.Name, 1, 1000))
	case schema.Number:
		return fmt.Sprintf("%d/64", d.scale(s.Name, 1, 256))
	}
	return fmt.Sprint(d.Int(s.Name, 0, 7)) // a priority, or a list of one
}

// resolves reports whether the constants are valid for every flow.
func (c *testCase) resolves() bool {
	given := map[string]string{}
	for _, k := range c.Constants {
		if _, twice := given[k.Name]; twice {
			return false
		}
		given[k.Name] = k.Value
	}
	s, err := (&testCase{
		Fabric: c.Fabric, Switch: c.Switch, Balancing: c.Balancing, Host: c.Host, Controller: c.Controller,
		Flows: c.Flows, Duration: c.Duration,
	}).scenario()
	if err != nil {
		panic(err)
	}
	spec, err := cc.Lookup(c.Controller)
	if err != nil {
		panic(err)
	}
	for i := range s.Flows {
		if _, err := cc.Resolve(c.Controller, given, scenario.Environment(s.Topology, &s.Flows[i], spec.Needs)); err != nil {
			return false
		}
	}
	return true
}
