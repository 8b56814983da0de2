package counters

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// LineError reports a mistake in a line of a dump.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the underlying error.
func (e *LineError) Unwrap() error { return e.Err }

// WritePFC writes the two tables of SONiC's `show pfc counters`: PAUSE frames received and sent, by port and priority.
func (n *Node) WritePFC(w io.Writer) error {
	var b strings.Builder
	for i, title := range []string{"Port Rx", "Port Tx"} {
		if i > 0 {
			b.WriteByte('\n')
		}
		rows := [][]string{{title}}
		for k := range Priorities {
			rows[0] = append(rows[0], fmt.Sprintf("PFC%d", k))
		}
		for _, p := range n.Ports {
			row := []string{p.Name}
			for k := range p.Class {
				count := p.Class[k].RxPause
				if i > 0 {
					count = p.Class[k].TxPause
				}
				row = append(row, commas(count))
			}
			rows = append(rows, row)
		}
		writeSimple(&b, rows)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeSimple writes rows, of which the first is the header, as Python's tabulate does in the format "simple" with all
// columns aligned to the right: a column is at least two characters wider than its title.
func writeSimple(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for i, title := range rows[0] {
		widths[i] = len(title) + 2
		for _, row := range rows[1:] {
			widths[i] = max(widths[i], len(row[i]))
		}
	}
	line := func(cells []string) {
		for i, cell := range cells {
			if i > 0 {
				b.WriteString("  ")
			}
			fmt.Fprintf(b, "%*s", widths[i], cell)
		}
		b.WriteByte('\n')
	}
	line(rows[0])
	rule := make([]string, len(widths))
	for i := range rule {
		rule[i] = strings.Repeat("-", widths[i])
	}
	line(rule)
	for _, row := range rows[1:] {
		line(row)
	}
}

// commas formats a number with a comma between each three digits.
func commas(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// readPFC reads lines of `show pfc counters` into a node, and reports whether there were any. It ignores lines around
// the tables. N/A counts as 0.
func (n *Node) readPFC(lines []string) (found bool, err error) {
	receiving := false
	inTable := false
	for i, line := range lines {
		words := strings.Fields(line)
		switch {
		case len(words) == 2+Priorities && words[0] == "Port" && (words[1] == "Rx" || words[1] == "Tx"):
			receiving, inTable, found = words[1] == "Rx", true, true
		case !inTable, len(words) > 0 && strings.Trim(words[0], "-") == "":
		case len(words) == 0, strings.HasPrefix(line, "#"):
			inTable = false
		case len(words) != 1+Priorities:
			return found, &LineError{i + 1, fmt.Errorf("expected a port and %d numbers, not %d words", Priorities, len(words))}
		default:
			p := n.port(words[0])
			for k, word := range words[1:] {
				count, err := number(word)
				if err != nil {
					return found, &LineError{i + 1, fmt.Errorf("PFC%d of %s: %w", k, p.Name, err)}
				}
				if receiving {
					p.put(&p.Class[k].RxPause, count)
				} else {
					p.put(&p.Class[k].TxPause, count)
				}
			}
		}
	}
	return found, nil
}

// number parses a counter, with commas or without. N/A is 0.
func number(word string) (uint64, error) {
	if word == "N/A" {
		return 0, nil
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(word, ",", ""), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", word)
	}
	return n, nil
}

// WriteEthtool writes the counters of each port as `ethtool -S` does, with the names of NVIDIA's driver mlx5, those of
// a host's RDMA counters among them. A line before each port names it.
func (n *Node) WriteEthtool(w io.Writer) error {
	var b strings.Builder
	for _, p := range n.Ports {
		fmt.Fprintf(&b, "# ethtool -S %s\nNIC statistics:\n", p.Name)
		for _, f := range p.ethtool() {
			fmt.Fprintf(&b, "     %s: %d\n", f.name, *f.at/f.unit)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// field is a column of a port's table: a counter, which the table shows in multiples of unit.
type field struct {
	name string
	at   *uint64
	unit uint64
}

// ethtool returns the counters of a port with their names in mlx5.
func (p *Port) ethtool() []field {
	all := []field{
		{"rx_packets_phy", &p.RxPackets, 1},
		{"tx_packets_phy", &p.TxPackets, 1},
		{"rx_crc_errors_phy", &p.RxErrors, 1},
		{"rx_discards_phy", &p.RxNoRoom, 1},
		{"tx_discards_phy", &p.TxDrops, 1},
	}
	for i := range p.Class {
		c := &p.Class[i]
		for _, f := range []field{
			{"rx_prio%d_bytes", &c.RxBytes, 1},
			{"tx_prio%d_bytes", &c.TxBytes, 1},
			{"rx_prio%d_pause", &c.RxPause, 1},
			{"rx_prio%d_pause_duration", &c.RxPauseNS, 1000},
			{"tx_prio%d_pause", &c.TxPause, 1},
			{"tx_prio%d_pause_duration", &c.TxPauseNS, 1000},
		} {
			f.name = fmt.Sprintf(f.name, i)
			all = append(all, f)
		}
	}
	if p.RoCE != nil {
		r := p.RoCE
		all = append(
			all,
			field{"np_cnp_sent", &r.CNPsSent, 1},
			field{"np_ecn_marked_roce_packets", &r.Marked, 1},
			field{"rp_cnp_handled", &r.CNPsHandled, 1},
			field{"out_of_sequence", &r.OutOfSequence, 1},
			field{"packet_seq_err", &r.SequenceNAKs, 1},
			field{"local_ack_timeout_err", &r.Timeouts, 1},
			field{"duplicate_request", &r.Duplicates, 1},
		)
	}
	return all
}

// readEthtool reads lines of `ethtool -S` into a node, and reports whether there were any. The comment before a port
// names it; without one it is the port with the given name. Names that it does not know are ignored.
func (n *Node) readEthtool(lines []string, port string) (found bool, err error) {
	var p *Port
	var fields map[string]field
	for i, line := range lines {
		if name, ok := strings.CutPrefix(line, "# ethtool -S "); ok {
			port, p = strings.TrimSpace(name), nil
			continue
		}
		if strings.TrimSpace(line) == "NIC statistics:" {
			p, found = n.port(port), true
			roce := p.RoCE
			p.RoCE = &RoCE{}
			fields = map[string]field{}
			for _, f := range p.ethtool() {
				fields[f.name] = f
			}
			if roce != nil {
				*p.RoCE = *roce
			}
			continue
		}
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if p == nil || !ok {
			continue
		}
		f, known := fields[name]
		if !known {
			continue
		}
		count, err := number(strings.TrimSpace(value))
		if err != nil {
			return found, &LineError{i + 1, fmt.Errorf("%s of %s: %w", name, port, err)}
		}
		p.put(f.at, count*f.unit)
	}
	return found, nil
}

// sniff splits a text into lines, without carriage returns.
func sniff(data []byte) []string {
	return slices.Collect(strings.Lines(strings.ReplaceAll(string(data), "\r", "")))
}

// mostBytes limits a dump.
const mostBytes = 64 << 20
