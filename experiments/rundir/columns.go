package rundir

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/files"
)

// tables are a run's CSV files with their headers.
var tables = map[string]string{
	"flows.csv": FlowsHeader, "ports.csv": PortsHeader, "links.csv": LinksHeader, "pfc.csv": PFCHeader, "events.csv": EventsHeader,
	"rates.csv": RatesHeader, "panels.csv": PanelsHeader, WhyFile: WhyHeader, CausesFile: CausesHeader,
	RecoveryFile: RecoveryHeader, QPsFile: QPsHeader,
	CollectivesFile: CollectivesHeader,
}

// Kind is what a column of a table has in it.
type Kind int

// Kinds of columns.
const (
	Whole    Kind = iota // whole numbers
	Unsigned             // whole numbers up to 2^64-1
	Fraction             // other numbers
	Text
)

// Column is a column of a table.
type Column struct {
	Name string
	Kind Kind
	// Empty says that rows may have no number in it.
	Empty bool
}

// Columns of all tables that are not always whole numbers, by name.
var (
	textColumns = []string{
		"tag", "src", "dst", "node", "port", "peer", "event", "detail", "stage", "what", "way", "behind", "signal", "signal_port", "kind", "queue", "algorithm", "straggler",
	}
	fractionColumns = []string{"slowdown", "utilisation", "pauses_per_second", "value"}
	emptyColumns    = []string{"fct_ns", "ideal_fct_ns", "slowdown", "cause", "because", "signal_cause", "begin_ns", "completion_ns", "limit_ns", "algbw_bps", "busbw_bps", "skew_ns", "late_ns"}
)

// Tables are the names of a run's CSV files, in order.
func Tables() []string {
	var names []string
	for _, name := range Files {
		if tables[name] != "" {
			names = append(names, name)
		}
	}
	return names
}

// ColumnsOf are the columns of one of a run's CSV files, in its order.
func ColumnsOf(table string) []Column {
	var all []Column
	for name := range strings.SplitSeq(tables[table], ",") {
		c := Column{Name: name, Empty: slices.Contains(emptyColumns, name)}
		switch {
		case slices.Contains(textColumns, name):
			c.Kind = Text
		case slices.Contains(fractionColumns, name):
			c.Kind = Fraction
		}
		all = append(all, c)
	}
	return all
}

// ParquetName is the name of the Parquet file of a CSV file.
func ParquetName(table string) string { return strings.TrimSuffix(table, ".csv") + ".parquet" }

// ReadTable reads a CSV file that the run has just written into its folder, of whatever size.
func ReadTable(folder *files.Folder, table string, each func(*Row) error) error {
	path := filepath.Join(folder.Path(), table)
	f, err := files.Open(path, sumFile)
	if err != nil {
		return err
	}
	defer f.Close()
	return parseCSV(path, io.Reader(reader{f}), tables[table], each)
}
