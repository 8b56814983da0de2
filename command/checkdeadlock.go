package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/analysis/deadlock"
	"github.com/pausenet/pausenet/experiments/analysis/deadlock/certificate"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

type deadlockFlags struct {
	sets        []string
	controller  string
	format      string
	out         string
	certificate string
	failures    int
	own         bool
	each        bool
	arithmetic  bool
}

func newCheckDeadlockCommand() *cobra.Command {
	var f deadlockFlags
	c := &cobra.Command{
		Use:   "deadlock SCENARIO|TOPOLOGY",
		Short: "Prove that PAUSE cannot deadlock a fabric, or show the deadlock",
		Long: `Prove that flow control cannot deadlock a fabric, or show how it does.

For each set of up to --failures failed links, check deadlock follows all
shortest paths, in each lossless priority, from any host to any other (--flows:
only between the hosts of the scenario's flows). A frame that arrives by one
link and leaves by another makes the first buffer depend on the second. Without
a cycle of buffers there is no deadlock (Dally and Seitz 1987).

If there is a cycle, check deadlock names its buffers, and the hosts whose
frames close it. It then runs traffic along the cycle, without congestion
control, and computes and tries remedies. It also prints how many other NICs
one NIC can stop by sending PAUSE without end.

  proved      no case has a cycle; --out writes a certificate
  REFUTED     a run deadlocked; --out writes its scenario
  harmless    the flows (--flows) are too small to fill any cycle
  not proved  there is a cycle, but no run deadlocked

The certificate is an order of the buffers that every path follows.
--certificate checks it, with code that shares nothing with the prover.

If the check is interrupted, run the same command to continue with the cases it
has examined.

The exit code is 0 if the fabric is proved or its cycles are harmless, and 1
otherwise.`,
		Example: `  pausenet check deadlock leafspine
  pausenet check deadlock leafspine --failures 2 --out deadlock
  pausenet check deadlock mine.yaml --flows --failures 0
  pausenet check deadlock leafspine --certificate deadlock/certificate.json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSubjects,
		RunE: func(c *cobra.Command, args []string) error {
			if err := errors.Join(notEmpty(c, "out"),
				excludes(c, "certificate", "failures", "each", "no-run", "out")); err != nil {
				return err
			}
			ctx, release := shutdown.Context(c.Context())
			defer release()
			return f.run(ctx, c.OutOrStdout(), args[0])
		},
	}
	setFlag(c, &f.sets)
	flags := c.Flags()
	flags.IntVar(&f.failures, "failures", 1, "largest `number` of failed links between switches, 0 to 2")
	flags.BoolVar(&f.own, "flows", false, "only the scenario's own flows, in place of any traffic")
	flags.BoolVar(&f.each, "each", false, "run traffic along each cycle, in place of one of each kind")
	flags.BoolVar(&f.arithmetic, "no-run", false, "run no traffic")
	flags.StringVar(&f.controller, "cc", "",
		"`name` of the controller or variant whose settings apply (default: the scenario's first)")
	flags.StringVar(&f.out, "out", "", "write the certificate, or the scenarios that deadlock, to this `folder`")
	flags.StringVar(&f.certificate, "certificate", "", "check this certificate `file` in place of proving")
	completeController(c, controllerWords)
	completeFolder(c, "out")
	completeNothing(c, "failures")
	formatFlag(c, &f.format)
	return c
}

// deadlockView holds the results of check deadlock.
type deadlockView struct {
	Name       string      `json:"name"`
	Links      int         `json:"links_between_switches"`
	Failures   int         `json:"failures"`
	Cases      int         `json:"cases"`
	Examined   int         `json:"examined"`
	Inferred   int         `json:"inferred_by_symmetry"`
	Cyclic     int         `json:"cases_with_a_cycle"`
	Orders     int         `json:"orders"` // of all classes
	Traffic    []string    `json:"traffic"`
	Cycles     []cycleView `json:"cycles"`
	Remedies   *remedyView `json:"remedies,omitempty"`
	Storms     []stormView `json:"storms"`
	Files      []string    `json:"files"`
	Verdict    verdict     `json:"verdict"`
	Deadlocked int         `json:"cycles_that_deadlocked"`

	harmful bool // a cycle is not harmless
}

// harmless is the verdict if the flows are too small to fill any cycle.
const harmless verdict = "harmless"

// cycleView describes one cycle.
type cycleView struct {
	Failed     []string               `json:"failed_links"`
	Priorities certificate.Priorities `json:"priorities"`
	Buffers    []waitView             `json:"buffers"`
	Alike      int                    `json:"cycles_of_this_kind"`
	Component  int                    `json:"buffers_of_component"`
	Harmless   string                 `json:"harmless,omitempty"` // reason; empty: not harmless
	Run        *cycleTrial            `json:"run,omitempty"`
}

// waitView describes a buffer of a cycle, and the flows whose frames make it wait for the next buffer.
type waitView struct {
	Port  string      `json:"port"`
	Flows [][2]string `json:"flows"` // examples: source and destination
	Pairs int         `json:"pairs"` // pairs of hosts
}

// cycleTrial describes the runs of traffic along a cycle.
type cycleTrial struct {
	Runs        int      `json:"runs"`
	Deadlocked  bool     `json:"deadlocked"`
	Since       int64    `json:"since_ns,omitempty"`
	Cycle       []string `json:"cycle,omitempty"`
	Fingerprint string   `json:"fingerprint"`
	File        string   `json:"file,omitempty"`
}

// remedyView describes the remedies, which would exclude the cycles.
type remedyView struct {
	Layers     int                    `json:"priorities_by_pair"` // 0: eight are not enough
	Priorities certificate.Priorities `json:"priorities,omitempty"`
	Pairs      []layerView            `json:"pairs,omitempty"` // pairs whose priority is not the first
	LayerRun   *deadlock.Trial        `json:"run_with_priorities_by_pair,omitempty"`
	Bumps      int                    `json:"priorities_by_hop"`
	Severed    int                    `json:"up_down_pairs_severed"`
	Joined     int                    `json:"up_down_pairs_joined"`
	UpDownRun  *deadlock.Trial        `json:"run_up_down,omitempty"`
}

// layerView gives a pair of leaves its priority.
type layerView struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Priority uint8  `json:"priority"`
}

// stormView describes which NICs one NIC can stop.
type stormView struct {
	Priority uint8    `json:"priority"`
	NICs     []string `json:"nics"`
	Stopped  []string `json:"stopped"` // by the first of them
	Victims  []string `json:"victims"`
}

func (f *deadlockFlags) run(ctx context.Context, w io.Writer, name string) error {
	if f.failures < 0 || f.failures > deadlock.MaxFailures {
		return badInput(fmt.Errorf("--failures %d: expected 0 to %d", f.failures, deadlock.MaxFailures))
	}
	s, err := load(name, f.sets)
	if err != nil {
		return err
	}
	plan := s.topology
	classes := deadlock.AnyTraffic(plan, deadlock.DefaultPriority)
	var settings deadlock.Settings
	switch {
	case s.scenario != nil:
		if f.controller == "" {
			f.controller = s.scenario.Controllers[0]
		}
		own, _, _, err := s.scenario.Under(f.controller)
		if err != nil {
			return badInput(err)
		}
		priorities, err := deadlock.Lossless(own)
		if err != nil {
			return badInput(fmt.Errorf("%s: %w", own.Name, err))
		}
		classes = deadlock.AnyTraffic(plan, priorities...)
		if f.own {
			if classes, err = deadlock.OwnTraffic(own); err != nil {
				return badInput(err)
			}
		}
		if settings, err = deadlock.SettingsOf(s.source, f.sets); err != nil {
			return badInput(err)
		}
	case f.own || f.controller != "":
		return badInput(fmt.Errorf("%s is a topology, but --flows and --cc need a scenario (name a scenario with this "+
			"topology)", name))
	}
	if f.certificate != "" {
		return f.check(w, plan, classes)
	}
	v := &deadlockView{Name: plan.Name}
	if s.scenario != nil {
		v.Name = s.scenario.Name
	}
	checkpoint := filepath.Join(cmp.Or(f.out, filepath.Join("results", "deadlock-"+v.Name)), "checkpoint.json")
	proof, err := deadlock.Prove(ctx, plan, classes, f.failures, deadlock.Options{
		From: readCheckpoint(checkpoint),
		Progress: func(done, of, withCycle int) {
			if step := of / 10; step >= progressCases && done%step == 0 {
				fmt.Fprintf(stderr(), "pausenet: %d of %s, %d with a cycle of buffers\n", done, count(of, "case"), withCycle)
			}
		},
	})
	v.fill(proof, f.own)
	if err == nil {
		err = f.demonstrate(ctx, proof, v, settings)
	}
	v.addStorms(proof)
	v.conclude(proof)
	if ctx.Err() != nil {
		err = &exitError{exitVerdict, fmt.Errorf("interrupted: run the same command to continue with the %s in %s",
			count(proof.Examined, "case"), checkpoint)}
		err = errors.Join(writeCheckpoint(checkpoint, proof), err)
	} else if err == nil {
		_ = os.Remove(checkpoint)
	}
	err = errors.Join(err, f.write(proof, v), writeResult(w, f.format, v, v.write))
	switch {
	case err != nil:
		return err
	case v.Verdict != proved && v.Verdict != harmless:
		return &exitError{exitVerdict, fmt.Errorf("%s: %d of %d cases have a cycle of buffers", v.Name, v.Cyclic, v.Cases)}
	}
	return nil
}

// progressCases is the least number of cases in a tenth of a proof for which each tenth is reported.
const progressCases = 2000

// readCheckpoint returns the checkpoint of an interrupted check. It returns nil, for a check from the beginning, if
// there is none that can be read.
func readCheckpoint(name string) *deadlock.Checkpoint {
	data, err := os.ReadFile(name)
	c := new(deadlock.Checkpoint)
	if err != nil || json.Unmarshal(data, c) != nil {
		return nil
	}
	return c
}

func writeCheckpoint(name string, p *deadlock.Proof) error {
	data, err := json.Marshal(p.Checkpoint())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return runError(err)
	}
	return writeError(files.WriteWhole(name, data))
}

// check checks the certificate in --certificate. It returns an error if the certificate does not hold or omits a
// lossless priority.
func (f *deadlockFlags) check(w io.Writer, plan *topologies.Plan, classes []deadlock.Class) error {
	data, err := files.Input(f.certificate, files.Kind{Name: "a certificate", Most: 256 << 20})
	if err != nil {
		return badInput(err)
	}
	c, err := certificate.Read(data)
	if err != nil {
		return badInput(fmt.Errorf("%s: %w", f.certificate, err))
	}
	covered := map[uint8]bool{}
	for i := range c.Classes {
		for _, p := range c.Classes[i].Priorities {
			covered[p] = covered[p] || f.own || c.Classes[i].Pairs == nil
		}
	}
	for i := range classes {
		for _, p := range classes[i].Priorities {
			if !covered[p] {
				return &exitError{exitVerdict, fmt.Errorf("%s: does not cover all traffic of the lossless priority %d",
					f.certificate, p)}
			}
		}
	}
	result, err := certificate.Check(c, plan)
	if err != nil {
		return &exitError{exitVerdict, fmt.Errorf("%s: %w", f.certificate, err)}
	}
	_, err = fmt.Fprintf(w, "%s: the certificate holds for %s: %s of at most %s, %s of paths compared\n",
		f.certificate, plan.Name, count(result.Cases, "case"), count(c.Failures, "failed link"), count(result.Turns, "turn"))
	return err
}

// fill sets the counts of a proof.
func (v *deadlockView) fill(p *deadlock.Proof, own bool) {
	v.Links, v.Failures, v.Cases, v.Examined, v.Inferred, v.Cyclic = p.Links, p.Failures, p.Cases, p.Examined, p.Inferred,
		p.Cyclic
	v.Cycles, v.Files = []cycleView{}, []string{}
	for i := range p.Classes {
		v.Orders += len(p.Orders[i])
		what := "from any host to any other"
		if own {
			what = fmt.Sprintf("of the scenario's flows, between %s",
				topologies.Plural(len(p.Classes[i].Pairs), "pair")+" of switches")
		}
		v.Traffic = append(v.Traffic, fmt.Sprintf("priority %s: %s", joined(p.Classes[i].Priorities), what))
	}
}

// joined returns numbers separated by commas.
func joined(numbers []uint8) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}

// demonstrate runs traffic along one cycle of each kind, or with --each along each cycle, and adds them to the view.
func (f *deadlockFlags) demonstrate(ctx context.Context, p *deadlock.Proof, v *deadlockView,
	of deadlock.Settings,
) error {
	at := map[string]int{} // by kind: its position in the view
	tried, demonstrated := 0, (*deadlock.Demonstration)(nil)
	for i := range p.Cycles {
		c := &p.Cycles[i]
		reason, small := p.Harmless(c)
		v.harmful = v.harmful || !small
		kind := c.Kind(p.Plan)
		if first, found := at[kind]; found && !f.each {
			v.Cycles[first].Alike++
			continue
		}
		at[kind] = len(v.Cycles)
		shown := viewOfCycle(p, c)
		shown.Harmless = reason
		if !f.arithmetic && shown.Harmless == "" {
			d, err := p.Demonstrate(ctx, c, of)
			if err != nil {
				return err
			}
			shown.Run = &cycleTrial{
				Runs: d.Runs, Deadlocked: d.Deadlocked, Since: int64(d.Since / vtime.Nanosecond), Cycle: d.Cycle,
				Fingerprint: d.Fingerprint,
			}
			if d.Deadlocked {
				if v.Deadlocked++; demonstrated == nil {
					tried, demonstrated = i, d
				}
			}
			if d.Deadlocked && f.out != "" {
				name := fmt.Sprintf("cycle-%d.yaml", len(v.Cycles)+1)
				if err := f.writeFile(name, d.Scenario); err != nil {
					return err
				}
				shown.Run.File = filepath.Join(f.out, name)
				v.Files = append(v.Files, shown.Run.File)
			}
		}
		v.Cycles = append(v.Cycles, shown)
	}
	if len(p.Cycles) == 0 {
		return nil
	}
	return f.remedy(ctx, p, v, &p.Cycles[tried], demonstrated, of)
}

// remedy computes remedies, and tries them on the first cycle that deadlocked.
func (f *deadlockFlags) remedy(ctx context.Context, p *deadlock.Proof, v *deadlockView, c *deadlock.Cycle,
	d *deadlock.Demonstration,
	of deadlock.Settings,
) error {
	r, err := p.Remedy(ctx)
	if err != nil {
		return err
	}
	v.Remedies = &remedyView{Layers: r.LayerCount, Bumps: r.Bumps, Severed: r.Severed, Joined: r.Joined}
	class := &p.Classes[r.Class]
	priorities := deadlock.LayerPriorities(class.Priorities, deadlock.ControlPriority)
	if r.LayerCount > len(priorities) {
		v.Remedies.Layers = 0
	}
	for i, layer := range r.Layers {
		if pair := class.Pairs[i]; layer > 0 && v.Remedies.Layers > 0 {
			v.Remedies.Pairs = append(v.Remedies.Pairs, layerView{p.LeafName(pair.From), p.LeafName(pair.To), priorities[layer]})
		}
	}
	if v.Remedies.Layers > 0 {
		v.Remedies.Priorities = priorities[:r.LayerCount]
	}
	if d == nil || c.Class != r.Class {
		return nil
	}
	if v.Remedies.Layers > 0 {
		if v.Remedies.LayerRun, err = p.TryLayers(ctx, c, d, of, r, priorities); err != nil {
			return err
		}
	}
	v.Remedies.UpDownRun, err = p.TryUpDown(ctx, c, d, of)
	return err
}

func (v *deadlockView) addStorms(p *deadlock.Proof) {
	v.Storms = []stormView{}
	names := func(nics []int) []string {
		all := []string{}
		for _, i := range nics {
			port := &p.Plan.Ports[p.Plan.Interfaces[i]]
			all = append(all, p.Plan.EndName(port.Node, uint8(port.Number-1)))
		}
		return all
	}
	for _, r := range p.Storm() {
		v.Storms = append(v.Storms, stormView{r.Priority, names(r.NICs), names(r.Stopped), names(r.Victims)})
	}
}

func viewOfCycle(p *deadlock.Proof, c *deadlock.Cycle) cycleView {
	plan := p.Plan
	shown := cycleView{Failed: []string{}, Priorities: p.Classes[c.Class].Priorities, Alike: 1, Component: c.Buffers}
	for _, l := range c.Failed {
		shown.Failed = append(shown.Failed, scenario.PortLabel(plan, plan.Links[l].A))
	}
	for i, id := range c.Ports {
		wait := waitView{Port: scenario.PortLabel(plan, id)}
		for _, pair := range c.Pairs[i] {
			from, to := p.HostsOf(pair.From), p.HostsOf(pair.To)
			wait.Pairs += len(from) * len(to)
			if len(wait.Flows) < 3 {
				wait.Flows = append(wait.Flows, [2]string{plan.Nodes[from[0]].Name, plan.Nodes[to[0]].Name})
			}
		}
		shown.Buffers = append(shown.Buffers, wait)
	}
	return shown
}

func (v *deadlockView) conclude(p *deadlock.Proof) {
	switch {
	case p.Holds():
		v.Verdict = proved
	case p.Examined == p.Cases && !v.harmful && len(v.Cycles) > 0 && len(p.Cycles) < deadlock.MostCycles:
		v.Verdict = harmless
	case v.Deadlocked > 0:
		v.Verdict = refuted
	default:
		v.Verdict = notProved
	}
}

// write writes the certificate of a proof that holds.
func (f *deadlockFlags) write(p *deadlock.Proof, v *deadlockView) error {
	if f.out == "" || !p.Holds() {
		return nil
	}
	data, err := p.Certificate().Format()
	if err != nil {
		return err
	}
	v.Files = append(v.Files, filepath.Join(f.out, "certificate.json"))
	return f.writeFile("certificate.json", data)
}

// writeFile writes a file to the folder that the user named.
func (f *deadlockFlags) writeFile(name string, data []byte) error {
	to, err := files.OpenFolder(f.out, f.out)
	if err == nil {
		err = errors.Join(to.Write(name, data), to.Close())
	}
	if err != nil {
		return runError(err)
	}
	return nil
}

func (v *deadlockView) write(w io.Writer) {
	fmt.Fprintf(w, "%s: can flow control deadlock? %s\n", v.Name, strings.Join(v.Traffic, "; "))
	fmt.Fprintf(w, "  %s between switches, at most %d failed: %s", count(v.Links, "link"), v.Failures,
		count(v.Cases, "case"))
	if v.Examined < v.Cases {
		fmt.Fprintf(w, ", %d examined before the interruption", v.Examined)
	}
	fmt.Fprintf(w, ", %d with a cycle of buffers\n", v.Cyclic)
	if v.Inferred > 0 {
		fmt.Fprintf(w, "  %s symmetric to another one, so with the same result\n", count(v.Inferred, "case"))
	}
	if v.Verdict == proved {
		how := "one order of the buffers holds in all cases, so also while routes change from one case to another"
		if v.Orders > len(v.Traffic) {
			how = fmt.Sprintf("%d orders of the buffers, one for each case; a change from one case to another is not covered",
				v.Orders)
		}
		fmt.Fprintf(w, "  %s\n", how)
	}
	for i := range v.Cycles {
		v.Cycles[i].write(w, i+1)
	}
	if v.Remedies != nil {
		v.Remedies.write(w)
	}
	if len(v.Storms) > 0 {
		fmt.Fprintln(w, "\nPFC storm of one NIC, without failures")
	}
	for i := range v.Storms {
		s := &v.Storms[i]
		fmt.Fprintf(w, "  %s, priority %d: can stop %s", lists.Few(s.NICs), s.Priority, count(len(s.Stopped), "other NIC"))
		if len(s.Victims) > 0 {
			fmt.Fprintf(w, "; %s send nothing to %s", lists.Few(s.Victims), s.NICs[0])
		}
		fmt.Fprintln(w)
	}
	if len(v.Files) > 0 {
		fmt.Fprintf(w, "\nfiles: %s\n", strings.Join(v.Files, ", "))
	}
	fmt.Fprintf(w, "%s: %s\n", v.Name, v.Verdict)
}

func (c *cycleView) write(w io.Writer, number int) {
	fmt.Fprintf(w, "\ncycle %d", number)
	if len(c.Failed) > 0 {
		fmt.Fprintf(w, ", without the links of %s", strings.Join(c.Failed, " and "))
	}
	if c.Alike > 1 {
		fmt.Fprintf(w, " (%d cycles of this kind)", c.Alike)
	}
	fmt.Fprintln(w)
	lines := [][]string{{"buffer", "waits for", "pairs of hosts", "such as"}}
	for i, b := range c.Buffers {
		flows := lists.Map(b.Flows, func(flow [2]string) string { return flow[0] + " > " + flow[1] })
		next := c.Buffers[(i+1)%len(c.Buffers)].Port
		lines = append(lines, []string{b.Port, next, fmt.Sprint(b.Pairs), strings.Join(flows, ", ")})
	}
	writeColumns(w, lines, 2)
	if c.Harmless != "" {
		fmt.Fprintf(w, "  harmless: %s\n", c.Harmless)
	}
	if r := c.Run; r != nil && r.Deadlocked {
		fmt.Fprintf(w, "  REFUTED: a run deadlocks at %v, fingerprint %.12s: %s\n", vtime.Time(r.Since)*vtime.Nanosecond,
			r.Fingerprint,
			strings.Join(slices.Concat(r.Cycle, r.Cycle[:1]), " > "))
		if r.File != "" {
			fmt.Fprintf(w, "    pausenet run %s\n", quoted(r.File))
		}
	} else if r != nil {
		fmt.Fprintf(w, "  not proved: none of %d runs deadlocked\n", r.Runs)
	}
}

// write prints the remedies, and the results of their runs.
func (r *remedyView) write(w io.Writer) {
	fmt.Fprintln(w, "\nremedies")
	result := func(t *deadlock.Trial) string {
		switch {
		case t == nil:
			return ""
		case t.Runs == 0:
			return "; no traffic is left along the cycle"
		case t.Deadlocked:
			return "; the run still deadlocks"
		}
		return fmt.Sprintf("; the run no longer deadlocks, fingerprint %.12s", t.Fingerprint)
	}
	if r.Layers > 0 {
		pairs := lists.Map(r.Pairs, func(p layerView) string { return fmt.Sprintf("%s > %s", p.From, p.To) })
		fmt.Fprintf(w, "  a priority for each pair of leaves: %d priorities (%s) exclude every cycle, if %s do not use "+
			"the first%s\n",
			r.Layers, joined(r.Priorities), lists.Few(pairs), result(r.LayerRun))
	}
	fmt.Fprintf(w, "  a higher priority at each turn back up or along a tier: %d priorities (not run: the simulator's "+
		"switches cannot "+
		"change priorities)\n", r.Bumps)
	fmt.Fprintf(w, "  only paths that go up and then down: severs %d of %d pairs of leaves, over all cases%s\n", r.Severed,
		r.Joined,
		result(r.UpDownRun))
}
