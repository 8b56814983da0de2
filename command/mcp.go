package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/command/mcpserver"
	"github.com/pausenet/pausenet/docs"
	"github.com/pausenet/pausenet/experiments/analysis/bound"
	"github.com/pausenet/pausenet/experiments/jsonschema"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/shutdown"
)

// callTimeout is the default of mcp's --timeout.
const callTimeout = 10 * time.Minute

// modelTools returns the commands that language models may call. A row makes a tool of a command.
func modelTools() []mcpserver.Tool {
	file := mcpserver.Argument{
		Name: "scenario", Required: true,
		About: "a built-in scenario's name, a file's name, or the name of one of files",
	}
	files := file
	files.Name, files.Many, files.About = "scenarios", true, "names of built-in scenarios or of files"
	checked := files
	checked.Name, checked.About = "names", "names of files: scenarios, topologies or sweeps"
	side := mcpserver.Argument{
		Name: "a", Required: true, About: "a controller, a setting path=value, a scenario, or the name of one of files",
	}
	other := side
	other.Name, other.About = "b", "the alternative, of the same kind"
	optional := files
	optional.Required = false
	family := file
	family.Name, family.About = "family", "a file with a section search or tune, or the name of one of files"
	return []mcpserver.Tool{
		{
			Command: "run", Arguments: []mcpserver.Argument{files}, Files: true, Writes: true, Result: []runView{},
			Flags: []string{"cc", "seed", "seeds", "set", "quick", "why", "jobs"},
			About: "Results are the numbers of summary.json for each controller and seed; times are in virtual nanoseconds. " +
				"Equal scenario and seed give equal results, so one run is enough. Do not trust numbers whose verdict is FAIL. " +
				"Give why: true to explain flows with the tool why afterwards.",
		},
		{
			Command: "why", Result: map[string]any{}, Arguments: []mcpserver.Argument{
				{Name: "folder", Required: true, About: "the folder that run returned for a run with why: true"},
				{Name: "flow", About: "a flow's number or tag (default: the sum over all flows)"},
			},
			Flags: []string{"all"},
			About: "The parts of a flow's completion time add up exactly, and each names its cause.",
		},
		{
			Command: "bound", Arguments: []mcpserver.Argument{file}, Files: true, Result: bound.Bound{},
			Flags: []string{"seed", "set", "quick"},
			About: "Compare a controller's results with it to see what is left to gain.",
		},
		{
			Command: "compare", Arguments: []mcpserver.Argument{side, other, optional}, Files: true,
			Flags: []string{"seeds", "metrics", "margin", "all", "cc", "set", "quick"}, Always: []string{"--no-programs"},
			About: "Each seed is a pair of runs. An exit code of 1 says that a is significantly worse in a measure. " +
				"Docs page: compare.",
		},
		{
			Command: "search", Arguments: []mcpserver.Argument{family}, Files: true, Writes: true,
			Flags: []string{"cc", "objective"},
			About: "The section search of a scenario's file says what may vary and what to look for. Without it, cc and " +
				"objective do. Docs page: search.",
		},
		{
			Command: "tune", Arguments: []mcpserver.Argument{family}, Files: true, Writes: true,
			About: "The section tune of a scenario's file says what may vary, what to improve, and the limits. Docs page: tune.",
		},
		{
			Command: "validate", Arguments: []mcpserver.Argument{checked}, Files: true, Result: []validated{},
			Flags: []string{"cc", "set"},
			About: "Each mistake has its line, column and remedy. Validate a file before you run it.",
		},
		{
			Command: "list", Arguments: []mcpserver.Argument{
				{Name: "names", Many: true, About: "a kind of built-ins (" + choices(listKinds) + "); with cc: controllers"},
			},
			Flags: []string{"cc"},
			About: "With cc and without names, list the congestion controllers; with names, their constants.",
		},
		{
			Command: "show", Arguments: []mcpserver.Argument{file}, Files: true, Flags: []string{"source"}, Text: true,
			About: "Give source: true to start a scenario of your own from a built-in.",
		},
		{
			Command: "schema", Arguments: []mcpserver.Argument{
				{Name: "kind", Words: jsonschema.Kinds, About: "kind of file (default: scenario)"},
			},
			Flags: []string{"keys"}, Required: []string{"keys"}, Result: []jsonschema.Key{},
			About: "The result lists the keys below a path, and how many are below each of them.",
		},
		{
			Command: "docs", Result: docsView{}, Arguments: []mcpserver.Argument{
				{Name: "page", About: "a page, such as headroom, or a section, such as scenarios#workloads"},
			},
			Flags: []string{"find"},
			About: "Without parameters, list the pages. Large pages: find words, or name a section.",
		},
	}
}

// modelInstructions explain the tools to a language model.
const modelInstructions = `pausenet simulates lossless data-center fabrics (RoCE, PFC, ECN, congestion control), frame by
frame in virtual time. Usual steps: list the built-in scenarios; show one with source: true; write a scenario of your
own and validate it; run it under one or more congestion controllers (cc); ask why for the slow flows, and bound for
what no controller can beat. A controller may be a Starlark file given in files, such as mine.star (docs page
controllers-from-files). Every result repeats exactly with the same seed.`

type mcpFlags struct {
	folder  string
	timeout time.Duration
	calls   int
}

func newMCPCommand() *cobra.Command {
	var f mcpFlags
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Offer commands as tools to language models, by MCP",
		Long: `Serve the Model Context Protocol on standard input and output, for clients
that start their servers as programs. The client's language model gets tools
(run, why, bound, compare, search, tune, validate, list, show, schema, docs).
The documentation and the built-in scenarios are resources.

Each call runs in a process of its own, which ends with the call. Files that a
model sends, and results, are written below --folder.`,
		Example: `  claude mcp add pausenet -- pausenet mcp --folder ~/pausenet`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	flags.StringVar(&f.folder, "folder", ".", "`folder` for files and results")
	flags.DurationVar(&f.timeout, "timeout", callTimeout, "`limit` on the time of a call")
	flags.IntVar(&f.calls, "calls", runtime.NumCPU(),
		"`number` of calls at a time; more calls wait (default: one per processor)")
	completeFolder(c, "folder")
	completeNothing(c, "timeout", "calls")
	return c
}

func (f *mcpFlags) run(c *cobra.Command) error {
	if err := errors.Join(notEmpty(c, "folder"), atLeastOne(c.Flags(), "calls")); err != nil {
		return err
	}
	if f.timeout <= 0 {
		return badInput(fmt.Errorf("--timeout %v: expected a time above 0", f.timeout))
	}
	folder, err := filepath.Abs(f.folder)
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	if !isFolder(folder) {
		return badInput(fmt.Errorf("--folder %s: no such folder (make it first)", f.folder))
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	err = mcpserver.Serve(ctx, mcpserver.Stdio(os.Stdin, os.Stdout), f.options(folder))
	switch {
	case ctx.Err() != nil:
		return &exitError{exitVerdict, errors.New("interrupted")}
	case err != nil:
		return &exitError{exitEnvironment, fmt.Errorf("the client's connection: %w", err)}
	}
	return nil
}

func (f *mcpFlags) options(folder string) *mcpserver.Options {
	return &mcpserver.Options{
		Version: version(), Instructions: modelInstructions, Root: newRootCommand(), Tools: modelTools(),
		Resources: modelResources(), Folder: folder, Timeout: f.timeout, Calls: f.calls,
	}
}

// modelResources returns the pages of the documentation, and the built-in scenarios.
func modelResources() (all []mcpserver.Resource) {
	for _, p := range docs.Pages() {
		all = append(all, mcpserver.Resource{
			URI: "pausenet://docs/" + p.Name, Name: p.Name, About: p.Title, MIME: "text/markdown",
			Read: func() ([]byte, error) { return []byte(p.Text), nil },
		})
	}
	for _, name := range slices.Sorted(slices.Values(scenario.BuiltinNames())) {
		all = append(all, mcpserver.Resource{
			URI: "pausenet://scenarios/" + name, Name: name, About: "the built-in scenario " + name, MIME: "application/yaml",
			Read: func() ([]byte, error) { return scenario.BuiltinSource(name) },
		})
	}
	return all
}
