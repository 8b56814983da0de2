package main

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/pausenet/pausenet/experiments"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/spf13/cobra"
)

func newValidateCommand() *cobra.Command {
	var sets, controllers []string
	c := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check scenario, topology and sweep files",
		Long: `validate reads scenario, topology and sweep files, tells which is which, resolves them as
a run would, and reports every mistake with its place. What it lets through a run does not
refuse. Nothing is built or run. --set changes what it reads, as it does for run, and for
sweep if the file is a sweep's; --cc names other congestion controls than the scenario's.`,
		Example: `  pausenet validate fabric.yaml incast.yaml sweep.yaml
  pausenet validate incast.yaml --set switch.pfc.xoff=256KB`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeSubjects,
		RunE: func(c *cobra.Command, args []string) error {
			failed := 0
			for _, name := range args {
				if err := validate(c.OutOrStdout(), name, sets, controllers); err != nil {
					failed++
					fmt.Fprintf(c.ErrOrStderr(), "pausenet: %v\n", err)
				}
			}
			if failed > 0 {
				return badInput(fmt.Errorf("%d of %d files have mistakes", failed, len(args)))
			}
			return nil
		},
	}
	setFlag(c, &sets)
	controllersFlag(c, &controllers)
	return c
}

// validate reads one file, or stream, and says that it is fine, or what is not.
func validate(w io.Writer, name string, sets, controllers []string) error {
	from, err := read(name)
	if err != nil {
		return err
	}
	if experiments.IsSweep(from.data) {
		return validateSweep(w, from.filename, from.data, sets, controllers)
	}
	if files.IsStream(name) {
		name = from.filename
	}
	s, err := from.parse(sets)
	if err == nil && s.scenario != nil {
		err = from.check(s.scenario, sets, controllers)
	}
	switch {
	case err != nil:
		return err
	case s.scenario != nil:
		fmt.Fprintf(w, "%s: scenario %s is fine; flows: %d; fabric: %s\n", name, s.scenario.Name, len(s.scenario.Flows), s.topology.Summary())
	default:
		fmt.Fprintf(w, "%s: topology %s is fine; fabric: %s\n", name, s.topology.Name, s.topology.Summary())
	}
	return nil
}

// check finds what a run of a scenario would refuse, in its quick form too if it has one.
func (from *source) check(s *experiments.Scenario, sets, controllers []string) error {
	forms := []*experiments.Scenario{s}
	if s.HasQuick {
		quick, err := experiments.Reading{Quick: true, Sets: sets}.Parse(from.filename, from.data)
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
		if err := experiments.Check(form, names); err != nil {
			return err
		}
		for _, text := range experiments.Warnings(form, names) {
			fmt.Fprintf(os.Stderr, "pausenet: %s: warning: %s\n", form.Name, text)
		}
	}
	return nil
}

func validateSweep(w io.Writer, name string, data []byte, sets, controllers []string) error {
	s, err := experiments.ParseSweep(name, data)
	if err != nil {
		return err
	}
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
	fmt.Fprintf(w, "%s: sweep %s is fine; points: %d\n", name, s.Name, len(points))
	writeDuplicates(w, points)
	return nil
}
