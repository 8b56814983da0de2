package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/results/runfolders"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/shutdown"
)

// Formats of counters besides those of most commands.
const (
	formatPFC     = "pfc"
	formatEthtool = "ethtool"
	formatDB      = "counters-db"
)

type countersFlags struct {
	fabric, controller, node string
	sets                     []string
	out, redis, format       string
}

func newCountersCommand() *cobra.Command {
	var f countersFlags
	c := &cobra.Command{
		Use:   "counters [DIR|SCENARIO]",
		Short: "Print port counters in the formats of SONiC and ethtool",
		Long: `Print the counters of all ports in the formats of operators' tools:

  pfc          the tables of SONiC's show pfc counters
  ethtool      ethtool -S, with the names of NVIDIA's driver, RDMA included
  counters-db  SONiC's COUNTERS_DB, as sonic-db-dump prints it

Without an argument, the counters are those of a live fabric. With a scenario,
counters runs it without writing results. A run's folder contains no port
counters, so counters repeats the run from its manifest, and checks that the
fingerprint is the same. Counters start at 0 with the run or fabric.

The default format is pfc for switches and ethtool for hosts. --dump writes a
file for each node and format, which diagnose reads.

--redis serves one switch's COUNTERS_DB over the redis protocol, in database 2
as on a SONiC switch, until Ctrl-C. Use it to try tools that only read this
database.`,
		Example: `  pausenet counters pfc-storm --cc none
  pausenet counters results/incast/dcqcn --node h0 -o ethtool
  sudo pausenet counters --node leaf0 --redis 127.0.0.1:6379
  redis-cli -n 2 HGETALL COUNTERS_PORT_NAME_MAP`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeSubjects,
		RunE:              func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	flags := c.Flags()
	flags.StringVar(&f.node, "node", "", "only this `node`")
	flags.StringVar(&f.controller, "cc", "",
		"congestion controller or variant of a scenario, by `name` (default: its first)")
	flags.StringVar(&f.fabric, "fabric", "", "`name` of the live fabric (default: the only one that is up)")
	setFlag(c, &f.sets)
	flags.StringVar(&f.out, "dump", "", "write a file for each node and format to this `folder`")
	flags.StringVar(&f.redis, "redis", "",
		"serve COUNTERS_DB of a switch (--node) at this `address`, such as 127.0.0.1:6379")
	completeController(c, controllerWords)
	completeFolder(c, "dump")
	completeNothing(c, "node")
	completeNothing(c, "redis")
	completeNothing(c, "fabric")
	formatFlag(c, &f.format, formatPFC, formatEthtool, formatDB)
	return c
}

// taker takes the present counters of a fabric. close ends its connection.
type taker struct {
	take  func() (*counters.Fabric, error)
	close func()
}

func (f *countersFlags) run(c *cobra.Command, args []string) error {
	if err := errors.Join(notEmpty(c, "dump"), notEmpty(c, "redis")); err != nil {
		return err
	}
	if err := atMostOne(c, "dump", "redis"); err != nil {
		return err
	}
	source, err := f.source(c, args)
	if err != nil {
		return err
	}
	defer source.close()
	fabric, err := source.take()
	if err != nil {
		return err
	}
	if f.node != "" {
		n := fabric.Node(f.node)
		if n == nil {
			return badInput(fmt.Errorf("--node %s: no such node in %s (its nodes: %s)", f.node, fabric.Name,
				lists.Few(countedNodes(fabric))))
		}
		fabric.Nodes = []*counters.Node{n}
	}
	switch {
	case f.redis != "":
		return f.serve(c, fabric, source)
	case f.out != "":
		return dumpCounters(c.OutOrStdout(), f.out, fabric)
	case structured(f.format):
		return writeStructured(c.OutOrStdout(), f.format, fabric)
	}
	return f.write(c.OutOrStdout(), fabric)
}

func countedNodes(fabric *counters.Fabric) (names []string) {
	return lists.Map(fabric.Nodes, func(n *counters.Node) string { return n.Name })
}

// source returns the source of counters that the arguments name.
func (f *countersFlags) source(c *cobra.Command, args []string) (*taker, error) {
	if len(args) == 0 {
		if c.Flags().Changed("cc") || c.Flags().Changed("set") {
			return nil, badInput(
				errors.New("--cc and --set are for a scenario: name it (without a name, counters reads a live fabric)"))
		}
		return liveCounters(f.fabric)
	}
	if c.Flags().Changed("fabric") {
		return nil, badInput(fmt.Errorf("--fabric is for live fabrics: leave out %s or --fabric", args[0]))
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	var (
		fabric *counters.Fabric
		err    error
	)
	if info, statErr := os.Stat(args[0]); statErr == nil && info.IsDir() {
		fabric, err = f.ofRun(c, ctx, args[0])
	} else {
		fabric, err = f.ofScenario(ctx, args[0])
	}
	return &taker{func() (*counters.Fabric, error) { return fabric, nil }, func() {}}, err
}

// ofRun repeats the only run in a folder.
func (f *countersFlags) ofRun(c *cobra.Command, ctx context.Context, folder string) (*counters.Fabric, error) {
	if c.Flags().Changed("cc") || c.Flags().Changed("set") {
		return nil, badInput(fmt.Errorf("--cc and --set are for a scenario: %s is a run, with its own", folder))
	}
	locations, err := runfolders.FindRuns(folder)
	if err != nil {
		return nil, badInput(err)
	}
	if len(locations) > 1 {
		return nil, badInput(
			&rundir.FileError{Path: folder, Err: fmt.Errorf("it has %d runs: name one, such as %s", len(locations),
				locations[0].Path())})
	}
	r, err := readRecorded(locations[0])
	if err != nil {
		return nil, badInput(err)
	}
	fabric, fingerprint, err := runCounters(ctx, r.scenario, r.manifest.Controller, r.manifest.Seed)
	if err == nil && fingerprint != r.manifest.Fingerprint {
		err = &exitError{
			exitVerdict,
			fmt.Errorf("%s: the repeated run has the fingerprint %s, not %s: pausenet %s made the run, this is %s",
				folder, short(fingerprint), short(r.manifest.Fingerprint), r.manifest.Version, version()),
		}
	}
	return fabric, err
}

// ofScenario runs a scenario under one controller.
func (f *countersFlags) ofScenario(ctx context.Context, name string) (*counters.Fabric, error) {
	s, err := load(name, f.sets)
	if err != nil {
		return nil, err
	}
	if s.scenario == nil {
		return nil, badInput(
			fmt.Errorf("%s is a topology, without traffic to count (name a scenario, or a run's folder)", name))
	}
	controller := cmp.Or(f.controller, s.scenario.Controllers[0])
	if err := scenario.Check(s.scenario, []string{controller}); err != nil {
		return nil, badInput(err)
	}
	fabric, _, err := runCounters(ctx, s.scenario, controller, s.scenario.Seed)
	return fabric, err
}

// runCounters runs a scenario without writing anything.
func runCounters(ctx context.Context, s *scenario.Scenario, controller string, seed uint64) (fabric *counters.Fabric,
	fingerprint string, err error,
) {
	o := runner.Options{
		Controller: controller, Seed: seed,
		Observers: []runner.NewObserver{counters.Observe(func(f *counters.Fabric) { fabric = f })},
	}
	summary, err := runner.Watch(ctx, s, o, runner.Watching{})
	if err != nil {
		return nil, "", runError(err)
	}
	return fabric, summary.Fingerprint, nil
}

// write prints counters in one format.
func (f *countersFlags) write(out io.Writer, fabric *counters.Fabric) error {
	printed := 0
	for _, n := range fabric.Nodes {
		var (
			write func(io.Writer) error
			title string
		)
		switch {
		case f.format == formatEthtool, f.format == formatTable && n.Host:
			write = n.WriteEthtool
		case f.format == formatDB && (f.node != "" || !n.Host):
			write, title = n.WriteDatabase, "sonic-db-dump -n COUNTERS_DB -y"
		case f.format != formatDB && (f.node != "" || !n.Host):
			write, title = n.WritePFC, "show pfc counters"
		default:
			continue
		}
		if printed++; printed > 1 {
			fmt.Fprintln(out)
		}
		if len(fabric.Nodes) > 1 && title != "" {
			fmt.Fprintf(out, "# %s: %s\n", n.Name, title)
		}
		if err := write(out); err != nil {
			return err
		}
	}
	return nil
}

// dumpCounters writes a file for each node and format.
func dumpCounters(out io.Writer, folder string, fabric *counters.Fabric) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return writeError(err)
	}
	files := 0
	for _, n := range fabric.Nodes {
		for name, data := range n.Files() {
			if err := os.WriteFile(filepath.Join(folder, name), data, 0o666); err != nil {
				return writeError(err)
			}
			files++
		}
	}
	fmt.Fprintf(out, "%d files of %d nodes in %s\n", files, len(fabric.Nodes), folder)
	return nil
}

// serve serves a switch's COUNTERS_DB until a signal.
func (f *countersFlags) serve(c *cobra.Command, fabric *counters.Fabric, source *taker) error {
	if f.node == "" {
		return badInput(
			fmt.Errorf("--redis serves one switch: name it with --node (nodes: %s)", lists.Few(countedNodes(fabric))))
	}
	if fabric.Node(f.node).Host {
		return badInput(fmt.Errorf("--redis serves a switch, and %s is a host: name another --node", f.node))
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	listener, err := net.Listen("tcp", f.redis)
	if err != nil {
		return &exitError{exitEnvironment, fmt.Errorf("--redis: %w (choose another address, such as 127.0.0.1:16379)", err)}
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	server := counters.Server{Database: func(n int) (counters.Database, error) {
		if n != counters.CountersDB {
			return counters.Database{}, nil
		}
		now, err := source.take()
		if err != nil {
			listener.Close() // the fabric has ended
			return nil, err
		}
		return now.Node(f.node).Database(), nil
	}}
	address := listener.Addr().String()
	host, port, _ := net.SplitHostPort(address)
	fmt.Fprintf(c.OutOrStdout(), "COUNTERS_DB of %s: redis-cli -h %s -p %s -n %d (Ctrl-C ends it)\n", f.node,
		strings.Trim(host, "[]"), port, counters.CountersDB)
	return server.Serve(listener)
}
