package audit

import (
	"fmt"
	"io"
	"strings"
)

// few returns the first names and the number of the others.
func few(names []string) string {
	const most = 4
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}

// Summary returns the numbers of devices and findings in a sentence.
func (r *Report) Summary() string {
	n := map[Severity]int{}
	for _, f := range r.Findings {
		n[f.Severity]++
	}
	count := func(n int, one, many string) string {
		if n == 1 {
			many = one
		}
		return fmt.Sprintf("%d %s", n, many)
	}
	text := fmt.Sprintf("%s, %s, %s: %s, %s, %s", count(r.Switches, "switch", "switches"), count(r.Hosts, "NIC", "NICs"),
		count(r.Links, "cable", "cables"), count(n[Error], "error", "errors"), count(n[Warning], "warning", "warnings"),
		count(n[Note], "note", "notes"))
	if r.Suppressed > 0 {
		text += fmt.Sprintf(" (and %d in the baseline)", r.Suppressed)
	}
	if len(r.Ignored) > 0 {
		text += "; ignored for their format: " + few(r.Ignored)
	}
	return text
}

// Text writes the findings for a terminal.
func (r *Report) Text(w io.Writer) error {
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%v: %s: %s [%s]\n", f.Place, f.Severity, f.Message, f.Rule)
		if len(f.Ports) > 0 {
			fmt.Fprintf(w, "  ports: %s\n", few(f.Ports))
		}
		for _, line := range f.Evidence {
			fmt.Fprintf(w, "  %s\n", line)
		}
		fmt.Fprintf(w, "  remedy: %s\n", f.Remedy)
		for _, line := range f.shown() {
			fmt.Fprintf(w, "  %s\n", line)
		}
		fmt.Fprintln(w)
	}
	for _, l := range r.Landings {
		fmt.Fprintf(w, "DSCP %d: %s (%s)\n", l.DSCP, l.Path, few(l.Devices))
	}
	_, err := fmt.Fprintln(w, r.Summary())
	return err
}

// String returns the results of a run in a sentence.
func (r *Run) String() string {
	return fmt.Sprintf("%d frames dropped, %d of them lossless; %d PAUSE frames, %d ECN marks (fingerprint %s)", r.All,
		r.Dropped,
		r.Pauses, r.Marks, r.Fingerprint)
}

// Markdown writes the findings for a comment on a pull request.
func (r *Report) Markdown(w io.Writer) error {
	fmt.Fprintf(w, "### pausenet audit\n\n%s\n", r.Summary())
	for i, l := range r.Landings {
		if i == 0 {
			fmt.Fprint(w, "\n| DSCP | lands in | at |\n|---|---|---|\n")
		}
		fmt.Fprintf(w, "| %d | %s | %s |\n", l.DSCP, l.Path, few(l.Devices))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "\n#### %s: %s\n\n%s (`%s`)\n", f.Severity, f.Rule,
			strings.NewReplacer("<", "&lt;", "\n", " ").Replace(f.Message),
			strings.ReplaceAll(f.Place.String(), "`", "'"))
		if len(f.Ports) > 0 {
			fmt.Fprintf(w, "\nPorts: %s\n", few(f.Ports))
		}
		block := func(language, text string) {
			marks := "```"
			for strings.Contains(text, marks) {
				marks += "`"
			}
			fmt.Fprintf(w, "\n%s%s\n%s\n%s\n", marks, language, strings.TrimRight(text, "\n"), marks)
		}
		if len(f.Evidence) > 0 {
			block("", strings.Join(f.Evidence, "\n"))
		}
		fmt.Fprintf(w, "\nRemedy: %s\n", f.Remedy)
		if f.Scenario != "" {
			fmt.Fprint(w, "\n<details><summary>A scenario that shows it</summary>\n")
			block("yaml", f.Scenario)
			if lines := f.shown(); len(lines) > 0 {
				block("", strings.Join(lines, "\n"))
			}
			fmt.Fprint(w, "\n</details>\n")
		}
	}
	return nil
}
