package audit

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario/sonic"
	"github.com/pausenet/pausenet/internal/lazy"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// node represents a statement of a configuration that nests: a line of EOS, a word of Junos, a key or value of YAML.
type node struct {
	word  string
	file  string
	line  int
	up    *node
	below []*node
	index map[string]*node
}

// mostNested limits the depth of a tree.
const mostNested = 64

// child returns the first child with a word; nil if there is none, or if n is nil.
func (n *node) child(word string) *node {
	if n == nil {
		return nil
	}
	return n.index[word]
}

// get follows words from n; nil if one is absent.
func (n *node) get(words ...string) *node {
	for _, word := range words {
		n = n.child(word)
	}
	return n
}

// value returns the word below a child: its setting's value; "" if there is none.
func (n *node) value(words ...string) string {
	if at := n.get(words...); at != nil && len(at.below) > 0 {
		return at.below[0].word
	}
	return ""
}

// children returns the nodes below n; none if n is nil.
func (n *node) children() []*node {
	if n == nil {
		return nil
	}
	return n.below
}

// find returns the first node with a word anywhere below n.
func (n *node) find(word string) *node {
	if at := n.child(word); at != nil || n == nil {
		return at
	}
	for _, each := range n.below {
		if at := each.find(word); at != nil {
			return at
		}
	}
	return nil
}

// add returns a new child, or the present one with that word: statements of a path that repeats belong together.
func (n *node) add(word, file string, line int) *node {
	if at := n.index[word]; at != nil {
		return at
	}
	at := &node{word: word, file: file, line: line, up: n}
	n.below = append(n.below, at)
	if n.index == nil {
		n.index = map[string]*node{}
	}
	n.index[word] = at
	return at
}

// place returns a node's position; its key has the words from the root.
func (n *node) place() Place {
	if n == nil {
		return Place{}
	}
	var words []string
	for at := n; at.up != nil; at = at.up {
		words = append([]string{at.word}, words...)
	}
	return Place{n.file, n.line, strings.Join(words, " ")}
}

// errorf returns an error at a node.
func (n *node) errorf(format string, args ...any) error {
	return fmt.Errorf("%v: %w", n.place(), fmt.Errorf(format, args...))
}

// number parses the value below a child as a whole number; 0 if it is absent. The value may end with a unit that is
// cut off.
func (n *node) number(unit string, least, most int64, words ...string) (int64, error) {
	at := n.get(words...)
	if at == nil || len(at.below) == 0 {
		return 0, nil
	}
	return at.below[0].asNumber(unit, least, most)
}

// asNumber parses a node's word as number does.
func (n *node) asNumber(unit string, least, most int64) (int64, error) {
	text := strings.TrimSpace(strings.TrimSuffix(n.word, unit))
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < least || v > most {
		return 0, n.errorf("%q is not a number from %d to %d", n.word, least, most)
	}
	return v, nil
}

// spans parses numbers and ranges such as "3", "0,3" and "24-31 46", each from 0 to most, which is at most 63.
func (n *node) spans(text string, most int) (all []int, err error) {
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' }) {
		span, err := sonic.Span("", word)
		if err != nil || span[len(span)-1] > most {
			return nil, n.errorf("%q is not a list of numbers from 0 to %d, such as 3 or 0,3-5", text, most)
		}
		all = append(all, span...)
	}
	return all, nil
}

// mostPorts limits the ports that a range names.
const mostPorts = 4096

// portNames expands names such as swp1-4,swp8 and Ethernet1/1-4; the range is of the last number.
func portNames(text string) (all []string, err error) {
	for _, word := range strings.Split(text, ",") {
		name, last, ranged := strings.Cut(word, "-")
		stem := strings.TrimRight(name, "0123456789")
		a, err1 := strconv.Atoi(name[len(stem):])
		b, err2 := strconv.Atoi(last)
		if !ranged || err1 != nil || err2 != nil {
			all = append(all, word)
			continue
		}
		if b < a || b-a+len(all) > mostPorts {
			return nil, fmt.Errorf("%q is not a range of at most %d ports, such as swp1-4", word, mostPorts)
		}
		for ; a <= b; a++ {
			all = append(all, stem+strconv.Itoa(a))
		}
	}
	return all, nil
}

// addLines adds lines that nest by indentation, as EOS prints them. Lines that start with ! separate. A file with EOS's
// first line must have its last one.
func (n *node) addLines(f *File) error {
	text := bytes.TrimSpace(f.Data)
	if bytes.HasPrefix(text, []byte("! Command: show running-config")) && !bytes.HasSuffix(text, []byte("\nend")) {
		return fmt.Errorf("%s:%d: the configuration does not close with a line \"end\": it is cut off", f.Name,
			1+bytes.Count(text, []byte("\n")))
	}
	stack := []level{{n, -1}} // with indents instead of lines
	for i, text := range strings.Split(string(f.Data), "\n") {
		text = strings.TrimRight(text, " \t\r")
		words := strings.TrimLeft(text, " ")
		if words == "" || words[0] == '!' {
			continue
		}
		indent := len(text) - len(words)
		for stack[len(stack)-1].line >= indent {
			stack = stack[:len(stack)-1]
		}
		if len(stack) > mostNested {
			return fmt.Errorf("%s:%d: nested deeper than %d levels", f.Name, i+1, mostNested)
		}
		stack = append(stack, level{stack[len(stack)-1].of.add(words, f.Name, i+1), indent})
	}
	return nil
}

// addYAML adds a YAML file: keys, and values below them.
func (n *node) addYAML(f *File) error {
	var report yamlspec.Report
	v := report.Parse(f.Name, f.Data)
	if err := report.Err(); err != nil {
		return err
	}
	var into func(n *node, v *yamlspec.Value)
	into = func(n *node, v *yamlspec.Value) {
		switch {
		case v.IsMapping():
			v.Mapping().All(func(key, value *yamlspec.Value) { into(n.add(key.Raw(), f.Name, key.Line()), value) })
		case v.IsSequence():
			for _, item := range v.Items() {
				into(n, item)
			}
		case v.IsScalar():
			n.add(v.Raw(), f.Name, v.Line())
		}
	}
	into(n, v)
	return report.Err()
}

// addJunos adds a configuration of Junos, with braces or as set commands.
func (n *node) addJunos(f *File) error {
	t := &junosReader{name: f.Name, at: n}
	if !setLine().Match(f.Data) {
		t.rest, t.line = f.Data, 1
		return t.braces()
	}
	for i, text := range bytes.Split(f.Data, []byte("\n")) {
		words, found := bytes.CutPrefix(bytes.TrimSpace(text), []byte("set "))
		if !found {
			continue
		}
		t.rest, t.line = words, i+1
		for {
			word, err := t.next()
			if err != nil {
				return err
			}
			if word == "" {
				break
			}
			t.words = append(t.words, word)
		}
		if err := t.end(); err != nil {
			return err
		}
	}
	return nil
}

// setLine finds a line of a configuration as set commands.
var setLine = lazy.Regexp(`(?m)^[ \t]*set (class-of-service|interfaces|system|chassis|protocols|groups) `)

// junosReader holds the state of reading a configuration of Junos.
type junosReader struct {
	name  string
	rest  []byte
	line  int
	words []string // of the statement
	at    *node    // of the open braces
	open  []level
}

// level represents an open brace: the node outside of it, and its line.
type level struct {
	of   *node
	line int
}

// errorf returns an error at the current line.
func (t *junosReader) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", t.name, t.line, fmt.Errorf(format, args...))
}

// next returns the next word, or one of { } ; [ ]. A quoted text starts with a quote. "" is the end.
func (t *junosReader) next() (string, error) {
	skip := func(n int) string {
		text := t.rest[:n]
		t.line += bytes.Count(text, []byte("\n"))
		t.rest = t.rest[n:]
		return string(text)
	}
	until := func(end string, what string) (string, error) {
		n := bytes.Index(t.rest[1:], []byte(end))
		if n < 0 {
			return "", t.errorf("%s has no end: the file is cut off", what)
		}
		return skip(1 + n + len(end)), nil
	}
	for len(t.rest) > 0 {
		switch c := t.rest[0]; {
		case c == ' ', c == '\t', c == '\r', c == '\n':
			skip(1)
		case c == '#':
			if n := bytes.IndexByte(t.rest, '\n'); n >= 0 {
				skip(n)
				break
			}
			t.rest = nil
		case bytes.HasPrefix(t.rest, []byte("/*")):
			if _, err := until("*/", "a comment"); err != nil {
				return "", err
			}
		case c == '"':
			text, err := until(`"`, "a quoted text")
			return strings.TrimSuffix(text, `"`), err
		case strings.IndexByte("{};[]", c) >= 0:
			return skip(1), nil
		default:
			end := bytes.IndexAny(t.rest, " \t\r\n{};[]\"")
			if end < 0 {
				end = len(t.rest)
			}
			return skip(end), nil
		}
	}
	return "", nil
}

// path adds words below a node. Words in brackets are alternatives of one place.
func (t *junosReader) path(at *node, words []string) (*node, error) {
	listed := false
	for depth, word := range words {
		switch {
		case word == "[", word == "]":
			listed = word == "["
		case listed:
			at.add(word, t.name, t.line)
		case depth+len(t.open) > mostNested:
			return nil, t.errorf("nested deeper than %d levels", mostNested)
		default:
			at = at.add(strings.TrimPrefix(word, `"`), t.name, t.line)
		}
	}
	return at, nil
}

// end ends a statement.
func (t *junosReader) end() error {
	words := t.words
	t.words = nil
	if len(words) > 0 && words[0] == "inactive:" {
		return nil
	}
	_, err := t.path(t.at, words)
	return err
}

// braces reads a configuration with braces.
func (t *junosReader) braces() error {
	for {
		word, err := t.next()
		if err != nil {
			return err
		}
		switch word {
		case "":
			switch {
			case len(t.open) > 0:
				t.line = t.open[len(t.open)-1].line
				return t.errorf("{ has no }: the file is cut off")
			case len(t.words) > 0:
				return t.errorf("%q has no ;", strings.Join(t.words, " "))
			}
			return nil
		case ";":
			err = t.end()
		case "{":
			before := t.at
			if len(t.words) > 0 && t.words[0] == "inactive:" {
				t.at = &node{} // what is inside is not in effect
			} else {
				t.at, err = t.path(t.at, t.words)
			}
			t.open, t.words = append(t.open, level{before, t.line}), nil
		case "}":
			switch {
			case len(t.open) == 0:
				return t.errorf("} without {")
			case len(t.words) > 0:
				return t.errorf("%q has no ;", strings.Join(t.words, " "))
			}
			t.at, t.open = t.open[len(t.open)-1].of, t.open[:len(t.open)-1]
		default:
			t.words = append(t.words, word)
		}
		if err == nil && len(t.open) > mostNested {
			err = t.errorf("nested deeper than %d levels", mostNested)
		}
		if err != nil {
			return err
		}
	}
}
