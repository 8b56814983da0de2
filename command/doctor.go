package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/orchestrator/kernel/doctor"
)

func newDoctorCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether this machine can run the kernel plane",
		Long: `Check whether this machine can run the kernel plane. doctor loads the
pipelines into the kernel, makes a namespace, a veth pair and a packet ring,
and sends a message through a fabric of two hosts. For each test that fails it
prints what to do.

The exit code is 0 if the kernel plane works, and 3 otherwise.`,
		Example: `  sudo pausenet doctor
  sudo pausenet doctor -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d := doctor.Diagnose()
			err := writeResult(c.OutOrStdout(), format, d, func(w io.Writer) { writeDiagnosis(w, d) })
			if err == nil && !d.Works {
				err = &exitError{exitEnvironment, errors.New("the kernel plane does not work on this machine (use --plane wasm)")}
			}
			return err
		},
	}
	formatFlag(c, &format)
	return c
}

func writeDiagnosis(w io.Writer, d *doctor.Diagnosis) {
	width := 0
	for _, check := range d.Checks {
		width = max(width, len(check.Name))
	}
	for _, check := range d.Checks {
		fmt.Fprintf(w, "%-7s  %-*s  %s\n", check.Status, width, check.Name, check.Found)
		if check.Remedy != "" {
			fmt.Fprintf(w, "%s-> %s\n", strings.Repeat(" ", 7+2+width+2), check.Remedy)
		}
	}
	if d.Works {
		fmt.Fprintln(w, "\nThe kernel plane works on this machine.")
	}
}
