package headroom

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/units"
)

// sonicTables reads testdata/sonic-lookups.tsv: a comment, a head, and rows. The first row of a table has its source.
func sonicTables(t *testing.T) (tables []*Table) {
	t.Helper()
	data, err := os.ReadFile("testdata/sonic-lookups.tsv")
	if err != nil {
		t.Fatal(err)
	}
	source, text := "", ""
	add := func() {
		if source != "" {
			if tables, err = AddTable(tables, source, []byte("# "+source+"\n"+text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[2:] {
		columns := strings.SplitN(line, "\t", 3)
		if columns[0] != "" {
			add()
			source, text = columns[0], ""
		}
		text += columns[2] + "\n"
	}
	add()
	return tables
}

func assumptions(t *testing.T, response string, cell units.Bytes) *Assumptions {
	t.Helper()
	a := &Assumptions{MTU: 9100, LosslessMTU: 1024, Cell: cell}
	var err error
	if a.Response, err = ParseResponse(response); err != nil {
		t.Fatal(err)
	}
	return a
}

// need computes the headroom by IEEE 802.1Qbb, annex O, apart from switchagent. A lossless frame has 116 B of headers:
// 14 Ethernet, 20 IPv4, 8 UDP, 12 BTH, 16 RETH, 4 ICRC, 42 in-band telemetry. A frame takes 24 B more of the line
// (preamble 8, FCS 4, gap 12), and a PFC frame 84 B.
func need(gigabits float64, metres, picoseconds, cell int64) int64 {
	const frame, beside, longest = 1024 + 116, 24, 9100 + 14 + 24
	up := func(n, by, of int64) int64 { return (n*by + of - 1) / of }
	megabits := int64(gigabits * 1000)
	bytesIn := func(ps int64) int64 { return up(ps, megabits, 8_000_000) }
	line := bytesIn(2*metres*5000) + // the cable, both ways
		bytesIn(picoseconds) + // response
		longest + // the frame that PAUSE waits for
		2*2*84 + // PAUSE and RESUME of two priorities
		frame + beside // the frame that the peer is sending
	room := int64(frame)
	if cell > 0 {
		room = up(frame, 1, cell) * cell
	}
	return room + up(line, room, frame+beside)
}

// TestLookupTables checks all rows of SONiC's public tables: the need of each against a formula of its own, and the
// numbers of rows that are proved, refuted and inverted against counts made by a script over the files.
func TestLookupTables(t *testing.T) {
	tables := sonicTables(t)
	// 31B.3.7: quanta of 512 bit times, by Gb/s. Slower rates have those of 10 Gb/s, 800 Gb/s the time of 400 Gb/s.
	quanta := map[float64]int64{10: 60, 25: 80, 40: 118, 50: 147, 100: 394, 200: 453, 400: 905}
	for _, c := range []struct {
		response  string
		cell      int64
		notProved int
	}{{"none", 0, 10}, {"802.3", 0, 113}, {"none", 254, 34}, {"1us", 0, 0}} {
		a := assumptions(t, c.response, units.Bytes(c.cell))
		all, err := a.CheckTables(tables)
		if err != nil {
			t.Fatal(err)
		}
		verdicts, below, pairs, inverted, slower := map[Verdict]int{}, map[*Table]int{}, 0, 0, 0
		for i := range all {
			r := &all[i]
			gigabits := float64(r.Rate) / 1e9
			ps := int64(0)
			switch c.response {
			case "1us":
				ps = 1_000_000
			case "802.3":
				of := min(max(gigabits, 10), 400)
				ps = int64(float64(quanta[of]*512_000) / of)
			}
			want := need(gigabits, r.Metres, ps, c.cell)
			if got := int64(r.Needed()); got != want {
				t.Fatalf("%+v: %s line %d, %s: needs %d, want %d", c, r.Table.Files[0], r.Line, r.Name(), got, want)
			}
			if (r.Verdict == Proved) != (int64(r.Headroom) >= want) {
				t.Errorf("%s: %v with %v of %d", r.Name(), r.Verdict, r.Headroom, want)
			}
			verdicts[r.Verdict]++
			if float64(r.Headroom) < 2*5e-9*float64(r.Metres)*float64(r.Rate)/8 {
				below[r.Table]++
			}
			pairs += len(r.Shorter)
			slower += len(r.Slower)
			if len(r.Shorter) > 0 {
				inverted++
			}
		}
		rows := 0
		for _, n := range below {
			rows += n
		}
		got := fmt.Sprintln(len(tables), len(all), rows, len(below), verdicts[Refuted], pairs, inverted, slower)
		if want := fmt.Sprintln(77, 1462, 20, 7, 20, 17, 11, 8); got != want {
			t.Errorf("tables, rows, rows below the cable, in tables, refuted, pairs, inverted, slower: %s, want %s", got, want)
		}
		if c.notProved > 0 && verdicts[NotProved] != c.notProved {
			t.Errorf("%+v: %d rows are not proved", c, verdicts[NotProved])
		}
	}
}

// TestLookupRuns runs a refuted row, one that the arithmetic cannot refute, a proved one at its worst, and the edge: a
// run's own peak is enough, and a cell of 254 B less drops frames.
func TestLookupRuns(t *testing.T) {
	testenv.WholeScenario(t)
	a := assumptions(t, "none", 0)
	all, err := a.CheckTables(sonicTables(t))
	if err != nil {
		t.Fatal(err)
	}
	run := func(r Checked) *Checked {
		t.Helper()
		if err := a.Run(context.Background(), &r); err != nil {
			t.Fatal(err)
		}
		return &r
	}
	find := func(table, name string) Checked {
		t.Helper()
		i := slices.IndexFunc(all, func(r Checked) bool { return strings.Contains(r.Table.Files[0], table) && r.Name() == name })
		if i < 0 {
			t.Fatalf("no row %s of %s", name, table)
		}
		return all[i]
	}
	for _, c := range []struct {
		table, name   string
		before, after Verdict
	}{
		{"SN4700-O8C48", "400Gbps 2000m", Refuted, Refuted},
		{"SN4700-C128", "40Gbps 2000m", Refuted, Refuted},      // 97.3 % of what the cable holds
		{"SN2700-D48C8", "10Gbps 2000m", NotProved, NotProved}, // flows have no packets of 9100 B
		{"SN4700-O8C48", "100Gbps 300m", Proved, Proved},
	} {
		before := find(c.table, c.name)
		after := run(before)
		if before.Verdict != c.before || after.Verdict != c.after || (after.Tried.Dropped > 0) != (c.after == Refuted) {
			t.Errorf("%s: %v, then %v with %d frames dropped", c.name, before.Verdict, after.Verdict, after.Tried.Dropped)
		}
	}
	const cell = 254
	for _, name := range []string{"100Gbps 40m", "400Gbps 300m"} {
		row := find("SN4700-O8C48", name)
		row.Headroom = row.Needed()
		worst := run(row)
		row.Headroom += cell
		if more := run(row); worst.Tried.Dropped+more.Tried.Dropped > 0 || worst.Verdict != Proved {
			t.Errorf("%s: %d frames dropped at the need, %d with a cell more", name, worst.Tried.Dropped, more.Tried.Dropped)
		}
		// The run's own edge lies below the need, mostly because flows send no packets of 9100 B for PAUSE to wait for.
		row.Headroom = worst.Tried.PastXOFF() - cell
		drops := run(row).Tried.Dropped > 0
		if !drops {
			t.Errorf("%s: no frame dropped with %v, a cell less than a run needs", name, row.Headroom)
		}
		for drops && row.Headroom < row.Needed() {
			row.Headroom += cell
			drops = run(row).Tried.Dropped > 0
		}
		least := row.Needed() - 9100 - 4*1140 - row.Cable()/50
		if drops || row.Headroom < least {
			t.Errorf("%s: the least headroom without drops is %v, want %v to %v", name, row.Headroom, least, row.Needed())
		}
		t.Logf("%s: needed %v, least without drops %v", name, row.Needed(), row.Headroom)
	}
}

// TestRunTables checks that each distinct row that is not proved is run once, and of the proved ones the least.
func TestRunTables(t *testing.T) {
	testenv.WholeScenario(t)
	a := assumptions(t, "none", 0)
	tables, err := AddTable(nil, "x", []byte("10000 300m 0 0 16000 0\n10000 300m 0 0 17000 0\n10000 300m 0 0 1000 0\n"+
		"10000 300m 0 0 1000 0\n10000 300m 0 0 4000 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := a.CheckTables(tables)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	if err := a.RunTables(context.Background(), all, func() { runs++ }); err != nil {
		t.Fatal(err)
	}
	got := ""
	for i := range all {
		got += fmt.Sprintln(all[i].Verdict, all[i].Tried.Dropped > 0)
	}
	if want := "proved false\nproved false\nrefuted true\nrefuted true\nrefuted true\n"; got != want || runs != 3 {
		t.Errorf("%d runs: %s", runs, got)
	}
}

// TestLookupErrors checks that mistakes name the line.
func TestLookupErrors(t *testing.T) {
	for text, want := range map[string]string{
		"10000 5m 1 1 1\n":       "line 1 has 5 columns",
		"\n1 5m 1 1 1 0\n":       "line 2: 1 is not a speed",
		"10000 5 1 1 1 0\n":      "line 1: \"5\" is not a length",
		"10000 5m 1 1 -1 0\n":    "line 1: xoff: \"-1\" is not a number of bytes",
		"fast 5m 1 1 1 0\n":      "line 1: \"fast\" is not a speed",
		"10000 5m 1 1 1 0 # x\n": "",
		"# nothing\n":            "",
	} {
		_, err := AddTable(nil, "x.ini", []byte(text))
		if got := fmt.Sprint(err); (want == "") != (err == nil) || !strings.Contains(got, want) && err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "x", "-1s", "2ms"} {
		if _, err := ParseResponse(text); err == nil {
			t.Errorf("response %q", text)
		}
	}
}
