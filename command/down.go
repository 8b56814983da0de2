//go:build linux

package command

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/experiments/measure"
)

// theOnly returns the name of the only fabric, for a command that ends it without a name. It prints which fabric
// that is, and refuses if the fabric may belong to somebody else.
func theOnly(w io.Writer) (string, error) {
	d := describe([]string{""})[0]
	if d.err != nil {
		return "", d.err
	}
	age := time.Duration(d.Clock.WallSeconds * float64(time.Second)).Round(time.Second)
	which := fmt.Sprintf("%s (brought up by %v, %v ago)", d.Name, d.Owner, age)
	if !d.Owner.Is(live.ThisOwner()) {
		return "", badInput(fmt.Errorf("the only fabric is %s: to end it, run pausenet down %s, or use --all",
			which, d.Name))
	}
	fmt.Fprintf(w, "ending %s\n", which)
	return d.Name, nil
}

// downView represents an ended fabric in structured output.
type downView struct {
	Name string `json:"name"`
	// Before holds the reason if the fabric had ended before.
	Before  string        `json:"ended_before,omitempty"`
	Verdict *live.Verdict `json:"verdict,omitempty"`
}

func newDownCommand() *cobra.Command {
	var (
		all    bool
		format string
	)
	c := &cobra.Command{
		Use:   "down [NAME]",
		Short: "End a live fabric and print its verdict",
		Long: `End the live fabric NAME with all programs on its nodes, and print its
verdict. You can leave NAME out if only one fabric is up and you brought it
up.`,
		Example: `  sudo pausenet down lab
  sudo pausenet down --all`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFabrics,
		RunE: func(c *cobra.Command, args []string) error {
			out := onScreen(c.OutOrStdout())
			if structured(format) {
				out = io.Discard
			}
			names, views := args, []downView{}
			if all {
				var err error
				if names, err = live.Names(); err != nil {
					return &exitError{exitEnvironment, err}
				}
			} else if len(args) == 0 {
				names = []string{""}
			}
			var over []*live.Record // already
			if all {
				over = live.AllEnded()
			} else if r := live.Ended(names[0]); r != nil {
				over, names = append(over, r), nil
			}
			failed := false
			for _, name := range names {
				called := name
				if name == "" {
					var err error
					if called, err = theOnly(out); err != nil {
						return err
					}
				}
				client, err := dial(called)
				if err != nil {
					return err
				}
				reply, err := client.Ask(live.Request{Verb: "down"})
				client.Close()
				if err != nil {
					return &exitError{exitEnvironment, err}
				}
				if name != "" {
					fmt.Fprintf(out, "%s: ", name)
				}
				reply.Verdict.Write(out)
				views = append(views, downView{Name: called, Verdict: reply.Verdict})
				failed = failed || reply.Verdict.Status == measure.Fail
			}
			for _, r := range over {
				fmt.Fprintln(out, r)
				if r.Verdict != nil {
					r.Verdict.Write(out)
				}
				views = append(views, downView{r.Name, r.String(), r.Verdict})
				r.Forget()
			}
			if structured(format) {
				if err := writeStructured(c.OutOrStdout(), format, views); err != nil {
					return err
				}
			}
			if len(over) > 0 {
				return &exitError{exitVerdict, fmt.Errorf("%s had already ended", count(len(over), "fabric"))}
			}
			if failed {
				return &exitError{exitVerdict, errUntrusted}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&all, "all", false, "end all fabrics")
	formatFlag(c, &format)
	return c
}
