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
		Short: "Find out whether this machine can run the kernel plane, and what it lacks",
		Long: `doctor looks at this machine and tries what a fabric needs: it loads the pipelines
into the kernel, makes a namespace, a veth pair and a packet ring, and sends a message
through a fabric of two hosts. Beside each thing that fails it says what to do.

It exits with 0 if the kernel plane works here, and with 3 if it does not.`,
		Example: "  sudo pausenet doctor",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d := doctor.Diagnose()
			if structured(format) {
				if err := writeStructured(c.OutOrStdout(), format, d); err != nil {
					return err
				}
			} else {
				writeDiagnosis(c.OutOrStdout(), d)
			}
			if !d.Works {
				return &exitError{exitEnvironment, errors.New("the kernel plane cannot work here; --plane wasm can")}
			}
			return nil
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
		fmt.Fprintln(w, "\nThe kernel plane works here.")
	}
}
