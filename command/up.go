//go:build linux

package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pausenet/pausenet/command/shell"
	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// defaultTopology and defaultFabric are used by up without an argument: the topology, and the name of the fabric.
const defaultTopology, defaultFabric = "small", "pausenet"

// maxSlowdown limits --slowdown: a microsecond of virtual time takes a second.
const maxSlowdown = 1e6

type upFlags struct {
	name       string
	slowdown   float64
	controller string
	sets       []string
	seed       uint64
	detach     bool
	plane      string
	privileged bool
	faults     bool
	names      bool
	routing    string
	clock      string
	nat        bool
	metrics    string
	events     string
	web        string
}

func newUpCommand() *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use:   "up [TOPOLOGY|SCENARIO]",
		Short: "Bring up a live fabric and open its shell",
		Long: `Bring up a fabric whose clock follows the wall clock, slowed down, so that
ping, iperf3 or any other program can run on its hosts, and open a shell
("help" there lists its commands). TOPOLOGY and SCENARIO are built-ins
(pausenet list) or files; the default is small, a leaf-spine of 8 hosts. A
topology's file can give nodes files, images and start-up commands
(docs/topologies.md); it may also be containerlab's, FILE.clab.yml. The fabric
ends with the shell.

If standard input is not a terminal, the shell runs all its lines, and the exit
code is 1 if any fails.

Without root, up creates a user namespace for the fabric, whose switches then
run in this process (--plane wasm).

With --detach the fabric stays in the background. shell, exec, inspect,
capture, top, events, set and fault use it from any terminal; down ends it.`,
		Example: `  sudo pausenet up
  sudo pausenet up dcon-testbed --cc dcon
  sudo pausenet up fabric.yaml --nat
  sudo pausenet up leafspine --name lab --detach
  echo pingall | sudo pausenet up`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeSubjects,
		RunE:              func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.register(c)
	return c
}

func (f *upFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.name, "name", defaultFabric, "`name` of the fabric, for other terminals")
	flags.Float64Var(&f.slowdown, "slowdown", 0, "`factor` by which virtual time is slower than the wall clock, such as "+
		"200 (default: chosen for this machine)")
	flags.StringVar(&f.controller, "cc", "",
		"congestion controller of RDMA flows, by `name` (default: the scenario's first)")
	flags.StringArrayVar(&f.sets, "set", nil, "change a key of the scenario: `path=value`; repeatable")
	flags.Uint64Var(&f.seed, "seed", 1, "random `seed`")
	flags.StringVar(&f.plane, "plane", plane.Kernel, "`plane` to run the switches' pipelines on: kernel (eBPF, needs "+
		"root), or wasm (in this process, with a lower slow-down)")
	flags.BoolVar(&f.detach, "detach", false, "keep the fabric in the background")
	flags.BoolVar(&f.privileged, "privileged", false,
		"give programs on nodes all capabilities of root: to mount, load BPF programs, enter namespaces")
	flags.BoolVar(&f.faults, "allow-faults", false, "let programs on nodes inject faults (pausenet fault)")
	flags.BoolVar(&f.names, "netns-names", false,
		"name the nodes' network namespaces NAME-NODE for \"ip netns\"; needs root")
	flags.StringVar(&f.routing, "routing", live.RoutingShortest,
		"`routes` of switches: shortest (paths), or kernel: the route "+
			"tables of the switches' namespaces, where BIRD and FRR can run; with --plane wasm")
	completeFlag(c, "routing", live.RoutingShortest, live.RoutingKernel)
	flags.StringVar(&f.clock, "clock", live.ClockWall, "`clock` that moves virtual time: wall, or lockstep: virtual "+
		"time stands still while a program on a node runs; with --plane wasm")
	completeFlag(c, "clock", live.ClockWall, live.ClockLockstep)
	flags.BoolVar(&f.nat, "nat", false, "connect all hosts to the machine's network, by their interface eth0")
	flags.StringVar(&f.metrics, "metrics", "", "serve metrics for Prometheus at this TCP `address`, or at "+
		live.DefaultMetrics)
	flags.Lookup("metrics").NoOptDefVal = live.DefaultMetrics
	flags.StringVar(&f.events, "events", "", "write events to this `file`, one line of JSON each")
	flags.StringVar(&f.web, "web", "", "serve a page that shows the fabric to browsers on this machine: `ro|rw`; rw "+
		"adds buttons that change it")
	flags.Lookup("web").NoOptDefVal = webRead
	completeFlag(c, "web", webWords...)
	completeFlag(c, "plane", plane.Kernel, plane.Wasm)
	completeController(c, controllerWords)
	completeFlag(c, "metrics", live.DefaultMetrics)
	completeNothing(c, "name", "slowdown", "set", "seed")
}

// check checks the flags. Routes by the kernel choose the wasm plane.
func (f *upFlags) check(c *cobra.Command) error {
	if err := notEmpty(c, "name"); err != nil {
		return err
	}
	if c.Flags().Changed("slowdown") && !(f.slowdown > 0 && f.slowdown <= maxSlowdown) {
		return badInput(fmt.Errorf("--slowdown %v: expected a positive number, such as 100, of at most %d", f.slowdown,
			int(maxSlowdown)))
	}
	if f.plane != plane.Kernel && f.plane != plane.Wasm {
		return badInput(fmt.Errorf("--plane %s: a live fabric needs kernel or wasm", f.plane))
	}
	switch {
	case f.routing != live.RoutingShortest && f.routing != live.RoutingKernel:
		return badInput(fmt.Errorf("--routing %s: expected shortest or kernel", f.routing))
	case f.routing == live.RoutingKernel && f.plane == plane.Kernel && c.Flags().Changed("plane"):
		return badInput(
			errors.New("--routing kernel needs --plane wasm: on the kernel plane, switches' interfaces belong to the " +
				"pipelines"))
	case f.routing == live.RoutingKernel:
		f.plane = plane.Wasm
	}
	if err := f.checkClock(c); err != nil {
		return err
	}
	return checkWeb(c, f.web)
}

// checkClock checks --clock. Lock step chooses the wasm plane.
func (f *upFlags) checkClock(c *cobra.Command) error {
	switch {
	case f.clock == live.ClockWall:
		return nil
	case f.clock != live.ClockLockstep:
		return badInput(fmt.Errorf("--clock %s: expected wall or lockstep", f.clock))
	case f.plane == plane.Kernel && c.Flags().Changed("plane"):
		return badInput(errors.New("--clock lockstep needs --plane wasm"))
	case c.Flags().Changed("slowdown"):
		return badInput(errors.New("--slowdown has no effect with --clock lockstep (leave one of them out)"))
	case !live.HasClock():
		return &exitError{
			exitEnvironment,
			errors.New("--clock lockstep needs the verbs library next to this program (build it " +
				"with \"make verbs\")"),
		}
	}
	f.plane = plane.Wasm
	return nil
}

func (f *upFlags) run(c *cobra.Command, args []string) error {
	subject := defaultTopology
	if len(args) > 0 {
		subject = args[0]
	}
	if err := f.check(c); err != nil {
		return err
	}
	reread := func(sets []string) (*scenario.Scenario, error) {
		return liveScenario(subject, append(append([]string(nil), f.sets...), sets...), f.controller)
	}
	scenario, err := reread(nil)
	if err != nil {
		return err
	}
	if f.nat {
		scenario.Topology = scenario.Topology.WithNAT()
	}
	if s, err := load(subject, nil); err == nil && s.imported != nil &&
		os.Getenv(detachedVariable) == "" && os.Geteuid() == 0 {
		writeWarnings(stderr(), subject, s.imported.Notes)
	}
	made, err := live.NewSetup(scenario, f.controller)
	if err == nil {
		err = shell.CheckCommands(scenario.Topology)
	}
	if err != nil {
		return badInput(err)
	}
	if os.Geteuid() != 0 || kernel.InUserNamespace() {
		if err := f.withoutRoot(c); err != nil {
			return err
		}
	}
	if os.Geteuid() != 0 {
		return inUserNamespace()
	}
	if f.detach && os.Getenv(detachedVariable) == "" {
		return detach(onScreen(c.OutOrStdout()), f.name)
	}
	options := live.Options{
		Name: f.name, Slowdown: f.slowdown, Seed: f.seed, Reread: reread, Line: shell.Line, Complete: shell.Complete,
		Metrics: f.metrics,
		Plane:   f.plane, Privileged: f.privileged, AllowFaults: f.faults, NetnsNames: f.names, Routing: f.routing,
		Clock: f.clock,
		Owner: live.ThisOwner(), Record: f.detach,
	}
	if f.events != "" {
		options.Events = func() (io.WriteCloser, error) { return files.Create(f.events) }
	}
	before := live.Ended(f.name)
	fabric, err := live.BringUp(made, options)
	var (
		environment *runner.EnvironmentError
		tooLarge    *kernel.TooLargeError
	)
	switch {
	case errors.Is(err, live.ErrName), errors.As(err, &tooLarge):
		return badInput(err)
	case errors.As(err, &environment):
		return &exitError{exitEnvironment, err}
	case err != nil:
		return badInput(err)
	}
	out := onScreen(c.OutOrStdout())
	page, err := serveFabric(f.name, f.web)
	if err != nil {
		return errors.Join(err, conclude(io.Discard, fabric, nil))
	}
	defer page.wait()
	if before != nil {
		fmt.Fprintf(out, "the previous fabric of this name: %v\n", before)
		if !f.detach {
			before.Forget()
		}
	}
	describeUp(out, fabric)
	page.describe(out)
	writeWarnings(stderr(), made.Scenario.Name, fabric.Warnings())
	startPrograms(out, fabric)
	var failed error
	if f.detach {
		detached(live.LogPath(f.name))
		waitForEnd(fabric)
	} else {
		failed = useShell(out, fabric)
	}
	return conclude(out, fabric, failed)
}

// describeUp prints a summary of the new fabric.
func describeUp(out io.Writer, f *live.Fabric) {
	plan := f.Plan
	fmt.Fprintf(out, "%s: %d hosts, %s, %s, up in %v; %s\n", f.Made.Scenario.Name, len(plan.Hosts),
		topologies.Plural(len(plan.Switch), "switch"), topologies.Plural(len(plan.Links), "link"),
		f.BringUp.Round(10*time.Millisecond), f.Made.Name)
	why := "as given"
	if f.Chosen {
		what := ""
		if f.PlaneName() == plane.Wasm {
			what = ", its switches in this process,"
		}
		why = fmt.Sprintf("chosen so that a quarter of the hosts at line rate use 60 %% of a processor; "+
			"a frame on a link%s costs %v here", what, vtime.WallText(f.PassCost.Round(10*time.Nanosecond)))
	}
	if f.Lockstep() {
		fmt.Fprintln(out, "lock step: virtual time stands still while a program on a node runs")
	} else {
		fmt.Fprintf(out, "slow-down %g: 1ms of virtual time takes %v (%s)\n", f.Slowdown(),
			vtime.WallText(f.Wall(1e9).Round(time.Microsecond)), why)
	}
	if f.Privileged() {
		fmt.Fprintln(out, "programs on nodes have all capabilities of root (--privileged)")
	}
	if address := f.MetricsAddress(); address != "" {
		fmt.Fprintf(out, "metrics at http://%s/metrics\n", address)
	}
}

// useShell runs the user's lines until the end. If standard input is not a terminal, the error has the number of
// failed lines.
func useShell(out io.Writer, f *live.Fabric) error {
	s := &shell.Shell{Fabric: f, Out: out, Programs: os.Stdout}
	var tally shell.Tally
	typed := make(chan error, 1)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(ended)
	terminal := term.IsTerminal(int(os.Stdin.Fd()))
	if !terminal {
		signal.Notify(ended, os.Interrupt)
	} else {
		ignored := make(chan os.Signal, 1) // Ctrl-C ends the line's work; not by Ignore, which programs would inherit
		signal.Notify(ignored, os.Interrupt)
		defer signal.Stop(ignored)
		s.In = os.Stdin
		defer keepTerminal()()
		fmt.Fprintln(out, "help lists the commands; exit or Ctrl-D ends the fabric")
	}
	go func() {
		if !terminal {
			typed <- s.LinesTo(os.Stdin, &tally)
			return
		}
		if err := s.Terminal(); err != nil {
			fmt.Fprintln(stderr(), "pausenet:", err)
		}
		typed <- nil
	}()
	select {
	case err := <-typed:
		return err
	case <-ended:
	case <-f.Done():
	case <-f.Asked():
	}
	return tally.Err() // of a script that the fabric's end interrupted
}

// keepTerminal returns a function that restores the terminal, whatever the line editor was doing when the fabric
// ended.
func keepTerminal() (restore func()) {
	fd := int(os.Stdin.Fd())
	was, err := term.GetState(fd)
	if err != nil {
		return func() {}
	}
	return func() {
		kernel.TakeBack(os.Stdin) // from a program on a node
		_ = term.Restore(fd, was)
	}
}

func waitForEnd(f *live.Fabric) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	signal.Ignore(syscall.SIGHUP)
	select {
	case s := <-ended:
		f.EndedBy(fmt.Sprintf("signal: %v", s))
	case <-f.Done():
	case <-f.Asked():
	}
}

// errUntrusted reports a fabric whose checks failed.
var errUntrusted = errors.New("the fabric is broken: do not trust its numbers")

// conclude ends a fabric and prints its verdict. failed is the error of its shell.
func conclude(out io.Writer, f *live.Fabric, failed error) error {
	v, err := f.Close()
	v.Write(out)
	if err == nil && v.Status == measure.Fail {
		err = errUntrusted
	}
	switch {
	case err == nil && failed == nil:
		return nil
	case err == nil:
		err = failed
	case failed != nil:
		err = fmt.Errorf("%w; and %w", err, failed)
	}
	var machine *plane.MachineError
	if errors.As(err, &machine) {
		return &exitError{exitEnvironment, err}
	}
	return &exitError{exitVerdict, err}
}

// runBare runs pausenet without arguments: up for root at a terminal, and the help otherwise.
func runBare(c *cobra.Command) error {
	if os.Geteuid() != 0 || !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return c.Help()
	}
	up, _, err := c.Find([]string{"up"})
	if err != nil {
		return err
	}
	up.SetContext(c.Context())
	if err := applyConfiguration(up, c.Flags().Lookup("config").Value.String()); err != nil {
		return err
	}
	return up.RunE(up, nil)
}
