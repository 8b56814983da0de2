package command

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/scenario/lint"
	"github.com/pausenet/pausenet/experiments/search"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/experiments/tune"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

func newValidateCommand() *cobra.Command {
	var (
		sets, controllers []string
		format            string
	)
	c := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check scenario, topology, sweep and family files",
		Long: `Check the files of scenarios, topologies, sweeps and families (for search and
tune) as a run would read them, and report each mistake with its line and
column. Nothing is built or run. If validate accepts a file, so do run, sweep,
search and tune.

validate also warns of settings that are allowed but probably wrong: a headroom
smaller than the bytes in flight, or settings that have no effect.

--set changes the file as it does for run (or for sweep, if the file is a
sweep). --cc checks other congestion controllers than the scenario's.`,
		Example: `  pausenet validate fabric.yaml incast.yaml sweep.yaml
  pausenet validate incast.yaml --set switch.pfc.xoff=256KB
  pausenet validate incast.yaml -o json`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeSubjects,
		RunE: func(c *cobra.Command, args []string) error {
			failed := 0
			all := make([]validated, len(args))
			for i, name := range args {
				v := &all[i]
				v.File, v.Warnings = name, []string{}
				err := v.validate(name, sets, controllers)
				if err != nil {
					failed++
					v.Error = err.Error()
					errors.As(err, &v.Mistakes)
				}
				if structured(format) {
					continue
				}
				writeWarnings(c.ErrOrStderr(), v.Name, v.Warnings)
				if err != nil {
					fmt.Fprintf(c.ErrOrStderr(), "pausenet: %v\n", err)
					continue
				}
				v.write(people(c.OutOrStdout()))
			}
			if structured(format) {
				if err := writeStructured(c.OutOrStdout(), format, all); err != nil {
					return err
				}
			}
			if failed > 0 {
				verb := "have"
				if failed == 1 {
					verb = "has"
				}
				return badInput(fmt.Errorf("%d of %s %s mistakes", failed, count(len(args), "file"), verb))
			}
			return nil
		},
	}
	setFlag(c, &sets)
	controllersFlag(c, &controllers)
	formatFlag(c, &format)
	return c
}

// validated holds the results for one file.
type validated struct {
	File  string `json:"file"`
	Kind  string `json:"kind,omitempty"` // scenario, topology, sweep, search or tune; empty if the file could not be read
	Name  string `json:"name,omitempty"`
	Error string `json:"error,omitempty"` // all mistakes as text; absent if none
	// Mistakes holds the mistakes that have a position.
	Mistakes yamlspec.Problems `json:"mistakes,omitempty"`
	Warnings []string          `json:"warnings"`
	Flows    *int              `json:"flows,omitempty"`  // only for scenarios
	Fabric   string            `json:"fabric,omitempty"` // for scenarios and topologies
	Points   *int              `json:"points,omitempty"` // only for sweeps
	// Same lists the sweep's points whose run equals an earlier point's.
	Same []string `json:"same,omitempty"`
}

// validate reads one file or stream, and returns its warnings and mistakes.
func (v *validated) validate(name string, sets, controllers []string) error {
	from, err := read(name)
	if err != nil {
		return err
	}
	if files.IsStream(name) {
		v.File = from.filename
	}
	for kind, parse := range families {
		if root := new(yamlspec.Report).Parse("", from.data); !root.Has(kind) {
			continue
		}
		if len(sets)+len(controllers) > 0 {
			return badInput(fmt.Errorf("%s is a family for %s: --set and --cc do not apply", from.filename, kind))
		}
		v.File, v.Kind = from.filename, kind
		v.Name, err = parse(from.filename, from.data)
		return err
	}
	if sweep.Is(from.data) {
		v.File = from.filename
		return v.sweep(from, sets, controllers)
	}
	s, err := from.parse(sets, controllers...)
	if err != nil {
		return err
	}
	v.Fabric = s.topology.Summary()
	if s.scenario == nil {
		v.Kind, v.Name = "topology", s.topology.Name
		return nil
	}
	flows := s.scenario.FlowCount()
	v.Kind, v.Name, v.Flows = "scenario", s.scenario.Name, &flows
	return v.check(from, s.scenario, sets, controllers)
}

// families holds the readers of families, which return the family's name, by the section that a family's file has.
var families = map[string]func(filename string, data []byte) (string, error){
	"search": func(filename string, data []byte) (string, error) {
		f, err := search.Parse(filename, data)
		if err != nil {
			return "", err
		}
		return f.Name, nil
	},
	"tune": func(filename string, data []byte) (string, error) {
		t, err := tune.Parse(filename, data)
		if err != nil {
			return "", err
		}
		return t.Name, nil
	},
}

// write prints that the file is valid.
func (v *validated) write(w io.Writer) {
	switch v.Kind {
	case "sweep":
		fmt.Fprintf(w, "%s: sweep %s is valid; %s\n", v.File, v.Name, count(*v.Points, "point"))
		writeDuplicates(w, v.Same)
	case "scenario":
		fmt.Fprintf(w, "%s: scenario %s is valid; %s; %s\n", v.File, v.Name, count(*v.Flows, "flow"), v.Fabric)
	case "search", "tune":
		fmt.Fprintf(w, "%s: family %s is valid; run it with \"pausenet %s\"\n", v.File, v.Name, v.Kind)
	default:
		fmt.Fprintf(w, "%s: topology %s is valid; %s\n", v.File, v.Name, v.Fabric)
	}
}

// check returns the errors and warnings of a scenario, including its quick form if there is one.
func (v *validated) check(from *source, s *scenario.Scenario, sets, controllers []string) error {
	forms := []*scenario.Scenario{s}
	if s.HasQuick {
		quick, err := scenario.Reading{Quick: true, Sets: sets, Controllers: controllers}.Parse(from.filename, from.data)
		if err != nil {
			return err
		}
		forms = append(forms, quick)
	}
	for _, form := range forms {
		names := form.Controllers
		if len(controllers) > 0 {
			var err error
			if names, err = form.ControllerNames(controllers); err != nil {
				return err
			}
		}
		if err := scenario.Check(form, names); err != nil {
			return err
		}
		for _, text := range lint.Warnings(form, names) {
			switch {
			case slices.Contains(v.Warnings, text): // also a warning of the plain form
			case form != s:
				v.Warnings = append(v.Warnings, "in the quick form: "+text)
			default:
				v.Warnings = append(v.Warnings, text)
			}
		}
	}
	return nil
}

// sweep returns the errors and warnings of a sweep.
func (v *validated) sweep(from *source, sets, controllers []string) error {
	s, err := sweep.Parse(from.filename, from.data)
	if err != nil {
		return err
	}
	v.Kind, v.Name = "sweep", s.Name
	if err := s.Set(sets); err != nil {
		return err
	}
	if len(controllers) > 0 {
		s.Controllers = controllers
	}
	points, err := s.Points(runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	n := len(points)
	v.Points, v.Same = &n, sweep.Duplicates(points)
	v.Warnings = append(v.Warnings, sweep.Warnings(points)...)
	return nil
}

// writeWarnings prints warnings about a valid scenario, sweep or fabric.
func writeWarnings(w io.Writer, name string, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintf(w, "pausenet: %s: warning: %s\n", name, text)
	}
}
