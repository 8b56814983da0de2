package cc

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteTable writes all congestion controls, one per line, with the first sentence of their summaries.
func WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "CONTROLLER\tSWITCHES\tPURPOSE")
	for _, s := range registry {
		purpose, _, _ := strings.Cut(s.Summary, ". ")
		fmt.Fprintf(t, "%s\t%v\t%s\n", s.Name, s.Needs, strings.TrimSuffix(purpose, "."))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nNAME%s limits the bytes in flight to BDP*R/C at rate R on a line of rate C, for %s.\n",
		windowSuffix, windowless())
	return err
}

// WriteJSON writes congestion controls, all if none is given, with their parameters as one JSON array.
func WriteJSON(w io.Writer, specs ...*Spec) error {
	if len(specs) == 0 {
		specs = registry
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(specs)
}

// WriteTable writes the congestion control with its constants.
func (spec *Spec) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "%s\n  summary\t%s\n  source\t%s\n  switches\t%v\n", spec.Name, spec.Summary, spec.Source, spec.Needs)
	fmt.Fprintf(t, "  departures\twhen the rate changes, an already scheduled departure %s\n", spec.Departure)
	if err := t.Flush(); err != nil || len(spec.Parameters) == 0 {
		return err
	}
	fmt.Fprintf(w, "\nConstants, set with --set cc.%s.NAME=VALUE:\n", spec.Name)
	for i := range spec.Parameters {
		p := &spec.Parameters[i]
		kind := p.Kind.String()
		if p.Kind == ChoiceKind {
			kind = strings.Join(p.Choices, "|")
		}
		doc := p.Doc
		if i > 0 && spec.Parameters[i-1].Name == p.Name && spec.Parameters[i-1].Doc == p.Doc {
			doc = "as above"
		}
		if p.When != "" {
			doc = spec.Selector + "=" + p.When + ": " + doc
		}
		fmt.Fprintf(t, "  %s\t%s, default %s\n  \t%s\n", p.Name, kind, p.Default, doc)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w,
		"\nA rate is in bits per second of line time (40Mbps, line/1000, mtu/rtt), a time has a unit (55us, 1.25rtt), "+
			"a size is in bytes (10MB, 1bdp). line and rtt are those of the flow's unloaded path, bdp is line times rtt. A "+
			"number has no unit (1/256).\n")
	return err
}
