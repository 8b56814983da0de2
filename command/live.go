//go:build linux

package command

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/orchestrator/image"
)

// liveScenario reads the subject of a live fabric: a scenario, or a topology with default settings.
func liveScenario(nameOrPath string, sets []string, controllers ...string) (*scenario.Scenario, error) {
	s, err := load(nameOrPath, nil)
	reading := scenario.Reading{Live: true, Sets: sets, Controllers: controllers}
	switch {
	case err == nil && s.scenario == nil:
		file, data := "", fmt.Sprintf("topology: %q\n", nameOrPath)
		if s.imported != nil { // its text is no file
			file, data = nameOrPath, "topology:\n  "+strings.ReplaceAll(strings.TrimSpace(s.imported.Text), "\n", "\n  ")+"\n"
		}
		scenario, err := reading.Parse(file, []byte(data))
		if err == nil {
			scenario.Name = s.topology.Name
		}
		return scenario, badInput(err)
	case err == nil:
		scenario, err := reading.Parse(nameOrPath+".yaml", s.source)
		if err == nil {
			scenario.Name = s.scenario.Name
		}
		return scenario, badInput(err)
	}
	return nil, err
}

// dial connects to a live fabric.
func dial(name string) (*live.Client, error) {
	c, err := live.Dial(name)
	if errors.Is(err, live.ErrSeveral) {
		err = fmt.Errorf("%w (choose one with --fabric NAME; shell, inspect and down take NAME)", err)
	}
	if errors.Is(err, live.ErrNone) || errors.Is(err, live.ErrSeveral) {
		return nil, badInput(err)
	}
	return c, clientError(err, exitEnvironment)
}

// clientError adds an exit code to an error of a fabric's client: code, or exitEnvironment if the fabric did not
// answer.
func clientError(err error, code int) error {
	var (
		unanswered *live.Unanswered
		coded      *exitError
	)
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.As(err, &unanswered):
		code = exitEnvironment
	}
	return &exitError{code, err}
}

// filesLeft returns the leftover files of live fabrics.
func filesLeft() (files []leftFile) {
	for _, l := range live.Left() {
		files = append(files, leftFile{l.Path, l.What, l.Remove})
	}
	for _, folder := range image.Left() {
		files = append(files, leftFile{
			folder, "an unpacked image of fabrics' nodes",
			func() error { return image.Remove(folder) },
		})
	}
	return files
}

// fabricFlag adds --fabric to a command about one fabric.
func fabricFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "fabric", "", "`name` of the fabric (default: the only one that is up)")
	completeBy(c, "fabric", completeFabrics)
}

// completeNodes completes nodes of the fabric in --fabric, and for a second word, if ports is true, the node's
// neighbours.
func completeNodes(fabric *string, ports bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		const no = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 1 || len(args) == 1 && !ports {
			return nil, cobra.ShellCompDirectiveDefault
		}
		if len(args) == 1 {
			return completeLine(*fabric, "link "+args[0]+" ", ""), no // neighbours
		}
		client, err := live.Dial(*fabric)
		if err != nil {
			return nil, no
		}
		defer client.Close()
		reply, err := client.Ask(live.Request{Verb: "inspect"})
		if err != nil {
			return nil, no
		}
		for _, n := range reply.Inspect.Nodes {
			names = append(names, n.Name)
		}
		return names, no
	}
}

// completeLine returns a fabric's completions of the last word of a line for its shell, after the words before it.
func completeLine(fabric, before, prefix string) []string {
	client, err := live.Dial(fabric)
	if err != nil {
		return nil
	}
	defer client.Close()
	reply, err := client.Ask(live.Request{Verb: "complete", Line: before + prefix})
	if err != nil {
		return nil
	}
	return lists.Map(reply.Lines, func(l string) string { return strings.TrimSpace(strings.TrimPrefix(l, before)) })
}

func completeFabrics(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names, _ := live.Names()
	return names, cobra.ShellCompDirectiveNoFileComp
}

// liveCounters connects to a live fabric, and returns the source of its counters.
func liveCounters(fabric string) (*taker, error) {
	client, err := dial(fabric)
	if err != nil {
		return nil, err
	}
	var mutex sync.Mutex // a client asks one question at a time
	return &taker{func() (*counters.Fabric, error) {
		mutex.Lock()
		defer mutex.Unlock()
		reply, err := client.Ask(live.Request{Verb: "counters"})
		if err != nil {
			return nil, clientError(err, exitEnvironment)
		}
		return reply.Counters, nil
	}, func() { client.Close() }}, nil
}
