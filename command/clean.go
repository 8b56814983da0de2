package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// cleaned represents a namespace or file in the output of "clean -o json".
type cleaned struct {
	*kernel.Leftover
	File    string `json:"file,omitempty"`
	What    string `json:"what,omitempty"` // kind of file
	Removed bool   `json:"removed"`
	Error   string `json:"error,omitempty"`
}

// leftFile describes a file that a live fabric left behind.
type leftFile struct {
	path, what string
	remove     func() error
}

func newCleanCommand() *cobra.Command {
	var (
		format string
		dryRun bool
	)
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove leftovers of killed pausenet processes",
		Long: `Remove leftovers of fabrics. A fabric ends with its process and leaves nothing
behind, with one exception: a program that you started in a node's namespace
keeps that namespace alive. If the fabric's process no longer exists, clean
ends such programs and removes the names that "ip netns" gave to the namespace.

clean only touches namespaces that pausenet marked (the alias of lo in "ip
link") and whose process no longer exists. It also removes the sockets and
records of ended fabrics from /run/pausenet, and unpacked images that no fabric
uses from ~/.cache/pausenet.`,
		Example: `  sudo pausenet clean --dry-run
  sudo pausenet clean`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			left, err := kernel.FindLeftovers()
			if err != nil {
				return &exitError{exitEnvironment, fmt.Errorf("find leftovers: %w", err)}
			}
			files := filesLeft()
			all := make([]cleaned, 0, len(left)+len(files)) // JSON shows an empty list
			failed := 0
			note := func(c cleaned, remove func() error, free bool) {
				if !dryRun {
					if err := remove(); err != nil {
						c.Error = err.Error()
						failed++
					}
					c.Removed = c.Error == "" && free
				}
				all = append(all, c)
			}
			for i := range left {
				note(cleaned{Leftover: &left[i]}, left[i].Remove, len(left[i].Bystanders) == 0)
			}
			for _, f := range files {
				note(cleaned{File: f.path, What: f.what}, f.remove, true)
			}
			err = writeResult(c.OutOrStdout(), format, all, func(w io.Writer) { writeCleaned(w, all, dryRun) })
			if err == nil && failed > 0 {
				err = &exitError{exitEnvironment, fmt.Errorf("cannot remove %d of %s", failed, count(len(all), "leftover"))}
			}
			return err
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "list what clean would end and remove, but change nothing")
	formatFlag(c, &format)
	return c
}

func writeCleaned(w io.Writer, all []cleaned, dryRun bool) {
	if len(all) == 0 {
		fmt.Fprintln(w, "nothing to clean")
		return
	}
	ended, removed := "ended", "removed"
	if dryRun {
		ended, removed = "would be ended", "would be removed"
	}
	for i := range all {
		l := &all[i]
		if l.File != "" {
			fmt.Fprintf(w, "%s: %s, %s\n", removed, l.File, l.What)
			if l.Error != "" {
				fmt.Fprintf(w, "  failed: %s\n", l.Error)
			}
			continue
		}
		fmt.Fprintf(w, "namespace of %s, left by process %d, which has ended\n", l.Node, l.Owner)
		for _, p := range l.Programs {
			fmt.Fprintf(w, "  %s: process %d (%s)\n", ended, p.Pid, p.Command)
		}
		for _, path := range l.Mounts {
			fmt.Fprintf(w, "  %s: %s\n", removed, path)
		}
		for _, p := range l.Bystanders {
			fmt.Fprintf(w,
				"  kept: process %d (%s) uses it from outside, or runs this command; end that process to free the namespace\n",
				p.Pid, p.Command)
		}
		if l.Error != "" {
			fmt.Fprintf(w, "  failed: %s\n", l.Error)
		}
	}
}
