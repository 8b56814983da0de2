package command

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/pausenet/pausenet/experiments/compare"
)

// plotWidth is the width of a comparison's plot in columns. It is odd, so that 1 has the middle column.
const plotWidth = 51

// writeComparisonPlot draws each pair's ratio of A's value to B's in the first measure, on a logarithmic axis with 1 in
// the middle and a line for each scenario. A column has "." for one pair, ":" for up to a third of the scenario's
// pairs, and "#" for more. A pair with one value of 0 is at an end, as "<" or ">".
func writeComparisonPlot(w io.Writer, r *compare.Result) {
	if len(r.Measures) == 0 {
		return
	}
	m := &r.Measures[0]
	logs := map[string][]float64{}
	most := math.Log(1.01)
	for _, p := range r.Runs {
		a, b := p.A[m.Metric], p.B[m.Metric]
		if a == nil || b == nil {
			continue
		}
		log := 0.0 // for equal values, even two zeros
		if *a != *b {
			log = math.Log(*a / *b)
		}
		if logs[p.Scenario] = append(logs[p.Scenario], log); !math.IsInf(log, 0) {
			most = max(most, math.Abs(log))
		}
	}
	widest := len(m.Label)
	for name := range logs {
		widest = max(widest, len(name))
	}
	left, right := fmt.Sprintf("%.3g", math.Exp(-most)), fmt.Sprintf("%.3g", math.Exp(most))
	fmt.Fprintf(w, "\n  %-*s  %-*s1%*s  A / B\n", widest, m.Label, plotWidth/2, left, plotWidth/2, right)
	for _, s := range m.Scenarios {
		own := logs[s.Scenario]
		fmt.Fprintf(w, "  %-*s  %s\n", widest, s.Scenario, plotLine(own, most))
	}
}

// plotLine draws logarithms from -most to most.
func plotLine(logs []float64, most float64) string {
	var columns [plotWidth]int
	line := []byte(strings.Repeat(" ", plotWidth))
	line[plotWidth/2] = '|'
	for _, log := range logs {
		switch {
		case math.IsInf(log, -1):
			line[0] = '<'
		case math.IsInf(log, 1):
			line[plotWidth-1] = '>'
		default:
			columns[int(math.Round((log/most+1)*(plotWidth-1)/2))]++
		}
	}
	for i, n := range columns {
		switch {
		case n == 0 || line[i] == '<' || line[i] == '>':
		case n == 1:
			line[i] = '.'
		case 3*n <= len(logs):
			line[i] = ':'
		default:
			line[i] = '#'
		}
	}
	return strings.TrimRight(string(line), " ")
}
