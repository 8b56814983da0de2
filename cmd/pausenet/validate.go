package main

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/pausenet/pausenet/experiments"
	"github.com/spf13/cobra"
)

func newValidateCommand() *cobra.Command {
	var sets []string
	c := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check scenario, topology and sweep files",
		Long: `validate reads scenario, topology and sweep files, tells which is which, resolves them as
a run would, and reports every mistake with its place. Nothing is built or run. --set changes what it reads,
as it does for run, and for sweep if the file is a sweep's.`,
		Example: `  pausenet validate fabric.yaml incast.yaml sweep.yaml
  pausenet validate incast.yaml --set switch.pfc.xoff=256KB`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeSubjects,
		RunE: func(c *cobra.Command, args []string) error {
			failed := 0
			for _, name := range args {
				if data, err := os.ReadFile(name); err == nil && experiments.IsSweep(data) {
					if err := validateSweep(c.OutOrStdout(), name, data, sets); err != nil {
						failed++
						fmt.Fprintf(c.ErrOrStderr(), "pausenet: %v\n", err)
					}
					continue
				}
				s, err := load(name, sets)
				if err == nil && s.scenario != nil && s.scenario.HasQuick {
					_, err = experiments.Reading{Quick: true, Sets: sets}.Load(name)
				}
				switch {
				case err != nil:
					failed++
					fmt.Fprintf(c.ErrOrStderr(), "pausenet: %v\n", err)
				case s.scenario != nil:
					fmt.Fprintf(c.OutOrStdout(), "%s: scenario %s is fine; flows: %d; fabric: %s\n",
						name, s.scenario.Name, len(s.scenario.Flows), s.topology.Summary())
				default:
					fmt.Fprintf(c.OutOrStdout(), "%s: topology %s is fine; fabric: %s\n", name, s.topology.Name, s.topology.Summary())
				}
			}
			if failed > 0 {
				return badInput(fmt.Errorf("%d of %d files have mistakes", failed, len(args)))
			}
			return nil
		},
	}
	setFlag(c, &sets)
	return c
}

func validateSweep(w io.Writer, name string, data []byte, sets []string) error {
	s, err := experiments.ParseSweep(name, data)
	if err != nil {
		return err
	}
	if err := s.Set(sets); err != nil {
		return err
	}
	points, err := s.Points(runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: sweep %s is fine; points: %d\n", name, s.Name, len(points))
	writeDuplicates(w, points)
	return nil
}
