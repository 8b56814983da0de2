package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/orchestrator"
)

// cleaned is what "clean -f json" prints about a namespace.
type cleaned struct {
	orchestrator.Leftover
	Removed bool   `json:"removed"`
	Error   string `json:"error,omitempty"`
}

func newCleanCommand() *cobra.Command {
	var (
		format string
		dryRun bool
	)
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove what a killed pausenet left behind",
		Long: `A fabric ends with its process, however that ends, and leaves nothing behind. The
exception is a program that was started in a host's or switch's namespace: it keeps
that namespace alive. clean ends such programs, once the fabric's process is gone, and
removes names that the namespace was given with ip netns.

It touches only namespaces that pausenet marked (ip link shows the mark as lo's alias)
and whose process no longer runs.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			left, err := orchestrator.FindLeftovers()
			if err != nil {
				return &exitError{exitEnvironment, fmt.Errorf("look for leftovers: %w", err)}
			}
			all := make([]cleaned, len(left))
			failed := 0
			for i := range left {
				all[i].Leftover = left[i]
				if dryRun {
					continue
				}
				if err := left[i].Remove(); err != nil {
					all[i].Error = err.Error()
					failed++
				}
				all[i].Removed = all[i].Error == "" && len(left[i].Bystanders) == 0
			}
			if format == "json" {
				err = writeJSON(c.OutOrStdout(), all)
			} else {
				writeCleaned(c.OutOrStdout(), all, dryRun)
			}
			if err == nil && failed > 0 {
				err = &exitError{exitEnvironment, fmt.Errorf("%d of %d namespaces could not be removed", failed, len(all))}
			}
			return err
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "list what would be ended and removed, and change nothing")
	formatFlag(c, &format)
	return c
}

func writeCleaned(w io.Writer, all []cleaned, dryRun bool) {
	if len(all) == 0 {
		fmt.Fprintln(w, "nothing to clean: no fabric left anything behind")
		return
	}
	ended, removed := "ended", "removed"
	if dryRun {
		ended, removed = "would be ended", "would be removed"
	}
	for i := range all {
		l := &all[i]
		fmt.Fprintf(w, "namespace of %s, left by process %d, which is gone\n", l.Node, l.Owner)
		for _, p := range l.Programs {
			fmt.Fprintf(w, "  %s: process %d (%s)\n", ended, p.Pid, p.Command)
		}
		for _, path := range l.Mounts {
			fmt.Fprintf(w, "  %s: %s\n", removed, path)
		}
		for _, p := range l.Bystanders {
			fmt.Fprintf(w, "  left alone: process %d (%s) holds it from outside, or runs this command; end it to free the namespace\n",
				p.Pid, p.Command)
		}
		if l.Error != "" {
			fmt.Fprintf(w, "  failed: %s\n", l.Error)
		}
	}
}
