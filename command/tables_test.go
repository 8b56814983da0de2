package command

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/interval"
	"github.com/pausenet/pausenet/internal/testenv"
)

// remeasure selects the tables that TestTables measures again, slow ones included.
var remeasure = flag.String("tables", "", "`pattern` of names: measure these tables again, slow ones too "+
	"(with -update the pages get the numbers)")

// measuredTable ties a table of a document to the command that its numbers come from. It is the comment before the
// table:
//
//	<!-- measured NAME
//	run: tcd-victims --seeds 0..5
//	columns: {p50: slowdown_p50 of victim, p99: "slowdown_p99 of victim, slowdown_p99 of victim min"}
//	-->
//
// The command of a cell is run, then its column's arguments, then its row's. An entry of rows or columns is
// "ARGUMENTS", "VALUES" or "ARGUMENTS => VALUES", by the text of the row's first cell or the column's head, without
// emphasis. Without rows a row's first cell is its --cc. Rows and columns without an entry are not measured, nor are
// empty cells. The numbers in a cell are its values, in order.
//
// A value is METRIC[/UNIT] [of TAG] [min|max|±] [vs CC|NUMBER]. METRIC is a metric of measure.Metrics, or a path into
// summary.json that begins with a point. Its value is the mean over the seeds; with min or max the smallest or largest;
// with ± two numbers, the mean and half the width of its 95 % interval. After vs, it is the percentage above the same
// metric under another controller and the same seed, or above a published number. "_" is a number that is not measured.
type measuredTable struct {
	Run     string            `yaml:"run"`
	Rows    map[string]string `yaml:"rows"`
	Columns map[string]string `yaml:"columns"`
	// Slow marks tables that only `make results` measures. It records when, and a hash of the scenarios' rows in
	// test/fingerprints/table.txt.
	Slow  bool   `yaml:"slow"`
	Date  string `yaml:"date"`
	Model string `yaml:"model"`

	name, document      string
	comment, begin, end int // lines of the document: the comment, and the table
}

// stale marks a slow table that was measured with another version of the model. It stands below the table.
const stale = "† Measured with an earlier version of the model (`make results`)."

var (
	measuredComment = regexp.MustCompile(`^<!-- measured ([a-z0-9-]+)$`)
	tableNumber     = regexp.MustCompile(`[-+]?\d{1,3}(?: \d{3})+\b|[-+]?\d+(?:\.\d+)?`)
	controllerFlag  = regexp.MustCompile(` --cc \S+`)
	tableValue      = regexp.MustCompile(`^(\.?[a-z0-9_.]+)(?:/([A-Za-z]+))?(?: of ([a-z0-9-]+))?(?: (min|max|±))?(?: vs ([a-z0-9.+-]+))?$`)
)

// measuredTables finds the tables of a document.
func measuredTables(document string, lines []string) (tables []*measuredTable, err error) {
	for i := 0; i < len(lines); i++ {
		found := measuredComment.FindStringSubmatch(lines[i])
		if found == nil {
			continue
		}
		table := &measuredTable{name: found[1], document: document, comment: i}
		length := slices.Index(lines[i:], "-->")
		if length < 0 {
			return nil, fmt.Errorf("%s:%d: the comment has no end", document, i+1)
		}
		if err := yaml.UnmarshalWithOptions([]byte(strings.Join(lines[i+1:i+length], "\n")), table,
			yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", document, i+1, err)
		}
		for i += length + 1; i < len(lines) && !strings.HasPrefix(lines[i], "|"); i++ {
		}
		table.begin = i
		for ; i < len(lines) && strings.HasPrefix(lines[i], "|"); i++ {
		}
		table.end = i
		if table.end-table.begin < 3 {
			return nil, fmt.Errorf("%s:%d: no table follows", document, table.comment+1)
		}
		tables = append(tables, table)
	}
	return tables, nil
}

// cell describes one measured cell of a table.
type cell struct {
	line, column int
	arguments    string
	values       []string
}

// cells returns the measured cells of a table.
func (m *measuredTable) cells(lines []string) ([]cell, error) {
	entries := func(of map[string]string, text string) (arguments, values string, known bool) {
		entry, known := of[plainCell(text)]
		if before, after, both := strings.Cut(entry, "=>"); both {
			return strings.TrimSpace(before), strings.TrimSpace(after), true
		}
		if strings.HasPrefix(entry, "--") || strings.Contains(entry, " --") {
			return entry, "", known
		}
		return "", entry, known
	}
	heads := cellsOf(lines[m.begin])
	var all []cell
	used := map[string]bool{}
	for line := m.begin + 2; line < m.end; line++ {
		texts := cellsOf(lines[line])
		if len(texts) != len(heads) {
			return nil, fmt.Errorf("%s:%d: %d cells below %d heads", m.document, line+1, len(texts), len(heads))
		}
		rowArguments, rowValues, known := entries(m.Rows, texts[0])
		if m.Rows == nil {
			rowArguments = "--cc " + plainCell(texts[0])
		} else if !known {
			continue
		}
		used[plainCell(texts[0])] = true
		for column := 1; column < len(heads); column++ {
			arguments, values, known := entries(m.Columns, heads[column])
			if !known || !tableNumber.MatchString(texts[column]) {
				continue
			}
			used[plainCell(heads[column])] = true
			c := cell{line: line, column: column, arguments: strings.Join(strings.Fields(m.Run+" "+arguments+" "+rowArguments),
				" ")}
			for v := range strings.SplitSeq(cmp.Or(values, rowValues), ",") {
				c.values = append(c.values, strings.TrimSpace(v))
			}
			all = append(all, c)
		}
	}
	for _, entries := range []map[string]string{m.Rows, m.Columns} {
		for name := range entries {
			if !used[name] {
				return nil, fmt.Errorf("%s:%d: table %s has no numbers in a row or column %q", m.document, m.comment+1, m.name,
					name)
			}
		}
	}
	return all, nil
}

// cellsOf returns the texts of the cells in a table's line.
func cellsOf(line string) []string {
	texts := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "\x00"), "|"), "|")
	for i := range texts {
		texts[i] = strings.TrimSpace(strings.ReplaceAll(texts[i], "\x00", `\|`))
	}
	return texts
}

func plainCell(text string) string { return strings.NewReplacer("*", "", "`", "").Replace(text) }

// measuredRuns makes the runs of commands, each once.
type measuredRuns struct {
	folder, program string
	fingerprints    string // the table of test/fingerprints
	made            map[string][]*measure.Summary
	raw             map[*measure.Summary]map[string]any
}

// of returns the summaries of a command's runs, by seed.
func (r *measuredRuns) of(arguments string) ([]*measure.Summary, error) {
	if made, known := r.made[arguments]; known {
		return made, nil
	}
	out := filepath.Join(r.folder, fmt.Sprint("run", len(r.made)))
	c := exec.Command(r.program, append(append([]string{"run"}, strings.Fields(arguments)...), "--plane", "wasm", "--out",
		out)...)
	if text, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pausenet run %s: %w\n%s", arguments, err, text)
	}
	var all []*measure.Summary
	err := filepath.WalkDir(out, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != rundir.SummaryFile {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s, raw := &measure.Summary{}, map[string]any{}
		if err := json.Unmarshal(text, s); err != nil {
			return err
		}
		all, r.raw[s] = append(all, s), raw
		return json.Unmarshal(text, &raw)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *measure.Summary) int { return cmp.Compare(a.Seed, b.Seed) })
	r.made[arguments] = all
	return all, os.RemoveAll(out)
}

// value computes the value of a cell: one number, or two with ±.
func (r *measuredRuns) value(arguments, value string) ([]float64, error) {
	part := tableValue.FindStringSubmatch(value)
	if part == nil {
		return nil, fmt.Errorf("%q is no value", value)
	}
	numbers, err := r.metric(arguments, part[1], part[2], part[3])
	if err != nil {
		return nil, err
	}
	if part[5] != "" {
		published, err := strconv.ParseFloat(part[5], 64)
		others := slices.Repeat([]float64{published}, len(numbers))
		if err != nil {
			against := controllerFlag.ReplaceAllString(arguments, "") + " --cc " + part[5]
			if others, err = r.metric(against, part[1], part[2], part[3]); err != nil {
				return nil, err
			}
		}
		for i := range numbers {
			numbers[i] = 100 * (numbers[i]/others[i] - 1)
		}
	}
	switch part[4] {
	case "min":
		return []float64{slices.Min(numbers)}, nil
	case "max":
		return []float64{slices.Max(numbers)}, nil
	}
	e := interval.Of(numbers)
	if part[4] == "±" {
		return []float64{e.Mean, e.Half}, nil
	}
	return []float64{e.Mean}, nil
}

// metric returns a metric of a command's runs, by seed.
func (r *measuredRuns) metric(arguments, name, unit, tag string) (numbers []float64, err error) {
	runs, err := r.of(arguments)
	if err != nil {
		return nil, err
	}
	for _, s := range runs {
		flows := s.Flows
		if tag != "" {
			var known bool
			if flows, known = s.ByTag[tag]; !known {
				return nil, fmt.Errorf("pausenet run %s has no flows of tag %s", arguments, tag)
			}
		}
		if path, isPath := strings.CutPrefix(name, "."); isPath {
			var at any = r.raw[s]
			for key := range strings.SplitSeq(path, ".") {
				in, _ := at.(map[string]any)
				at = in[key]
			}
			number, isNumber := at.(float64)
			if !isNumber {
				return nil, fmt.Errorf("summary.json of pausenet run %s has no number at %s", arguments, path)
			}
			factor := 1.0
			for _, kind := range []measure.Kind{measure.KindTime, measure.KindRate, measure.KindSize} {
				if f, err := kind.Parse("1" + unit); err == nil {
					factor = f
				}
			}
			numbers = append(numbers, number/factor)
			continue
		}
		m := measure.MetricByName(name)
		if m == nil {
			return nil, fmt.Errorf("%s is no metric", name)
		}
		factor := 1.0
		if unit != "" {
			if factor, err = m.Kind.Parse("1" + unit); err != nil {
				return nil, err
			}
		}
		numbers = append(numbers, m.Of(s, &flows)/factor)
	}
	if len(numbers) == 0 {
		return nil, fmt.Errorf("pausenet run %s left no summary.json", arguments)
	}
	return numbers, nil
}

// rewrite replaces a cell's numbers by measured ones, each with the same number of decimals, and returns the
// differences.
func rewrite(text string, numbers []float64) (rewritten string, differences []string, err error) {
	places := tableNumber.FindAllStringIndex(text, -1)
	if len(places) != len(numbers) {
		return text, nil, fmt.Errorf("%q has %d numbers for %d values", text, len(places), len(numbers))
	}
	last := 0
	for i, place := range places {
		old := text[place[0]:place[1]]
		rewritten += text[last:place[0]]
		last = place[1]
		_, decimals, _ := strings.Cut(old, ".")
		printed, _ := strconv.ParseFloat(strings.ReplaceAll(old, " ", ""), 64)
		unit := math.Pow10(-len(decimals))
		if x := numbers[i]; !(math.Abs(printed-x) <= unit*(0.5+1e-6)) && !math.IsInf(x, 1) { // also of NaN
			measured := grouped(strconv.FormatFloat(x, 'f', len(decimals), 64))
			if old[0] == '+' && x > 0 {
				measured = "+" + measured
			}
			differences = append(differences, fmt.Sprintf("%s on the page, measured %s", old, measured))
			rewritten += measured
			continue
		}
		rewritten += old
	}
	return rewritten + text[last:], differences, nil
}

// grouped puts blanks between the thousands of a number of five digits or more.
func grouped(number string) string {
	whole, decimals, fraction := strings.Cut(number, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	if len(whole) > 4 {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + " " + whole[i:]
		}
	}
	if fraction {
		whole += "." + decimals
	}
	return sign + whole
}

// measuredDocuments lists the documents with tables that runs measure: a page per paper, and that of LSTM-PID.
func measuredDocuments(t *testing.T) []string {
	pages, err := filepath.Glob("../docs/results/*.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 5 {
		t.Fatalf("got %d pages below docs/results, want one for each paper", len(pages))
	}
	return append(pages, "../docs/lstm-pid.md")
}

// TestTables checks that the numbers in the documents' tables are those measured by the commands in the comments before
// them, to the last printed digit. Quick tables are measured here. Slow ones store a hash of the model, which shows
// whether they are stale: -update then adds a line below them, and `make results` measures them again.
func TestTables(t *testing.T) {
	testenv.WholeScenario(t)
	t.Parallel()
	folder, pausenet := program(t)
	fingerprints, err := os.ReadFile("../test/fingerprints/table.txt")
	if err != nil {
		t.Fatal(err)
	}
	runs := &measuredRuns{
		folder: folder, program: pausenet, fingerprints: string(fingerprints),
		made: map[string][]*measure.Summary{}, raw: map[*measure.Summary]map[string]any{},
	}
	selected := regexp.MustCompile(*remeasure)
	names := map[string]bool{}
	for _, document := range measuredDocuments(t) {
		data, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(data), "\n")
		tables, err := measuredTables(document, lines)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range slices.Backward(tables) { // so that lines that are inserted move no other table
			if names[table.name] {
				t.Errorf("%s: there are two tables %s", document, table.name)
			}
			names[table.name] = true
			var differences []string
			switch anew := *remeasure != "" && selected.MatchString(table.name); {
			case anew, *remeasure == "" && !table.Slow:
				lines, differences, err = table.measure(runs, lines)
			case *remeasure == "":
				if lines, err = table.compareModel(runs.fingerprints, lines); *testenv.Update {
					err = nil
				}
			}
			if err != nil {
				t.Error(err)
			}
			for _, d := range differences {
				if *testenv.Update {
					t.Log(d)
				} else {
					t.Error(d)
				}
			}
			if *testenv.Update {
				// after each: a long session keeps what it has
				if err := os.WriteFile(document, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// measure compares a table's numbers with the results of its commands, and replaces them by these.
func (m *measuredTable) measure(runs *measuredRuns, lines []string) (_, differences []string, err error) {
	cells, err := m.cells(lines)
	if err != nil {
		return lines, nil, err
	}
	for _, c := range cells {
		found, err := c.compare(runs, lines)
		if err != nil {
			return lines, differences, fmt.Errorf("%s:%d: %w", m.document, c.line+1, err)
		}
		for _, d := range found {
			differences = append(differences, fmt.Sprintf("%s:%d: table %s, %s: %s (pausenet run %s)",
				m.document, c.line+1, m.name, strings.Join(c.values, ", "), d, c.arguments))
		}
	}
	if !m.Slow {
		return lines, differences, nil
	}
	m.record("date", time.Now().UTC().Format(time.DateOnly), lines)
	m.record("model", m.model(runs.fingerprints, cells), lines)
	return m.markStale(lines, false), differences, nil
}

// compare returns how a cell's numbers differ from the results of its command, and replaces them by these.
func (c *cell) compare(runs *measuredRuns, lines []string) (differences []string, err error) {
	var numbers []float64
	for _, value := range c.values {
		if value == "_" {
			numbers = append(numbers, math.Inf(1))
			continue
		}
		measured, err := runs.value(c.arguments, value)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, measured...)
	}
	texts := cellsOf(lines[c.line])
	texts[c.column], differences, err = rewrite(texts[c.column], numbers)
	lines[c.line] = strings.ReplaceAll("| "+strings.Join(texts, " | ")+" |", "|  |", "| |")
	return differences, err
}

// compareModel finds a slow table stale if the model has changed since it was measured, and has the page say so.
func (m *measuredTable) compareModel(fingerprints string, lines []string) ([]string, error) {
	cells, err := m.cells(lines)
	if err != nil {
		return lines, err
	}
	isStale, marked := m.model(fingerprints, cells) != m.Model, m.marked(lines)
	if isStale && !marked {
		err = fmt.Errorf("%s:%d: table %s was measured with an earlier version of the model: make results TABLES=%s, "+
			"or %s to have the page say so",
			m.document, m.begin+1, m.name, m.name, "go test ./command -run '^TestTables$' -update")
	}
	if !isStale && marked {
		err = fmt.Errorf("%s:%d: table %s is marked as measured with an earlier version of the model, and was not",
			m.document, m.begin+1, m.name)
	}
	return m.markStale(lines, isStale), err
}

// model returns a hash of the fingerprints of the table's scenarios, as listed in the table of all built-ins.
func (m *measuredTable) model(fingerprints string, cells []cell) string {
	hash := sha256.New()
	for line := range strings.Lines(fingerprints) {
		row := strings.Fields(line)
		if slices.ContainsFunc(cells, func(c cell) bool { return slices.Contains(strings.Fields(c.arguments), row[0]) }) {
			fmt.Fprintln(hash, row)
		}
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:4])
}

func (m *measuredTable) marked(lines []string) bool {
	return slices.Contains(lines[m.end:min(m.end+2, len(lines))], stale)
}

// markStale puts the line that calls a table stale below it, or takes it away.
func (m *measuredTable) markStale(lines []string, isStale bool) []string {
	switch marked := m.marked(lines); {
	case isStale && !marked:
		return slices.Insert(lines, m.end, "", stale)
	case !isStale && marked:
		return slices.Delete(lines, m.end, m.end+2)
	}
	return lines
}

// record sets a key of a table's comment, which must have a line for it.
func (m *measuredTable) record(key, value string, lines []string) {
	for i := m.comment; lines[i] != "-->"; i++ {
		if strings.HasPrefix(lines[i], key+":") {
			lines[i] = key + ": " + value
		}
	}
}

// TestMeasuredTables checks that the numbers of a document's cells are compared with the measured ones to the last
// digit, and that a table measured with another model is found stale.
func TestMeasuredTables(t *testing.T) {
	summary := func(seed uint64, fct, slowdown float64, pauses int64) *measure.Summary {
		s := &measure.Summary{Seed: seed, ByTag: map[string]measure.FlowStatistics{"victim": {
			Completed: 1,
			Slowdown:  measure.Quantiles{P99: slowdown},
		}}}
		s.Flows = measure.FlowStatistics{Completed: 1, FCT: measure.Quantiles{Mean: fct}}
		s.PFC.Pauses = pauses
		return s
	}
	runs := &measuredRuns{made: map[string][]*measure.Summary{
		"a --seeds 1..2 --cc dcqcn":            {summary(1, 4e6, 13, 12_000), summary(2, 5e6, 15, 13_001)},
		"a --seeds 1..2 --cc dcon":             {summary(1, 3e6, 6, 0), summary(2, 3e6, 7, 0)},
		"a --seeds 1..2 --set b=1us --cc dcon": {summary(1, 2.5e6, 5, 0), summary(2, 2.5e6, 5, 0)},
	}}
	const document = `before
<!-- measured one
run: a --seeds 1..2
columns: {mean: "fct_mean/ms ±, pauses", 99 %: "slowdown_p99 of victim, slowdown_p99 of victim max", b: "--set b=1us => fct_mean/ms"}
-->
| | mean | 99 % | b | published |
|---|---|---|---|---|
| dcqcn | 4.50 ± 6.35 ms, 12 501 | 14 (to 15) | | 3 |
| **dcon** | **3 ± 0 ms**, 0 | 6.5 (to 7) | 2.5 | 3 |
`
	check := func(what, document, want string) {
		t.Helper()
		lines := strings.Split(document, "\n")
		tables, err := measuredTables("page", lines)
		if err != nil || len(tables) != 1 {
			t.Fatalf("%s: %d tables: %v", what, len(tables), err)
		}
		cells, err := tables[0].cells(lines)
		got := ""
		for _, c := range cells {
			differences := []string(nil)
			if err == nil {
				differences, err = c.compare(runs, lines)
			}
			got += strings.Join(differences, "\n")
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s\nwant %s", what, got, want)
		}
	}
	check("as measured", document, "")
	check("another mean", strings.Replace(document, "4.50", "4.51", 1), "4.51 on the page, measured 4.50")
	check("rounded", strings.Replace(document, "4.50", "4.5", 1), "")
	check("thousands", strings.Replace(document, "12 501", "12 502", 1), "12 502 on the page, measured 12 500")
	check("a maximum", strings.Replace(document, "to 7", "to 7.1", 1), "7.1 on the page, measured 7.0")
	check("a cell's arguments", strings.Replace(document, "| 2.5 |", "| 3.0 |", 1), "3.0 on the page, measured 2.5")
	check("a number without a value", strings.Replace(document, "6.5 (to 7)", "6.5", 1),
		`"6.5" has 1 numbers for 2 values`)
	check("a column that is not there", strings.Replace(document, "{mean", "{median", 1),
		`page:2: table one has no numbers in a row or column "median"`)
	check("against another", strings.NewReplacer("fct_mean/ms ±, pauses",
		"fct_mean vs dcon min, pauses").Replace(document),
		`"fct_mean vs dcon min" is no value`)
	check("against another", strings.NewReplacer("fct_mean/ms ±, pauses", "fct_mean min vs dcon", "4.50 ± 6.35 ms, 12 501",
		"+33.3 %", "**3 ± 0 ms**, 0", "").
		Replace(document), "")

	lines := strings.Split(strings.Replace(document, "run: a", "slow: true\nmodel: 00000000\nrun: a", 1), "\n")
	tables, err := measuredTables("page", lines)
	if err != nil {
		t.Fatal(err)
	}
	const fingerprints = "a dcqcn f\nab dcqcn f\n"
	if lines, err = tables[0].compareModel(fingerprints, lines); err == nil || lines[12] != stale {
		t.Errorf("a table of another model: %v, %q", err, lines)
	}
	if lines, err = tables[0].compareModel(fingerprints, lines); err != nil {
		t.Error("a table that says that it is stale:", err)
	}
	tables[0].Model = tables[0].model("a dcqcn f\nab dcqcn g\n", []cell{{arguments: "--set b=1us a --seeds 1..2"}})
	if lines, err = tables[0].compareModel(fingerprints, lines); err == nil || slices.Contains(lines, stale) {
		t.Errorf("a table that says that it is stale, and is not: %v, %q", err, lines)
	}
	if _, err = tables[0].compareModel(fingerprints, lines); err != nil {
		t.Error("a table of this model:", err)
	}
}
