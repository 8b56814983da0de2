package command

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/docs"
)

// mostFound limits the sections that docs --find prints.
const mostFound = 8

func newDocsCommand() *cobra.Command {
	var format, find string
	c := &cobra.Command{
		Use:   "docs [PAGE[#SECTION]]",
		Short: "Print a page of the documentation, or find words in it",
		Long: `List the pages of the documentation, print one of them or one section, or
find the sections that contain all given words. The pages are part of the
program and describe this version.`,
		Example: `  pausenet docs
  pausenet docs headroom
  pausenet docs scenarios#workloads
  pausenet docs --find "pfc watchdog"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case c.Flags().Changed("find") && len(args) > 0:
				return badInput(errors.New("a page and --find: use only one of them"))
			case c.Flags().Changed("find"):
				return findDocs(c.OutOrStdout(), find, format)
			case len(args) > 0:
				return printDocs(c.OutOrStdout(), args[0], format)
			}
			if structured(format) {
				return writeStructured(c.OutOrStdout(), format, docsView{Pages: docs.Pages()})
			}
			t := tabwriter.NewWriter(people(c.OutOrStdout()), 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "PAGE\tTITLE")
			for _, p := range docs.Pages() {
				fmt.Fprintf(t, "%s\t%s\n", p.Name, p.Title)
			}
			return t.Flush()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if len(args) == 0 {
				for _, p := range docs.Pages() {
					names = append(names, p.Name)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().StringVar(&find, "find", "", "print the sections in which all these `words` occur, the best first")
	completeNothing(c, "find")
	formatFlag(c, &format)
	return c
}

// docsView represents a page or section, or those found, in structured output.
type docsView struct {
	Pages    []docs.Page    `json:"pages,omitempty"`
	Text     string         `json:"text,omitempty"`
	Sections []docs.Section `json:"sections,omitempty"`
}

func printDocs(w io.Writer, name, format string) error {
	text, err := docs.Text(name)
	if err != nil {
		return badInput(err)
	}
	if structured(format) {
		return writeStructured(w, format, docsView{Text: text})
	}
	_, err = io.WriteString(rawUnlessTerminal(w), text)
	return err
}

func findDocs(w io.Writer, words, format string) error {
	found, err := docs.Find(words, mostFound)
	if err != nil {
		return badInput(fmt.Errorf("--find: %w", err))
	}
	if len(found) == 0 {
		return badInput(fmt.Errorf("no section has all of the words %q (try fewer or shorter ones)", words))
	}
	if structured(format) {
		return writeStructured(w, format, docsView{Sections: found})
	}
	for _, s := range found {
		fmt.Fprintf(rawUnlessTerminal(w), "--- %s\n%s\n", s.Name, s.Text)
	}
	return nil
}
