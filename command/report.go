package command

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/internal/lists"
)

type reportFlags struct {
	output  string
	figures []string
	format  string
}

func newReportCommand() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Rebuild reports from result files, or compare runs",
		Long: `Rebuild report.html from the files of a run's folder, a scenario's folder, or
a folder of several scenarios. Nothing runs again.

With several folders, write one page that compares their runs: the settings
that differ, whether the runs are equal frame by frame, and every number next
to that of the first run.`,
		Example: `  pausenet report results/dcon-burst --figures
  pausenet report before/dcon-burst/dcon results/dcon-burst/dcon
  pausenet report results/dcon-burst results/dcon-burst.1 --out both.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	flags := c.Flags()
	flags.StringVar(&f.output, "out", "",
		"`file` for the page (default: report.html in each scenario's folder, or comparison.html next "+
			"to the first folder compared)")
	figuresFlag(c, &f.figures)
	formatFlag(c, &f.format)
	return c
}

func (f *reportFlags) run(c *cobra.Command, folders []string) error {
	if err := results.CheckFigureFormats(f.figures); err != nil {
		return badInput(fmt.Errorf("--figures: %w", err))
	}
	if len(folders) > 1 {
		return f.compare(c, folders)
	}
	return f.rebuild(c, folders[0])
}

// rebuild rewrites the reports of a folder.
func (f *reportFlags) rebuild(c *cobra.Command, folder string) error {
	w := c.OutOrStdout()
	all, err := results.Read(folder)
	if err != nil {
		return badInput(err)
	}
	if f.output != "" && len(all) > 1 {
		return badInput(fmt.Errorf("%s has %d scenarios, but --out names one file (name one scenario's folder, "+
			"or leave --out out)", folder, len(all)))
	}
	var written []rebuiltView
	for _, s := range all {
		path, err := s.Write(f.output, f.figures)
		if err != nil {
			return writeError(err)
		}
		written = append(written, rebuiltView{path, append([]string{}, s.Missing()...)})
		for _, note := range append(s.Missing(), s.Notes...) {
			fmt.Fprintf(c.ErrOrStderr(), "pausenet: %s\n", note)
		}
		if f.format == formatTable {
			fmt.Fprintf(w, "report: %s\n", path)
		}
	}
	if structured(f.format) {
		return writeStructured(w, f.format, written)
	}
	return nil
}

// rebuiltView represents a report in structured output.
type rebuiltView struct {
	Report  string   `json:"report"`
	Missing []string `json:"missing"`
}

// compare writes a page that compares the runs of folders.
func (f *reportFlags) compare(c *cobra.Command, folders []string) error {
	w := c.OutOrStdout()
	comparison, err := results.Compare(folders)
	if err != nil {
		return badInput(err)
	}
	if f.output == "" {
		f.output = filepath.Join(filepath.Dir(filepath.Clean(folders[0])), "comparison.html") // next to the compared folders
	}
	if err := comparison.Write(f.output, f.figures); err != nil {
		return writeError(err)
	}
	for _, note := range comparison.Missing() {
		fmt.Fprintf(c.ErrOrStderr(), "pausenet: %s\n", note)
	}
	if structured(f.format) {
		return writeStructured(w, f.format, comparison.View())
	}
	v := comparison.View()
	writeHeadline(w, comparison.Columns(), differing(v.Differences)...)
	writeBySeed(w, comparison.Columns())
	fmt.Fprintln(w)
	for _, text := range v.Findings {
		writeParagraph(w, "", "  "+text)
	}
	for i, d := range v.Differences {
		if i == mostDifferences {
			fmt.Fprintf(w, "  and %d more settings (see the page)\n", len(v.Differences)-i)
			break
		}
		writeParagraph(w, "", fmt.Sprintf("  %s, %s: %s", strings.ToLower(d.Group[:1])+d.Group[1:], d.Name,
			strings.Join(orDashes(d.Values), " | ")))
	}
	fmt.Fprintf(w, "\n  comparison: %s\n", f.output)
	return nil
}

// mostInTable limits the number of differing settings above the measures, and longestInTable the length of their
// values.
const mostInTable, longestInTable = 4, 24

// differing returns rows with the settings in which the compared runs differ.
func differing(all []report.Difference) (rows [][]string) {
	for _, d := range all {
		long := slices.ContainsFunc(d.Values, func(v string) bool { return utf8.RuneCountInString(v) > longestInTable })
		if len(rows) < mostInTable && !long && d.Name != "--set" { // it repeats the others
			rows = append(rows, append([]string{d.Name}, orDashes(d.Values)...))
		}
	}
	return rows
}

// mostDifferences limits the number of printed differences of configuration.
const mostDifferences = 20

func orDashes(values []string) []string {
	return lists.Map(values, orDash)
}
