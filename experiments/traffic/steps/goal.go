package steps

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/vtime"
)

// LineError reports a mistake in a line of a file.
type LineError struct {
	Line int // from 1
	Text string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// maxRanks limits the ranks of a file.
const maxRanks = 1 << 16

// goalOperation holds an operation of a file.
type goalOperation struct {
	Operation
	peer, tag int
	size      int64
	line      int // in a text
	number    int // index among its rank's operations in a binary file
	waits     []Wait
}

// goal reads a file of GOAL.
type goal struct {
	ranks      int
	unit       vtime.Time
	operations []goalOperation
	rank       int // of the current block; -1: outside of a block
	seen       map[int]bool
	labels     map[string]int32 // of the block
	requires   []goalRequire    // likewise
	comment    bool
}

type goalRequire struct {
	what, on string
	until    Until
	line     int
}

// ReadGOAL reads a schedule in GOAL's text (as LogGOPSim's and ATLAHS's txt2bin accept it), or in the binary form that
// these write. The text has num_ranks, and for each rank a block of send, recv and calc, with labels, and "requires"
// (starts when the other has ended) or "irequires" (when it has started). unit is the time of a calc of 1. The calcs of
// one cpu of a rank run one after the other. Sends and receives take no time of a cpu, and nic is read and ignored.
// Messages match in order, by their ranks and tags; one of 0 bytes is sent as 1. A message of a rank to itself arrives
// at once. An error of a text is a *LineError, or names operations that wait for each other.
func ReadGOAL(data []byte, unit vtime.Time) (*Graph, error) {
	g := goal{unit: unit, rank: -1, seen: map[int]bool{}}
	switch cookie := goalCookieOf(data); {
	case cookie == goalCookie:
		if err := g.readBinary(data[8:]); err != nil {
			return nil, fmt.Errorf("binary GOAL: %w", err)
		}
		return g.graph()
	case cookie == goalSpentCookie:
		return nil, errors.New("binary GOAL that a simulation with --save-mem has used up: write it again " +
			"(txt2bin -i schedule.goal -o schedule.bin)")
	case bytes.IndexByte(data, 0) >= 0:
		return nil, errors.New("neither GOAL's text nor the binary form that LogGOPSim's txt2bin writes " +
			"(txt2bin -i schedule.goal -o schedule.bin)")
	}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		if err := g.line(line, number); err != nil {
			return nil, &LineError{number, err.Error()}
		}
	}
	switch {
	case g.rank >= 0:
		return nil, &LineError{number, fmt.Sprintf("the block of rank %d is not closed: a } is missing", g.rank)}
	case g.ranks == 0:
		return nil, &LineError{max(number, 1), "there is no num_ranks"}
	}
	return g.graph()
}

func (g *goal) line(text string, number int) error {
	text = g.uncomment(text)
	words := strings.Fields(strings.NewReplacer(":", " : ", "{", " { ", "}", " } ").Replace(text))
	for len(words) > 0 {
		switch {
		case words[0] == "}":
			if g.rank < 0 {
				return fmt.Errorf("a } without a block")
			}
			if err := g.endBlock(); err != nil {
				return err
			}
			words = words[1:]
			continue
		case words[0] == "num_ranks" && g.rank < 0:
			if len(words) < 2 {
				return fmt.Errorf("num_ranks without a number")
			}
			n, err := whole(words[1], 1, maxRanks)
			if err != nil {
				return fmt.Errorf("num_ranks: %w", err)
			}
			g.ranks = int(n)
			words = words[2:]
			continue
		case words[0] == "rank" && g.rank < 0:
			if len(words) < 3 || words[2] != "{" {
				return fmt.Errorf("a block begins so: rank 0 {")
			}
			n, err := whole(words[1], 0, int64(g.ranks)-1)
			if err != nil {
				return fmt.Errorf("rank: %w", err)
			}
			if g.seen[int(n)] {
				return fmt.Errorf("rank %d has a block already", n)
			}
			g.rank, g.labels, g.requires = int(n), map[string]int32{}, nil
			g.seen[g.rank] = true
			words = words[3:]
			continue
		case g.rank < 0:
			return fmt.Errorf("%q is none of num_ranks, rank and }", words[0])
		}
		own := words // a statement, up to the block's end
		for i, w := range words {
			if w == "}" {
				own = words[:i]
				break
			}
		}
		words = words[len(own):]
		if err := g.statement(own, number); err != nil {
			return err
		}
	}
	return nil
}

// uncomment returns a line without comments: text between /* and */, also over several lines, and text after //.
func (g *goal) uncomment(text string) string {
	var b strings.Builder
	for text != "" {
		if g.comment {
			_, rest, ends := strings.Cut(text, "*/")
			if !ends {
				return b.String()
			}
			g.comment, text = false, rest
			continue
		}
		open, line := strings.Index(text, "/*"), strings.Index(text, "//")
		if line >= 0 && (open < 0 || line < open) {
			b.WriteString(text[:line])
			return b.String()
		}
		if open < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:open] + " ")
		g.comment, text = true, text[open+2:]
	}
	return b.String()
}

func whole(text string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	if n < least || n > most {
		return 0, fmt.Errorf("%d is outside of %d to %d", n, least, most)
	}
	return n, nil
}

// statement reads an operation, or a dependency of one.
func (g *goal) statement(words []string, number int) error {
	label := ""
	switch {
	case len(words) == 3 && (words[1] == "requires" || words[1] == "irequires"):
		r := goalRequire{words[0], words[2], Ended, number}
		if words[1] == "irequires" {
			r.until = Started
		}
		g.requires = append(g.requires, r)
		return nil
	case len(words) > 2 && words[1] == ":":
		label, words = words[0], words[2:]
		if _, known := g.labels[label]; known {
			return fmt.Errorf("label %q stands twice in rank %d", label, g.rank)
		}
	}
	o := goalOperation{Operation: Operation{Rank: int32(g.rank)}, line: number}
	rest, err := o.read(words, g)
	if err != nil {
		return err
	}
	cpu := int64(0)
	for ; len(rest) > 0; rest = rest[2:] {
		if len(rest) == 1 {
			return fmt.Errorf("%q without a number", rest[0])
		}
		switch {
		case rest[0] == "tag" && o.Kind != Compute && rest[1] == "-1":
			return errAnyTag
		case rest[0] == "tag" && o.Kind != Compute:
			tag, err := whole(rest[1], 0, 1<<32-1)
			if err != nil {
				return fmt.Errorf("tag: %w", err)
			}
			o.tag = int(tag)
		case rest[0] == "cpu":
			if cpu, err = whole(rest[1], 0, 255); err != nil {
				return fmt.Errorf("cpu: %w", err)
			}
		case rest[0] == "nic" && o.Kind != Compute:
			if _, err := whole(rest[1], 0, 255); err != nil {
				return fmt.Errorf("nic: %w", err)
			}
		default:
			return fmt.Errorf("%q is not expected here", rest[0])
		}
	}
	if o.Kind == Compute {
		o.Unit = int32(cpu) + 1
	}
	if label != "" {
		g.labels[label] = int32(len(g.operations))
	}
	g.operations = append(g.operations, o)
	return nil
}

// read reads the kind and size of an operation, and returns the remaining words.
func (o *goalOperation) read(words []string, g *goal) (rest []string, err error) {
	expects := func(n int, like string) error {
		if len(words) < n {
			return fmt.Errorf("%q: write it like %s", strings.Join(words, " "), like)
		}
		return nil
	}
	switch words[0] {
	case "calc":
		if err := expects(2, "calc 1000"); err != nil {
			return nil, err
		}
		n, err := whole(words[1], 0, int64(longest/g.unit))
		if err != nil {
			return nil, fmt.Errorf("calc: %w", err)
		}
		o.Duration = vtime.Time(n) * g.unit
		return words[2:], nil
	case "send", "recv":
		preposition, like := "to", "send 8b to 1 tag 5"
		if o.Kind = Send; words[0] == "recv" {
			o.Kind, preposition, like = Receive, "from", "recv 8b from 0 tag 5"
		}
		if err := expects(4, like); err != nil {
			return nil, err
		}
		size, is := strings.CutSuffix(words[1], "b")
		if !is || words[2] != preposition {
			return nil, fmt.Errorf("%q: write it like %s", strings.Join(words[:4], " "), like)
		}
		if o.size, err = whole(size, 0, mostBytes); err != nil {
			return nil, err
		}
		if words[3] == "-1" {
			return nil, errAnyRank
		}
		peer, err := whole(words[3], 0, int64(g.ranks)-1)
		if err != nil {
			return nil, fmt.Errorf("rank: %w", err)
		}
		o.peer = int(peer)
		return words[4:], nil
	}
	return nil, fmt.Errorf("%q is none of send, recv and calc", words[0])
}

// Receives of anything.
var (
	errAnyRank = errors.New("a receive from -1, any rank, is matched as a run goes: name the rank")
	errAnyTag  = errors.New("tag -1, any, is matched as a run goes: name the tag")
)

// longest limits a compute, mostBytes a message of a file.
const (
	longest   = 3600 * vtime.Second
	mostBytes = 1 << 40
)

// endBlock ends a rank's block: its labels are known now.
func (g *goal) endBlock() error {
	for _, r := range g.requires {
		what, known := g.labels[r.what]
		on, alsoKnown := g.labels[r.on]
		for _, l := range []struct {
			name  string
			known bool
		}{{r.what, known}, {r.on, alsoKnown}} {
			if !l.known {
				return fmt.Errorf("rank %d has no label %q (line %d)", g.rank, l.name, r.line)
			}
		}
		g.operations[what].waits = append(g.operations[what].waits, Wait{on, r.until})
	}
	g.rank = -1
	return nil
}

// mistake returns an error about an operation, with its position in the file.
func (o *goalOperation) mistake(text string) error {
	if o.line > 0 {
		return &LineError{o.line, text}
	}
	return fmt.Errorf("binary GOAL: rank %d: operation %d: %s", o.Rank, o.number, text)
}

// graph returns the graph of the file, with sends and receives matched.
func (g *goal) graph() (*Graph, error) {
	type channel struct{ from, to, tag int }
	type pair struct {
		send, receive int32
		size          int64
	}
	var pairs []pair
	sends := map[channel][]int32{}
	for i := range g.operations {
		if o := &g.operations[i]; o.Kind == Send {
			c := channel{int(o.Rank), o.peer, o.tag}
			sends[c] = append(sends[c], int32(i))
		}
	}
	for i := range g.operations {
		o := &g.operations[i]
		if o.Kind != Receive {
			continue
		}
		c := channel{o.peer, int(o.Rank), o.tag}
		if len(sends[c]) == 0 {
			return nil, o.mistake(fmt.Sprintf("no send of rank %d to rank %d with tag %d is left for this receive", o.peer,
				o.Rank, o.tag))
		}
		send := sends[c][0]
		sends[c] = sends[c][1:]
		pairs = append(pairs, pair{send, int32(i), max(g.operations[send].size, 1)})
	}
	for i := range g.operations {
		if o := &g.operations[i]; o.Kind == Send {
			if left := sends[channel{int(o.Rank), o.peer, o.tag}]; len(left) > 0 {
				first := &g.operations[left[0]]
				return nil, first.mistake(fmt.Sprintf("rank %d has no receive left for this send of rank %d with tag %d",
					first.peer, first.Rank, first.tag))
			}
		}
	}
	for _, p := range pairs {
		if s, r := &g.operations[p.send], &g.operations[p.receive]; s.Rank == r.Rank {
			s.Kind, r.Kind = Compute, Compute
			r.waits = append(r.waits, Wait{p.send, Ended})
		}
	}
	all := &Graph{Ranks: g.ranks}
	for i := range g.operations {
		o := &g.operations[i]
		all.Add(o.Operation, o.waits...)
	}
	for _, p := range pairs {
		if all.operations[p.send].kind == Send {
			all.Pair(p.send, p.receive, p.size)
		}
	}
	if _, cycle := all.Order(); cycle != nil {
		return nil, fmt.Errorf("operations wait for each other, and so never begin: %s", all.DescribeCycle(cycle))
	}
	return all, nil
}
