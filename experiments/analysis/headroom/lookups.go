package headroom

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/scenario/sonic"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// MetreDelay holds the propagation delay of a metre of cable, as the tables' cables are assumed to have.
const MetreDelay = 5 * vtime.Nanosecond

// Table represents a pg_profile_lookup.ini. Files with the same text are one table.
type Table struct {
	Files []string
	Rows  []Row
	text  string
}

// Row represents a row of a table: the headroom of a lossless priority of a port with this rate and cable.
type Row struct {
	Line     int
	Rate     units.Rate
	Metres   int64
	Headroom units.Bytes
}

// Name returns the row's rate and cable, such as "400Gbps 2000m".
func (r *Row) Name() string { return fmt.Sprintf("%v %dm", r.Rate, r.Metres) }

// parseTable reads a pg_profile_lookup.ini.
func parseTable(data []byte) (rows []Row, err error) {
	lines, err := sonic.LookupRows(data)
	if err != nil {
		return nil, err
	}
	for i := range lines {
		l := &lines[i]
		metres, err := l.Metres()
		if err != nil {
			return nil, err
		}
		xoff, err := l.Bytes("xoff")
		if err != nil {
			return nil, err
		}
		if l.Speed < 10 || l.Speed > 10_000_000 {
			return nil, fmt.Errorf("line %d: %d is not a speed of 10 to 10000000 Mbps", l.Line, l.Speed)
		}
		rows = append(rows, Row{l.Line, units.Rate(l.Speed) * 1_000_000, metres, units.Bytes(xoff)})
	}
	return rows, nil
}

// AddTable adds a file to the tables, or its name to the table with the same text. A file of comments is a table
// without rows.
func AddTable(tables []*Table, file string, data []byte) ([]*Table, error) {
	if i := slices.IndexFunc(tables, func(t *Table) bool { return t.text == string(data) }); i >= 0 {
		tables[i].Files = append(tables[i].Files, file)
		return tables, nil
	}
	rows, err := parseTable(data)
	if err != nil && !errors.Is(err, sonic.ErrNoProfiles) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return append(tables, &Table{[]string{file}, rows, string(data)}), nil
}

// Assumptions holds the properties of a switch that its table does not have.
type Assumptions struct {
	MTU         int         // longest packet of any priority on the port, in bytes
	LosslessMTU int         // payload of a full lossless packet, in bytes
	Cell        units.Bytes // size of a cell of the ASIC's buffer; 0: the buffer counts bytes
	Response    Response
}

// Response represents the time that hardware takes to send and obey PAUSE, by the port's rate.
type Response struct {
	Name string
	at   func(units.Rate) vtime.Time
}

// At returns the time at a rate.
func (r *Response) At(rate units.Rate) vtime.Time { return r.at(rate) }

// pauseQuanta lists how many quanta of 512 bit times IEEE 802.3, 31B.3.7, allows a station between the end of a PAUSE
// and the end of its last frame, by the rate in Gb/s. Faster rates take the time of the last.
var pauseQuanta = []struct{ rate, quanta int64 }{
	{10, 60}, {25, 80}, {40, 118}, {50, 147}, {100, 394}, {200, 453}, {400, 905},
}

// Standard holds the name of the response profile of IEEE 802.3.
const Standard = "802.3"

// ParseResponse parses a profile: 802.3, none, or a time from 0 to 1 ms.
func ParseResponse(text string) (Response, error) {
	switch text {
	case Standard:
		return Response{text, func(rate units.Rate) vtime.Time {
			i := 0
			for i+1 < len(pauseQuanta) && units.Rate(pauseQuanta[i+1].rate)*units.Gbps <= rate {
				i++
			}
			return vtime.Time(pauseQuanta[i].quanta * 512 * int64(vtime.Nanosecond) / pauseQuanta[i].rate)
		}}, nil
	case "none":
		text = "0s"
	}
	span, err := units.ParseTime(text)
	if err != nil || span < 0 || span > vtime.Millisecond {
		return Response{}, fmt.Errorf("expected %s, none, or a time from 0 to 1 ms, such as 1.5us", Standard)
	}
	return Response{text, func(units.Rate) vtime.Time { return span }}, nil
}

// Scenario returns the text of a scenario with a row's headroom: four hosts at a switch with the row's rate and cable.
func (a *Assumptions) Scenario(r *Row) string {
	const headers, usual = 160, 1500
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\ntopology: {mtu: %d, ",
		strings.ToLower(strings.ReplaceAll(r.Name(), " ", "-")), a.LosslessMTU)
	if a.MTU >= max(usual, a.LosslessMTU+headers) {
		fmt.Fprintf(&b, "interface_mtu: %d, ", a.MTU)
	}
	fmt.Fprintf(&b, "star: {hosts: 4, rate: %v, delay: %v}}\n", r.Rate, vtime.Time(r.Metres)*MetreDelay)
	fmt.Fprintf(&b, "switch: {pfc: {priorities: [3, 4], xoff: %v, headroom: %dB", rowXOFF, r.Headroom)
	if t := a.Response.At(r.Rate); t > 0 {
		fmt.Fprintf(&b, ", response: %v", t)
	}
	if a.Cell > 0 {
		fmt.Fprintf(&b, ", cell_size: %v", a.Cell)
	}
	b.WriteString("}}\nhost: {data_priority: 3}\ncontrollers: [none]\nduration: 1ms\nflows: [{from: h0, to: " +
		"h1, size: 1KB}]\n")
	return b.String()
}

// rowXOFF is the static XOFF of a row's scenario. The need for headroom does not depend on it.
const rowXOFF = 100 * units.KB

// load reads a row's scenario with changes.
func (a *Assumptions) load(r *Row) Load {
	return func(sets []string) (*scenario.Scenario, error) {
		return scenario.Parse("row.yaml", []byte(a.Scenario(r)), sets)
	}
}

// Verdict represents the result of a row's check, from best to worst.
type Verdict int

// Verdicts of rows.
const (
	Proved    Verdict = iota // the headroom holds everything that can arrive
	NotProved                // it does not, but no run dropped frames
	Refuted                  // it is less than the cable holds, or a run dropped frames
)

// String returns the verdict in words.
func (v Verdict) String() string { return [...]string{"proved", "not proved", "refuted"}[v] }

// Checked holds the result of a row's check.
type Checked struct {
	Row
	Table   *Table
	Kind    *Kind // parts of the need; its Headroom is not the row's
	Verdict Verdict
	// Shorter and Slower hold rows of the table with more headroom for a shorter cable at the same rate, or for a lower
	// rate at the same cable.
	Shorter, Slower []*Row
	Tried           *Tried // nil: not run
}

// Needed returns the headroom that the row needs.
func (c *Checked) Needed() units.Bytes { return c.Kind.Needed() }

// Cable returns the bytes that the cable alone holds, both ways.
func (c *Checked) Cable() units.Bytes { return c.Kind.InFlight.Cable }

// Holds reports whether the row is proved and not inverted.
func (c *Checked) Holds() bool { return c.Verdict == Proved && !c.Inverted() }

// Inverted reports whether a shorter cable or a lower rate has more headroom.
func (c *Checked) Inverted() bool { return len(c.Shorter)+len(c.Slower) > 0 }

// CheckTables checks all rows by arithmetic.
func (a *Assumptions) CheckTables(tables []*Table) ([]Checked, error) {
	type need struct {
		rate   units.Rate
		metres int64
	}
	kinds := map[need]*Kind{}
	var all []Checked
	for _, t := range tables {
		for i := range t.Rows {
			r := &t.Rows[i]
			n := need{r.Rate, r.Metres}
			if kinds[n] == nil {
				s, err := a.load(r)(nil)
				if err != nil {
					return nil, fmt.Errorf("%s, line %d: %w", t.Files[0], r.Line, err)
				}
				check, err := Of(s)
				if err != nil {
					return nil, fmt.Errorf("%s, line %d: %w", t.Files[0], r.Line, err)
				}
				kinds[n] = &check.Kinds[0]
			}
			c := Checked{Row: *r, Table: t, Kind: kinds[n]}
			switch {
			case r.Headroom >= c.Needed():
			case r.Headroom < c.Cable():
				c.Verdict = Refuted
			default:
				c.Verdict = NotProved
			}
			for k := range t.Rows {
				o := &t.Rows[k]
				switch {
				case o.Headroom <= r.Headroom:
				case o.Rate == r.Rate && o.Metres < r.Metres:
					c.Shorter = append(c.Shorter, o)
				case o.Metres == r.Metres && o.Rate < r.Rate:
					c.Slower = append(c.Slower, o)
				}
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// RunTables runs the worst incast of rows: of each distinct row that is not proved and, for each rate and cable, of the
// proved row with the least headroom. A run that drops lossless frames refutes the row. If a run drops none, a refuted
// row becomes not proved. ran is called after each run.
func (a *Assumptions) RunTables(ctx context.Context, rows []Checked, ran func()) error {
	order := make([]*Checked, len(rows))
	for i := range rows {
		order[i] = &rows[i]
	}
	slices.SortStableFunc(order, func(x, y *Checked) int {
		return cmp.Or(cmp.Compare(x.Rate, y.Rate), cmp.Compare(x.Metres, y.Metres), cmp.Compare(x.Headroom, y.Headroom))
	})
	var before *Checked
	for _, c := range order {
		same := before != nil && before.Rate == c.Rate && before.Metres == c.Metres
		if !same || before.Headroom != c.Headroom && before.Verdict != Proved {
			if err := a.Run(ctx, c); err != nil {
				return err
			}
			ran()
		} else {
			c.Tried = before.Tried
			c.Verdict = before.Verdict
		}
		before = c
	}
	return nil
}

// Run runs the worst incast with a row's headroom, and changes the verdict by its result.
func (a *Assumptions) Run(ctx context.Context, c *Checked) error {
	load := a.load(&c.Row)
	s, err := load(nil)
	if err != nil {
		return err
	}
	kind := *c.Kind
	kind.Headroom = c.Headroom
	if c.Tried, err = Worst(s.Topology, kind.Ports).Try(ctx, s, "none", &kind, load); err != nil {
		return fmt.Errorf("%s: %w", c.Name(), err)
	}
	switch {
	case c.Tried.Dropped > 0:
		c.Verdict = Refuted
	case c.Verdict == Refuted:
		c.Verdict = NotProved
	}
	return nil
}
