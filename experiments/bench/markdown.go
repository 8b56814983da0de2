package bench

import (
	"fmt"
	"strings"
)

// Names of the tables of a Result in documents.
const (
	TableStart      = "start"
	TableHops       = "hops"
	TableSizes      = "sizes"
	TableProcessors = "processors"
	TableRuns       = "runs"
	TableBringUp    = "bring-up"
)

var titles = map[string]string{
	TableStart: "the program, which starts, and ends soon",
	TableHops:  "a packet-hop of processor time, and on the kernel plane beside a bare pass through the kernel",
	TableSizes: "a packet-hop of processor time on the wasm plane, by size of the fabric, and what " +
		"comes before the first",
	TableProcessors: "wall-clock time of runs with several processors, and all processor time",
	TableRuns:       "whole runs, files and report included",
	TableBringUp:    "the kernel plane's fabrics",
}

// Table returns a table in Markdown; empty if it has no measurements.
func (r *Result) Table(name string) string {
	rows := map[string]func() [][]string{
		TableStart: r.startRows, TableHops: r.hopRows, TableSizes: r.sizeRows, TableProcessors: r.processorRows,
		TableRuns:    r.runRows,
		TableBringUp: r.bringUpRows,
	}[name]()
	if len(rows) < 2 {
		return ""
	}
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}

func (r *Result) startRows() [][]string {
	rows := [][]string{{"command", "processor time", "wall-clock time", "peak resident"}}
	for _, p := range r.Start {
		rows = append(rows, []string{
			"`" + p.Name + "`", milliseconds(p.Seconds), milliseconds(p.WallSeconds),
			megabytes(p.Peak),
		})
	}
	return rows
}

func (r *Result) hopRows() [][]string {
	rows := [][]string{{"workload", "wasm plane", "kernel plane", "bare pass", "ratio"}}
	for _, h := range r.Hops {
		row := []string{
			h.Workload, fmt.Sprintf("%.0f ns: %.1f million a CPU-second", h.Nanoseconds, 1e3/h.Nanoseconds), "-",
			"-", "-",
		}
		if k := h.Kernel; k != nil {
			row = append(row[:2], fmt.Sprintf("%.0f ns: %.0f 000 a CPU-second", k.Nanoseconds, 1e6/k.Nanoseconds),
				fmt.Sprintf("%.0f ns", k.Bare),
				fmt.Sprintf("%.2f (%.2f to %.2f)", k.Ratio, k.Least, k.Most))
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *Result) sizeRows() [][]string {
	rows := [][]string{{"fabric", "a hop", "allocations a hop", "set-up"}}
	for _, h := range r.Sizes {
		rows = append(rows, []string{
			h.Workload, fmt.Sprintf("%.0f ns", h.Nanoseconds), fmt.Sprintf("%.3f", h.Allocations),
			milliseconds(h.SetUpSeconds),
		})
	}
	return rows
}

func (r *Result) processorRows() [][]string {
	rows := [][]string{{"workload", "processors", "wall-clock time", "times as fast", "processor time"}}
	var one float64
	for _, h := range r.Processors {
		wall := h.WallNanoseconds * float64(h.Hops) / 1e9
		if h.Processors == 1 {
			one = wall
		}
		rows = append(rows, []string{
			h.Workload, fmt.Sprint(h.Processors), milliseconds(wall), fmt.Sprintf("%.2f", one/wall),
			milliseconds(h.Nanoseconds * float64(h.Hops) / 1e9),
		})
	}
	return rows
}

func (r *Result) runRows() [][]string {
	rows := [][]string{{"hosts", "run", "processor time", "wall-clock time", "peak resident", "a host"}}
	for _, p := range r.Runs {
		rows = append(rows, []string{
			fmt.Sprint(p.Hosts), p.Name, fmt.Sprintf("%.1f s", p.Seconds), fmt.Sprintf("%.1f s", p.WallSeconds),
			megabytes(p.Peak),
			fmt.Sprintf("%.0f KB", p.Peak/1e3/float64(p.Hosts)),
		})
	}
	return rows
}

func (r *Result) bringUpRows() [][]string {
	rows := [][]string{{"hosts", "switches", "ports", "up", "processor time", "down"}}
	for _, b := range r.BringUp {
		rows = append(rows, []string{
			fmt.Sprint(b.Hosts), fmt.Sprint(b.Switches), fmt.Sprint(b.Ports), milliseconds(b.WallSeconds),
			milliseconds(b.Seconds), milliseconds(b.DownSeconds),
		})
	}
	return rows
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.0f ms", 1e3*seconds) }

func megabytes(bytes float64) string { return fmt.Sprintf("%.0f MB", bytes/1e6) }
