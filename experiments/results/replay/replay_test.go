package replay_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/observe"
	"github.com/pausenet/pausenet/experiments/results/replay"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
)

// run runs a scenario into a folder.
func run(t *testing.T, text, controller string, record bool, processors int) string {
	t.Helper()
	s, err := scenario.Reading{}.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "run")
	o := runner.Options{Controller: controller, Seed: s.Seed, Directory: folder, Processors: processors}
	if record {
		o.Observers = []runner.NewObserver{observe.Record}
	}
	if _, err := runner.Run(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	return folder
}

// decode reads a container as its description says, by nothing of the package's.
func decode(t *testing.T, packed []byte) (replay.Header, map[string][][]int64) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	rest, ok := bytes.CutPrefix(data, []byte("pausenet columns 1\n"))
	if !ok {
		t.Fatalf("it begins with %q", data[:20])
	}
	n := binary.LittleEndian.Uint32(rest)
	var head replay.Header
	if err := json.Unmarshal(rest[4:4+n], &head); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(bytes.NewReader(rest[4+n:]))
	number := func() uint64 {
		v, err := binary.ReadUvarint(from)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	all := map[string][][]int64{}
	for _, c := range head.Columns {
		rows := make([][]int64, c.Rows)
		for i := range rows {
			last := int64(0)
			for count := int(number()); len(rows[i]) < count; {
				v := number()
				if v != 0 {
					last += int64(v>>1) ^ -int64(v&1)
					rows[i] = append(rows[i], last)
					continue
				}
				for range number() + 1 {
					rows[i] = append(rows[i], last)
				}
			}
		}
		all[c.Name] = rows
	}
	if _, err := from.ReadByte(); !errors.Is(err, io.EOF) {
		t.Error("there is more behind the columns")
	}
	return head, all
}

// table returns the rows of a CSV file.
func table(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

func whole(t *testing.T, text string) int64 {
	t.Helper()
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const burst = `
topology:
  name: hall
  leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4}
flows:
  - {tag: long, from: h0, to: h7, size: unbounded}
  - {tag: incast, from: h1..h5, to: h6, size: 600KB, start: 100us}
duration: 1ms
sample: {interval: 10us, ports: ["leaf1:h6", "h1:leaf0"], flows: [long]}
report:
  - {title: Queue, series: [{label: to h6, queue: "leaf1:h6"}]}
controllers: [dcqcn]
switch: {pfc: {xoff: 60KB, xon: 50KB}}
`

// TestRead checks that a replay, of a run with a record and of one without, agrees with the CSV files. The record is
// the same on both planes, and does not influence the run.
func TestRead(t *testing.T) {
	with, without := run(t, burst, "dcqcn", true, 1), run(t, burst, "dcqcn", false, 1)
	read := func(path, name string) []byte {
		data, err := os.ReadFile(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if !bytes.Equal(read(with, rundir.RecordFile), read(run(t, burst, "dcqcn", true, 2), rundir.RecordFile)) {
		t.Error("two workers' record is another")
	}
	for _, name := range []string{"pfc.csv", "ports.csv", "rates.csv", "flows.csv", "panels.csv"} {
		if !bytes.Equal(read(with, name), read(without, name)) {
			t.Errorf("the record changes %s", name)
		}
	}
	for _, folder := range []string{with, without} {
		packed, _, err := replay.Read(folder, "one")
		if err != nil {
			t.Fatal(err)
		}
		head, columns := decode(t, packed)
		decoded, err := replay.Decode(packed)
		if err != nil || !reflect.DeepEqual(decoded.Header, head) {
			t.Fatalf("the decoded header is %+v: %v", decoded, err)
		}
		for name, want := range columns {
			if got, err := decoded.Column(name); err != nil || !equalRows(got, want) {
				t.Errorf("column %s: decoded are %d rows that differ: %v", name, len(got), err)
			}
		}
		if head.Recorded != (folder == with) || head.Label != "one" || head.Scenario != "test" || len(head.Nodes) != 12 ||
			len(head.Ports) != 2*len(head.Links) {
			t.Errorf("the header is %+v", head)
		}
		samples := columns["times"][0]
		for _, row := range table(t, filepath.Join(folder, "ports.csv")) {
			at := slices.Index(samples, whole(t, row[0]))
			k := slices.Index(head.Rows, slices.Index(head.Ports, row[2]))
			if at < 0 || k < 0 {
				t.Fatalf("no sample of %s", strings.Join(row, ","))
			}
			for column, name := range map[int]string{5: "queue", 6: "ingress", 7: "paused", 8: "sent"} {
				if got := columns[name][k][at]; got != whole(t, row[column]) {
					t.Fatalf("%s: %s is %d", strings.Join(row, ","), name, got)
				}
			}
		}
		for _, row := range table(t, filepath.Join(folder, "rates.csv")) {
			flow := whole(t, row[1])
			at := slices.Index(samples, whole(t, row[0])) - int(columns["first"][0][flow])
			for i, name := range []string{"rate", "goodput", "rtt"} {
				if got := columns[name][flow][at]; got != whole(t, row[2+i]) {
					t.Fatalf("%s: %s is %d", strings.Join(row, ","), name, got)
				}
			}
		}
		pauses := table(t, filepath.Join(folder, "pfc.csv"))
		if len(pauses) == 0 {
			t.Fatal("nothing was paused")
		}
		for i, row := range pauses {
			if columns["pfc.time"][0][i] != whole(t, row[0]) || head.Ports[columns["pfc.port"][0][i]] != row[2] ||
				(columns["pfc.pause"][0][i] == 1) != (row[5] == "pause") {
				t.Fatalf("PFC frame %d is not %s", i, strings.Join(row, ","))
			}
		}
		for i, row := range table(t, filepath.Join(folder, "flows.csv")) {
			fct := int64(-1)
			if row[6] != "" {
				fct = whole(t, row[6])
			}
			if head.Tags[columns["flow.tag"][0][i]] != row[1] || head.Nodes[columns["flow.source"][0][i]].Name != row[2] ||
				columns["flow.fct"][0][i] != fct {
				t.Fatalf("flow %d is not %s", i, strings.Join(row, ","))
			}
		}
		for _, row := range table(t, filepath.Join(folder, "panels.csv")) {
			k := slices.Index(columns["panel.0.time"][0], whole(t, row[2]))
			if k < 0 || columns["panel.0.value"][0][k] != whole(t, row[3]) {
				t.Fatalf("panel's point %s", strings.Join(row, ","))
			}
		}
		// The way of a flow: from its source to its destination, each port on the node that the one before leads to.
		for flow, path := range columns["paths"] {
			at := columns["flow.source"][0][flow]
			for _, port := range path {
				ends := []int{head.Links[port/2].A, head.Links[port/2].B}
				if int(at) != ends[port%2] {
					t.Fatalf("flow %d: port %s is not on the way", flow, head.Ports[port])
				}
				at = int64(ends[1-port%2])
			}
			if at != columns["flow.destination"][0][flow] {
				t.Errorf("flow %d ends at %s", flow, head.Nodes[at].Name)
			}
		}
	}
}

func equalRows(a, b [][]int64) bool { return slices.EqualFunc(a, b, slices.Equal[[]int64]) }

// TestDecodeDamaged checks that columns shorter than declared are refused, and that a missing column has no rows.
func TestDecodeDamaged(t *testing.T) {
	decoded := func(column, data string) (*replay.Decoded, error) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		head := `{"columns":[` + column + `]}`
		_, err := io.WriteString(z, "pausenet columns 1\n"+
			string(binary.LittleEndian.AppendUint32(nil, uint32(len(head))))+head+data)
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		return replay.Decode(b.Bytes())
	}
	for _, c := range [][2]string{
		{`{"name":"a","rows":1,"count":3,"bytes":3}`, "\x03\x02"},     // the file ends
		{`{"name":"a","rows":1,"count":3,"bytes":2}`, "\x03\x02"},     // the row ends
		{`{"name":"a","rows":1,"count":1,"bytes":3}`, "\x03\x00\x02"}, // more numbers than in all
		{`{"name":"a","rows":1,"count":3,"bytes":3}`, "\x03\x00\x05"}, // more numbers than the row has
		{`{"name":"a","rows":9,"count":3,"bytes":2}`, "\x03\x02"},     // more rows than bytes
		{`{"name":"a","rows":-1,"count":3,"bytes":2}`, "\x03\x02"},
		{`{"name":"a","rows":1,"count":-3,"bytes":2}`, "\x03\x02"},
	} {
		d, err := decoded(c[0], c[1])
		if err == nil {
			_, err = d.Column("a")
		}
		if err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s with %q: %v", c[0], c[1], err)
		}
	}
	d, err := decoded(`{"name":"a","rows":2,"count":4,"bytes":6}`, "\x03\x02\x00\x01\x01\x03")
	if err != nil {
		t.Fatal(err)
	}
	if a, err := d.Column("a"); err != nil || !equalRows(a, [][]int64{{1, 1, 1}, {-2}}) {
		t.Errorf("decoded is %v: %v", a, err)
	}
	if none, err := d.Column("b"); err != nil || len(none) != 0 {
		t.Errorf("a column that is not there: %v, %v", none, err)
	}
}

// TestDamaged checks that foreign and damaged files are refused by name, and that missing files are listed.
func TestDamaged(t *testing.T) {
	folder := run(t, burst, "dcqcn", true, 1)
	name := filepath.Join(folder, rundir.RecordFile)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(data []byte, want string) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := replay.Read(folder, "")
		var place *rundir.FileError
		if !errors.As(err, &place) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "record.bin") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	packed := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := io.WriteString(z, text)
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	refused([]byte("nothing"), "not a record")
	refused(good[:len(good)/2], "damaged")
	refused(packed("pausenet columns 9\n"), "another pausenet")
	refused(packed("pausenet columns 1\n\xff\xff\x00\x00{}"), "header")
	refused(packed("pausenet columns 1\n\x02\x00\x00\x00{}x"), "columns")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, "rates.csv")); err != nil {
		t.Fatal(err)
	}
	data, _, err := replay.Read(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	if head, _ := decode(t, data); len(head.Missing) != 1 || !strings.Contains(head.Missing[0], "rates.csv") {
		t.Errorf("missing: %q", head.Missing)
	}
}

// TestLaterColumns: the tables of a later version, with columns that this one does not know, give the same replay.
func TestLaterColumns(t *testing.T) {
	s, err := scenario.Reading{}.Parse("test.yaml", []byte(burst))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	_, err = runner.Run(t.Context(), s, runner.Options{
		Controller: "dcqcn", Seed: 1, Directory: folder, Observers: []runner.NewObserver{observe.Why},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, rundir.SumsFile)); err != nil { // the tables change
		t.Fatal(err)
	}
	before, _, err := replay.Read(folder, "run")
	if err != nil {
		t.Fatal(err)
	}
	testenv.AddColumns(t, folder)
	after, _, err := replay.Read(folder, "run")
	if err != nil || !bytes.Equal(after, before) {
		t.Errorf("the replay differs: %v", err)
	}
}

// TestWhy checks that the parts of each flow's time are those of why.csv, and that each has words.
func TestWhy(t *testing.T) {
	s, err := scenario.Reading{}.Parse("test.yaml", []byte(burst))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	_, err = runner.Run(t.Context(), s, runner.Options{
		Controller: "dcqcn", Seed: 1, Directory: folder,
		Observers: []runner.NewObserver{observe.Why},
	})
	if err != nil {
		t.Fatal(err)
	}
	packed, _, err := replay.Read(folder, "run")
	if err != nil {
		t.Fatal(err)
	}
	head, columns := decode(t, packed)
	want := map[int64]int64{}
	for _, row := range table(t, filepath.Join(folder, rundir.Why.Name)) {
		want[whole(t, row[0])] += whole(t, row[11])
	}
	parents, words := columns["why.parent"][0], columns["why.word"][0]
	for flow, times := range columns["why.time"] {
		var sum int64
		for i, ps := range times {
			sum += ps
			node := columns["why.node"][flow][i]
			for ; parents[node] >= 0; node = parents[node] {
				if parents[node] >= node {
					t.Fatalf("node %d is below node %d", node, parents[node])
				}
			}
			if head.Why.Words[words[node]] == "" || head.Why.Words[columns["why.root"][flow][i]] == "" {
				t.Errorf("flow %d: a part has no words", flow)
			}
		}
		if sum != want[int64(flow)] || sum == 0 {
			t.Errorf("flow %d: its parts are %d ps, want %d", flow, sum, want[int64(flow)])
		}
	}
	for i, port := range head.Why.Ports {
		if about := strings.HasPrefix(head.Why.Words[i], "congestion at leaf1 to h6"); about &&
			(port < 0 || head.Ports[port] != "leaf1-eth3") {
			t.Errorf("%q is about port %d", head.Why.Words[i], port)
		}
	}
}
