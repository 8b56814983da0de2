package rundir

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/table"
)

// example holds a table's rows, and the bytes of its file.
type example struct {
	schema *table.Schema
	text   string
	write  func(folder *files.Folder) error
	read   func(folder string) (any, error)
	want   any
}

func exampleOf[Row any](t *table.Table[Row], text string, rows ...Row) example {
	return example{
		&t.Schema, text,
		func(folder *files.Folder) error { return Write(folder, t, table.Rows(rows)) },
		func(folder string) (any, error) {
			var all []Row
			err := Read(folder, t, func(row *Row) error {
				all = append(all, *row)
				return nil
			})
			return all, err
		},
		rows,
	}
}

var examples = []example{
	exampleOf(Flows, `flow,tag,src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns,slowdown,retransmitted_bytes
0,a,h0,h1.2,60000,5,123,100,1.230000,7
1,,h1,h0,0,0,,,,0
`, FlowRow{0, "a", "h0", "h1.2", 60000, 5, 123, 100, 1.23, 7}, FlowRow{1, "", "h1", "h0", 0, 0, -1, -1, -1, 0}),
	exampleOf(Ports, `time_ns,node,port,peer,priority,queue_bytes,ingress_bytes,paused,tx_bytes
20000,L0,L0-eth1,S1,3,1048,2096,1,9000000000
20000,L0,L0-eth2,S1,4,0,0,0,0
`, PortRow{20000, "L0", "L0-eth1", "S1", 3, 1048, 2096, true, 9000000000}, PortRow{20000, "L0", "L0-eth2", "S1", 4, 0, 0, false, 0}),
	exampleOf(PFC, `time_ns,node,port,peer,priority,event
5,L0,L0-eth1,h0,3,pause
`, PFCRow{5, "L0", "L0-eth1", "h0", 3, "pause"}),
	exampleOf(Rates, `time_ns,flow,rate_bps,goodput_bps,rtt_ns
5,1,40000000000,39000000000,0
`, RateRow{5, 1, 40000000000, 39000000000, 0}),
	exampleOf(Links, `node,port,peer,rate_bps,tx_frames,tx_bytes,utilisation,peak_queue_bytes,congested_ns,pauses,resumes,pauses_per_second,paused_ns
L0,L0-eth1,S1,40000000000,1,2,0.500000,3,4,5,6,7.125,8
`, measure.Link{
		Node: "L0", Port: "L0-eth1", Peer: "S1", RateBPS: 40000000000, TxFrames: 1, TxBytes: 2, Utilisation: 0.5,
		PeakQueue: 3, CongestedNS: 4,
		Pauses: 5, Resumes: 6, PauseRate: 7.125, PausedNS: 8,
	}),
	exampleOf(Events, `time_ns,node,port,peer,event,detail
100,leaf0,leaf0-eth1,s0,storm,"priority 3: paused, ""so"" to speak"
150,,,,reroute,
`, EventRow{100, "leaf0", "leaf0-eth1", "s0", "storm", `priority 3: paused, "so" to speak`}, EventRow{150, "", "", "", "reroute", ""}),
	exampleOf(Panels, `panel,series,time_ns,value
0,0,0,1
0,1,5,1e-300
1,0,6,-0.1
`, PanelRow{0, 0, 0, 1}, PanelRow{0, 1, 5, 1e-300}, PanelRow{1, 0, 6, -0.1}),
	exampleOf(Collectives, `collective,tag,kind,algorithm,ranks,size_bytes,iteration,begin_ns,completion_ns,limit_ns,algbw_bps,busbw_bps,skew_ns,straggler,late_ns
0,a,allreduce,ring,16,4000000,0,0,782000,733000,40920716113,76726342711,0,h3,12
1,a,allreduce,ring,16,4000000,1,,,,,,,,
`, CollectiveRow{0, "a", "allreduce", "ring", 16, 4000000, 0, 0, 782000, 733000, 40920716113, 76726342711, 0, "h3", 12},
		CollectiveRow{1, "a", "allreduce", "ring", 16, 4000000, 1, -1, -1, -1, -1, -1, -1, "", -1}),
	exampleOf(Why, `flow,stage,again,what,way,port,behind,cause,signal,signal_port,signal_cause,time_ps
0,sending,0,pacing,data,L0-eth1,f1,,,,,77
0,sending,1,paused,ack,L0-eth1,f1,3,ecn_echo,L1-eth1,4,78
`, WhyRow{0, "sending", false, "pacing", "data", "L0-eth1", "f1", -1, "", "", -1, 77},
		WhyRow{0, "sending", true, "paused", WayACK, "L0-eth1", "f1", 3, "ecn_echo", "L1-eth1", 4, 78}),
	exampleOf(Causes, `cause,kind,port,because,queue
0,congestion,L0-eth1,,a=5;b=6
1,pause,L0-eth1,0,
`, CauseRow{0, "congestion", "L0-eth1", -1, "a=5;b=6"}, CauseRow{1, "pause", "L0-eth1", 0, ""}),
	exampleOf(Recovery, `flow,spurious,duplicates,reordered,reordering_extent,trimmed
0,1,2,3,4,5
`, RecoveryRow{0, 1, 2, 3, 4, 5}),
	exampleOf(QPs, `flow,qp,udp_source_port,size_bytes,fct_ns,delivered_bytes,retransmitted_bytes,ce_packets
0,0,49152,5,6,7,8,9
0,1,49153,0,,7,8,9
`, QPRow{0, 0, 49152, 5, 6, 7, 8, 9}, QPRow{0, 1, 49153, 0, -1, 7, 8, 9}),
}

// TestTables pins the bytes of each table. They read back as the rows, also if another version's file has columns that
// this one does not know.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	folder, err := files.OpenFolder(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	var schemas []*table.Schema
	for _, e := range examples {
		schemas = append(schemas, e.schema)
		if err := e.write(folder); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, e.schema.Name)
		data, err := os.ReadFile(path)
		if err != nil || string(data) != e.text {
			t.Errorf("%s: got\n%s\nwant\n%s\n%v", e.schema.Name, data, e.text, err)
		}
		width := len(e.schema.Columns)
		for _, at := range []int{0, width / 2, width} {
			text := change(t, e.text, func(fields []string) []string { return slices.Insert(fields, at, "new, and quoted") })
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := e.read(dir); err != nil || !reflect.DeepEqual(got, e.want) {
				t.Errorf("%s with a new column %d: got %+v, want %+v, %v", e.schema.Name, at, got, e.want, err)
			}
		}
		for k, c := range e.schema.Columns {
			if c.Optional {
				continue
			}
			text := change(t, e.text, func(fields []string) []string { return slices.Delete(fields, k, k+1) })
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := e.read(dir)
			if want := fmt.Sprintf("%s:1: column %s is missing", path, c.Name); err == nil ||
				!strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
	if !slices.Equal(schemas, Tables) {
		t.Error("not every table has an example, in the order of Tables")
	}
}

// change changes the fields of each line, the header included.
func change(t *testing.T, text string, of func(fields []string) []string) string {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	for _, fields := range lines {
		_ = w.Write(of(fields))
	}
	w.Flush()
	return b.String()
}

// TestOlderFolder checks that a table with a new column can read an older program's file.
func TestOlderFolder(t *testing.T) {
	type newer struct {
		Marks  int64 `csv:"marks,optional"`
		Number int   `csv:"flow"`
		First  int64 `csv:"first_ns,null,optional"`
		FCT    int64 `csv:"fct_ns,null"`
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, Flows.Name), []byte(examples[0].text), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []newer
	err := Read(dir, table.Of[newer](Flows.Name, ""), func(row *newer) error {
		got = append(got, *row)
		return nil
	})
	if want := []newer{{0, 0, -1, 123}, {0, 1, -1, -1}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v, %v", got, want, err)
	}
}

// TestDamagedTables checks that rows whose columns contradict each other are refused, with their lines.
func TestDamagedTables(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		schema     *table.Schema
		rows, want string
		read       func() error
	}{
		{
			&Flows.Schema, "0,a,h0,h1,1,0,123,100,1,0\n1,a,h0,h1,1,0,123,100,,0\n",
			"flows.csv:3: fct_ns, ideal_fct_ns and slowdown", func() error {
				return Read(dir, Flows, func(*FlowRow) error { return nil })
			},
		},
		{&Flows.Schema, "0,a,h0,h1,1,0,,100,,0\n", "flows.csv:2: fct_ns, ideal_fct_ns and slowdown", func() error {
			return Read(dir, Flows, func(*FlowRow) error { return nil })
		}},
		{&Causes.Schema, "1,pause,L0-eth1,,\n", "causes.csv:2: the causes are not numbered in order", func() error {
			_, err := ReadCauses(dir)
			return err
		}},
		{&Causes.Schema, "0,pause,L0-eth1,0,\n", "causes.csv:2: the causes are not numbered in order", func() error {
			_, err := ReadCauses(dir)
			return err
		}},
	} {
		if err := os.WriteFile(filepath.Join(dir, c.schema.Name), []byte(c.schema.Header()+"\n"+c.rows), 0o600); err != nil {
			t.Fatal(err)
		}
		err := c.read()
		var place *FileError
		if !errors.As(err, &place) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.rows, err, c.want)
		}
	}
}
