package diagnose

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/pausenet/pausenet/experiments/analysis/resimulate"
	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Case represents a fabric with its traffic, to be run under faults.
type Case struct {
	base     resimulate.Base
	plan     *topologies.Plan
	flows    []traffic   // items of the key flows, in order; empty if the fabric's file has the traffic
	ranks    []string    // hosts of collectives
	window   vtime.Time  // for which the dumps counted
	xoff     units.Bytes // of switches
	lossless uint8       // priority of data
	lossy    uint8       // priority of data with a wrong DSCP
	pairs    []pair      // ports of the dumps
	noise    []float64   // of each counter of the pairs, as a difference (measureNoise)
	control  uint8       // priority of ACKs and CNPs
	fit      *fit        // paths of the flows; nil: each run's seed chooses
	// payload that perftest sent between two hosts
	tested map[[2]topologies.NodeID]float64
	idle   map[string]float64 // links without frames, and the probability of that by chance
}

// Source names the origin of a case's traffic.
type Source string

// Sources of the traffic, the best first.
const (
	FromFile   Source = "the fabric's file"
	FromTests  Source = "perftest's outputs"
	FromLogs   Source = "nccl-tests' outputs"
	FromBoth   Source = "perftest's and nccl-tests' outputs"
	FromBytes  Source = "estimated from the bytes that hosts sent and received"
	mostFlows         = 4096
	defaultRTO        = "1ms"
)

// NewCase reads a fabric's file, and adds traffic from the dumps if the file has none. The file is a scenario, without
// flows, or a topology. window is the time between the reset of the counters and the dumps; 0: the file's duration.
func NewCase(file string, text []byte, d *Dumps, window vtime.Time) (*Case, Source, error) {
	document := map[string]any{}
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, "", fmt.Errorf("%s: %w", file, err)
	}
	if document["topology"] == nil {
		document = map[string]any{"topology": document}
	}
	if window > 0 {
		document["duration"] = window.String()
	}
	if document["duration"] == nil {
		return nil, "", fmt.Errorf("%s has no duration: give the time for which the dumps counted (--window 10ms)", file)
	}
	c := &Case{base: resimulate.Base{File: file}, lossless: 3}
	source := FromFile
	if document["flows"] == nil && document["workloads"] == nil {
		var err error
		if source, err = c.addTraffic(document, d); err != nil {
			return nil, "", fmt.Errorf("%s: %w", file, err)
		}
	}
	c.listFlows(document)
	if faults, ok := document["faults"].([]any); ok {
		for _, f := range faults {
			entry, err := json.Marshal(f)
			if err != nil {
				return nil, "", fmt.Errorf("%s: faults: %w", file, err)
			}
			c.base.Entries = append(c.base.Entries, string(entry))
		}
	}
	var err error
	if c.base.Text, err = yaml.Marshal(document); err != nil {
		return nil, "", fmt.Errorf("%s: %w", file, err)
	}
	s, err := c.base.Load(&resimulate.Fault{})
	if err != nil {
		return nil, "", err
	}
	c.settle(s)
	c.tested = d.tested(c.plan)
	c.pairs, err = d.places(c.plan)
	return c, source, err
}

// addTraffic adds flows to a document that has none.
func (c *Case) addTraffic(document map[string]any, d *Dumps) (Source, error) {
	// Any flow makes the file a scenario, which has the plan.
	trial := map[string]any{}
	for key, value := range document {
		trial[key] = value
	}
	trial["workloads"] = []any{map[string]any{"permutation": map[string]any{"size": "1KB"}}}
	text, err := yaml.Marshal(trial)
	if err != nil {
		return "", err
	}
	s, err := scenario.Reading{}.Parse(c.base.File, text)
	if err != nil {
		return "", err
	}
	source := FromTests
	if c.flows, err = d.tests(s.Topology, s.Duration.Seconds()); err != nil {
		return "", err
	}
	workloads, ranks, err := d.collectives(s.Topology, s.Duration.Seconds())
	if err != nil {
		return "", err
	}
	if c.ranks = ranks; len(workloads) > 0 {
		document["workloads"] = workloads
	}
	switch {
	case len(c.flows) > 0 && len(ranks) > 0:
		source = FromBoth
	case len(ranks) > 0:
		source = FromLogs
	case len(c.flows) == 0:
		source = FromBytes
		pairs, err := d.places(s.Topology)
		if err != nil {
			return "", err
		}
		c.flows = gravity(pairs, s.Topology.MTU, s.Host.ControlPriority)
	}
	switch {
	case len(c.flows)+len(ranks) == 0:
		return "", errors.New("the file has no flows, and the dumps show no traffic: give ethtool -S of the hosts, or " +
			"outputs of perftest or nccl-tests")
	case len(c.flows) > mostFlows:
		return "", fmt.Errorf("the dumps have more than %d flows", mostFlows)
	}
	var flows []any
	for _, f := range c.flows {
		item := map[string]any{"tag": f.from + "-" + f.to, "from": f.from, "to": f.to, "expect_unfinished": true}
		item["size"] = "unbounded"
		if f.bytes > 0 {
			item["size"] = fmt.Sprintf("%dB", f.bytes)
		}
		flows = append(flows, item)
	}
	if len(flows) > 0 {
		document["flows"] = flows
	}
	return source, nil
}

// listFlows sets the flows of a file that lists them one by one. Others have no faults of single senders.
func (c *Case) listFlows(document map[string]any) {
	items, _ := document["flows"].([]any)
	if len(c.flows)+len(c.ranks) > 0 {
		return
	}
	for _, item := range items {
		f, _ := item.(map[string]any)
		from, _ := f["from"].(string)
		to, _ := f["to"].(string)
		if strings.Contains(from+to, "..") || from == "" || to == "" {
			c.flows = nil
			return
		}
		c.flows = append(c.flows, traffic{from: from, to: to})
	}
}

// settle fixes what a fault must not change by itself: the lossless priorities, and the timeout, which a scenario only
// has by default if frames may be lost.
func (c *Case) settle(s *scenario.Scenario) {
	c.window = s.Duration
	c.plan, c.lossless, c.control = s.Topology, s.Host.DataPriority, s.Host.ControlPriority
	c.lossy = uint8(bits.TrailingZeros8(^(1<<c.lossless | 1<<s.Host.ControlPriority)))
	c.xoff = s.Switch.PFC.XOFF
	if c.xoff <= 0 {
		rate := c.plan.Ports[0].Rate
		for i := range c.plan.Ports {
			rate = min(rate, c.plan.Ports[i].Rate)
		}
		c.xoff = units.Bytes(int64(rate) / 8 * 64 / 1_000_000) // as automatic thresholds
	}
	c.base.Sets = append(c.base.Sets,
		fmt.Sprintf("switch.pfc.priorities=[%d]", c.lossless), fmt.Sprintf("switch.ecn.priorities=[%d]", c.lossless))
	if s.Switch.PFC.Priorities != 0 && s.Switch.PFC.Priorities != 1<<c.lossless {
		c.base.Sets = c.base.Sets[1:]
	}
	if s.Host.RetransmitTimeout == 0 {
		c.base.Sets = append(c.base.Sets, "host.retransmit_timeout="+defaultRTO)
	}
	c.base.Controller = s.Controllers[0]
}

// result holds the counters of a run.
type result struct {
	fault  *Fault
	fabric *counters.Fabric
	// payload that arrived, by flow
	delivered []int64
	summary   *measure.Summary
	setup     *scenario.Setup
}

// run runs the case under a fault on one processor.
func (c *Case) run(ctx context.Context, f *Fault, seed uint64) (*result, error) {
	s, err := c.base.Load(&f.Fault)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Text, err)
	}
	r := &result{fault: f}
	o := runner.Options{
		Controller: c.base.Controller, Seed: cmp.Or(seed, s.Seed), Processors: 1,
		Observers: []runner.NewObserver{counters.Observe(func(f *counters.Fabric) { r.fabric = f })},
	}
	var setup *scenario.Setup
	o.Observers = append(o.Observers, func(u *scenario.Setup) (*runner.Observer, error) {
		setup, r.setup = u, u
		if c.fit != nil {
			c.fit.apply(u, f, f.seed)
		}
		own := &runner.Observer{}
		own.Start = func(o *runner.Observed) error {
			own.End = func() {
				r.delivered = make([]int64, s.FlowCount())
				o.EachStarted(func(flow *runner.FlowState) { r.delivered[flow.Flow] = flow.Delivered })
			}
			if f.start == nil {
				return nil
			}
			return f.start(o)
		}
		return own, nil
	})
	var w runner.Watching
	if f.deaf != "" {
		w.Controller = func(flow int, env cc.Env, set cc.Settings) (cc.Controller, error) {
			own, err := setup.CC.New(env, set)
			if from := s.Flows[s.Entry(flow)].Source; err == nil && s.Topology.Nodes[from].Name == f.deaf {
				own = deafController{own}
			}
			return own, err
		}
	}
	if r.summary, err = runner.Watch(ctx, s, o, w); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Text, err)
	}
	return r, nil
}

// describe returns a line about the fabric and its traffic.
func (c *Case) describe(source Source) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s; traffic: ", c.plan.Summary())
	if n := len(c.flows); n > 0 {
		fmt.Fprintf(&b, "%d flows, ", n)
	}
	if n := len(c.ranks); n > 0 {
		fmt.Fprintf(&b, "collectives of %d ranks, ", n)
	}
	b.WriteString(string(source))
	return strings.TrimSpace(b.String())
}
