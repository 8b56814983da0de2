package command

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/analysis/headroom"
	"github.com/pausenet/pausenet/experiments/scenario/sonic"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/units"
)

// tablesFlags holds the options of check headroom --lookup.
type tablesFlags struct {
	globs  []string
	assume headroom.Assumptions
	cell   string
}

// tablesOnly lists the options that need --lookup, and scenarioOnly those that it excludes.
var (
	tablesOnly   = []string{"mtu", "lossless-mtu", "cell"}
	scenarioOnly = []string{"cc", "set"}
)

// add adds the options to the command.
func (f *tablesFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVar(&f.globs, "lookup", nil,
		"check SONiC's tables instead of a scenario: `files` pg_profile_lookup.ini, "+
			"patterns, or folders with such files")
	flags.IntVar(&f.assume.MTU, "mtu", 9100, "with --lookup, the longest packet on the port, in `bytes`")
	flags.IntVar(&f.assume.LosslessMTU, "lossless-mtu", 1024, "with --lookup, the payload of lossless packets, in `bytes`")
	flags.StringVar(&f.cell, "cell", "0B",
		"with --lookup, the `size` of the ASIC's cells, such as 254B (default: count bytes)")
	completeNothing(c, "mtu", "lossless-mtu", "cell")
}

// check prints the results for the tables that the arguments name, with runs of the worst incast if run is true.
func (f *tablesFlags) check(c *cobra.Command, more []string, response, format string, run bool) (err error) {
	for _, name := range scenarioOnly {
		if c.Flags().Changed(name) {
			return badInput(fmt.Errorf("--%s has no effect with --lookup (leave it out)", name))
		}
	}
	if f.assume.Response, err = headroom.ParseResponse(response); err != nil {
		return badInput(fmt.Errorf("--response %s: %w", response, err))
	}
	if f.assume.Cell, err = units.ParseBytes(f.cell); err != nil || f.assume.Cell < 0 || f.assume.Cell > 64*units.KB {
		return badInput(fmt.Errorf("--cell %s: expected a size up to 64KB, such as 254B", f.cell))
	}
	if f.assume.MTU < 68 || f.assume.MTU > 9216 {
		return badInput(fmt.Errorf("--mtu %d: expected 68 to 9216 bytes", f.assume.MTU))
	}
	tables, err := readTables(slices.Concat(f.globs, more))
	if err != nil {
		return badInput(err)
	}
	rows, err := f.assume.CheckTables(tables)
	if err != nil {
		return badInput(err)
	}
	if len(rows) == 0 {
		return badInput(fmt.Errorf("%s: %w", tables[0].Files[0], sonic.ErrNoProfiles))
	}
	ctx, release := shutdown.Context(c.Context())
	defer release()
	if run {
		ran := 0
		err = f.assume.RunTables(ctx, rows, func() { ran++ })
		if ctx.Err() != nil {
			fmt.Fprintf(c.ErrOrStderr(), "interrupted after %d runs: rows without a run have the verdict of the arithmetic "+
				"(to run them, name their files with --lookup)\n", ran)
		} else if err != nil {
			return err
		}
	}
	v := newTablesView(f, tables, rows)
	written := error(nil)
	if structured(format) {
		written = writeStructured(c.OutOrStdout(), format, v)
	} else {
		written = v.write(c.OutOrStdout())
	}
	if written != nil {
		return written
	}
	if err != nil || !v.Holds {
		return &exitError{
			exitVerdict,
			fmt.Errorf("%d of %d rows are not proved, or less than rows for shorter cables or lower rates",
				v.Rows-v.Sound, v.Rows),
		}
	}
	return nil
}

// lookupName is the name of the tables' files on all platforms.
const lookupName = "pg_profile_lookup.ini"

// readTables reads files, files that match patterns, and files below folders.
func readTables(names []string) (tables []*headroom.Table, err error) {
	for _, name := range names {
		matches := []string{name}
		info, err := os.Stat(name)
		switch {
		case err != nil:
			if matches, err = filepath.Glob(name); err != nil {
				return nil, fmt.Errorf("--lookup %s: %w", name, err)
			}
		case info.IsDir():
			matches = nil
			err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() && d.Name() == lookupName {
					matches = append(matches, path)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		if len(matches) == 0 {
			return nil, fmt.Errorf("--lookup %s: no such file (name a %s, a pattern, or a folder with such files)", name,
				lookupName)
		}
		for _, path := range matches {
			data, err := files.Input(path, sonicFile)
			if err != nil {
				return nil, err
			}
			if tables, err = headroom.AddTable(tables, path, data); err != nil {
				return nil, err
			}
		}
	}
	return tables, nil
}

// tablesView holds the results of a check of tables.
type tablesView struct {
	MTU         int        `json:"mtu"`
	LosslessMTU int        `json:"lossless_mtu"`
	Cell        int64      `json:"cell_bytes"`
	Response    string     `json:"response"`
	MetreDelay  int64      `json:"cable_ps_per_metre"`
	Tables      int        `json:"tables"`
	Files       int        `json:"files"`
	Rows        int        `json:"rows"`
	Proved      int        `json:"proved"`
	NotProved   int        `json:"not_proved"`
	Refuted     int        `json:"refuted"`
	BelowCable  int        `json:"less_than_the_cable"`
	Inverted    int        `json:"inverted"`
	Pairs       int        `json:"inverted_pairs_by_cable"`
	RatePairs   int        `json:"inverted_pairs_by_rate"`
	Sound       int        `json:"sound"` // proved and not inverted
	Holds       bool       `json:"holds"`
	Results     []rowView  `json:"results"`
	all         [][]string // lines of the terminal's table
}

// rowView holds the result for a row. Sizes are in bytes.
type rowView struct {
	File      string     `json:"file"`
	SameFiles int        `json:"files_with_the_same_text,omitempty"`
	Line      int        `json:"line"`
	Rate      int64      `json:"rate_bps"`
	Metres    int64      `json:"metres"`
	Headroom  int64      `json:"headroom_bytes"`
	Needed    int64      `json:"needed_bytes"`
	Cable     int64      `json:"on_the_cable_bytes"`
	Verdict   string     `json:"verdict"`
	Shorter   []invertor `json:"less_than_shorter_cables,omitempty"`
	Slower    []invertor `json:"less_than_lower_rates,omitempty"`
	Dropped   *int64     `json:"dropped_lossless_frames,omitempty"` // of the run; absent: not run
	Most      int64      `json:"most_buffered_past_xoff_bytes,omitempty"`
}

// invertor holds a row with more headroom for a smaller need.
type invertor struct {
	Line     int   `json:"line"`
	Rate     int64 `json:"rate_bps"`
	Metres   int64 `json:"metres"`
	Headroom int64 `json:"headroom_bytes"`
}

func invertors(rows []*headroom.Row) (all []invertor) {
	for _, r := range rows {
		all = append(all, invertor{r.Line, int64(r.Rate), r.Metres, int64(r.Headroom)})
	}
	return all
}

// newTablesView returns the results, counted.
func newTablesView(f *tablesFlags, tables []*headroom.Table, rows []headroom.Checked) *tablesView {
	v := &tablesView{
		MTU: f.assume.MTU, LosslessMTU: f.assume.LosslessMTU, Cell: int64(f.assume.Cell), Response: f.assume.Response.Name,
		MetreDelay: int64(headroom.MetreDelay), Tables: len(tables), Rows: len(rows), Results: []rowView{},
	}
	for _, t := range tables {
		v.Files += len(t.Files)
	}
	for i := range rows {
		r := &rows[i]
		of := rowView{
			File: r.Table.Files[0], SameFiles: len(r.Table.Files) - 1, Line: r.Line, Rate: int64(r.Rate), Metres: r.Metres,
			Headroom: int64(r.Row.Headroom), Needed: int64(r.Needed()), Cable: int64(r.Cable()), Verdict: r.Verdict.String(),
			Shorter: invertors(r.Shorter), Slower: invertors(r.Slower),
		}
		if r.Tried != nil {
			of.Dropped, of.Most = &r.Tried.Dropped, int64(r.Tried.PastXOFF())
		}
		v.Results = append(v.Results, of)
		switch r.Verdict {
		case headroom.Proved:
			v.Proved++
		case headroom.NotProved:
			v.NotProved++
		case headroom.Refuted:
			v.Refuted++
		}
		if r.Row.Headroom < r.Cable() {
			v.BelowCable++
		}
		if r.Inverted() {
			v.Inverted++
		}
		v.Pairs += len(r.Shorter)
		v.RatePairs += len(r.Slower)
		if r.Holds() {
			v.Sound++
		}
		if !r.Holds() || len(tables) == 1 {
			v.all = append(v.all, v.line(&of, len(tables) > 1))
		}
	}
	v.Holds = v.Sound == v.Rows
	return v
}

// line returns a row's cells.
func (v *tablesView) line(r *rowView, several bool) []string {
	name := fmt.Sprintf("line %d", r.Line)
	if several {
		name = fmt.Sprintf("%s:%d", r.File, r.Line)
	}
	verdict := r.Verdict
	if verdict == headroom.Refuted.String() {
		verdict = refuted.String()
	}
	if n := len(r.Shorter); n > 0 {
		verdict += fmt.Sprintf(", inverted: %dm has %v", r.Shorter[0].Metres, units.Bytes(r.Shorter[0].Headroom))
	}
	if n := len(r.Slower); n > 0 {
		verdict += fmt.Sprintf(", inverted: %v has %v", units.Rate(r.Slower[0].Rate), units.Bytes(r.Slower[0].Headroom))
	}
	dropped := ""
	if r.Dropped != nil {
		dropped = fmt.Sprint(*r.Dropped)
	}
	return []string{
		name, verdict, units.Rate(r.Rate).String(), fmt.Sprintf("%dm", r.Metres), units.Bytes(r.Headroom).String(),
		units.Bytes(r.Needed).String(), units.Bytes(r.Cable).String(), dropped,
	}
}

// write prints the rows of one table, or of several those that are not sound, and counts.
func (v *tablesView) write(w io.Writer) error {
	if len(v.all) > 0 {
		head := []string{"row", "verdict", "rate", "cable", "headroom", "needed", "on the cable", "dropped"}
		if !v.ran() {
			for i := range v.all {
				v.all[i] = v.all[i][:7]
			}
			head = head[:7]
		}
		writeColumnsWithin(w, append([][]string{head}, v.all...), 2, 0)
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w,
		"assumed: packets of %d B at most, lossless ones with %d B of payload, cells of %v, response %s, 5 ns per metre\n",
		v.MTU, v.LosslessMTU, units.Bytes(v.Cell), v.Response)
	fmt.Fprintf(w,
		"%d rows of %d tables (%d files): %d proved, %d not proved, %d refuted (%d have less than the cable holds)\n",
		v.Rows, v.Tables, v.Files, v.Proved, v.NotProved, v.Refuted, v.BelowCable)
	_, err := fmt.Fprintf(w,
		"%d rows are inverted: %d pairs with less for a longer cable, %d with less for a higher rate\n",
		v.Inverted, v.Pairs, v.RatePairs)
	return err
}

// ran reports whether any row was run.
func (v *tablesView) ran() bool {
	return slices.ContainsFunc(v.Results, func(r rowView) bool { return r.Dropped != nil })
}
