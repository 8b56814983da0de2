package command

import (
	"fmt"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/partition"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies"
)

// seedFlag implements the value of a flag for a seed.
type seedFlag uint64

// String returns the flag's text.
func (s *seedFlag) String() string { return strconv.FormatUint(uint64(*s), 10) }

// Type returns the name of the value in help.
func (*seedFlag) Type() string { return "seed" }

// Set parses the flag.
func (s *seedFlag) Set(text string) error {
	seed, err := scenario.ParseSeed(text)
	if err == nil {
		*s = seedFlag(seed)
	}
	return err
}

// atLeastOne returns an error if a flag's number is below 1.
func atLeastOne(flags *pflag.FlagSet, name string) error {
	if n, err := flags.GetInt(name); err != nil || n < 1 {
		return badInput(fmt.Errorf("--%s %s: expected at least 1", name, flags.Lookup(name).Value))
	}
	return nil
}

// jobsFlag adds the flag for the number of runs, or of other things, at a time. checkJobs checks it.
func jobsFlag(c *cobra.Command, to *int, things string) {
	c.Flags().IntVar(to, "jobs", 0, "`number` of "+things+" at a time (default: one per processor)")
	completeNothing(c, "jobs")
}

// checkJobs checks the number of runs at a time. Without the flag it becomes the number of processors.
func checkJobs(c *cobra.Command, to *int) error {
	if !c.Flags().Changed("jobs") {
		*to = runtime.GOMAXPROCS(0)
		return nil
	}
	return atLeastOne(c.Flags(), "jobs")
}

// processorsFlag adds the flag for the number of processors per run. The help ends with the given text, such as the
// default.
func processorsFlag(c *cobra.Command, to *int, helpEnd string) {
	c.Flags().IntVar(to, "processors", *to, "`number` of processors per run on the wasm plane; results are equal"+
		helpEnd)
	completeNothing(c, "processors")
}

// idleProcessors returns a warning if --processors has no effect because a run has at most one worker. most is the
// largest number of workers of the run.
func idleProcessors(flags *pflag.FlagSet, most int) []string {
	flag := flags.Lookup("processors")
	if n, _ := flags.GetInt(flag.Name); !flag.Changed || n == 1 || most > 1 {
		return nil
	}
	return []string{fmt.Sprintf("--processors %s has no effect: this fabric has only one partition",
		flag.Value)}
}

// checkProcessors returns an error if --processors is out of range, or above 1 on the kernel plane.
func checkProcessors(c *cobra.Command, planeName string) error {
	flag := c.Flags().Lookup("processors")
	if !flag.Changed {
		return nil
	}
	n, err := c.Flags().GetInt(flag.Name)
	switch {
	case err != nil || n < 1 || n > partition.MaxWorkers:
		return badInput(fmt.Errorf("--processors %s: expected 1 to %d", flag.Value, partition.MaxWorkers))
	case n > 1 && planeName == plane.Kernel:
		return badInput(
			fmt.Errorf("--processors %d: the kernel plane uses one processor (leave the flag out, or use --plane wasm)", n))
	}
	return nil
}

// count formats a number of things: "1 hop", "3 hops".
var count = topologies.Plural
