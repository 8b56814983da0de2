package yamlspec

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/pausenet/pausenet/internal/files"
)

// Limits on a file. The parser is recursive and an alias can be used many times, so a small hostile file could exhaust
// the stack (which recover cannot catch) or the memory.
const (
	maxBytes  = 4 << 20
	maxNested = 64
	maxValues = 1 << 20
)

// SpecFile limits the files that Parse reads.
var SpecFile = files.Kind{Name: "a scenario, topology or sweep", Most: maxBytes}

// byteOrderMark precedes files in UTF-8 from some editors. Parse ignores it.
var byteOrderMark = []byte("\ufeff")

// Parse reads the YAML document in data; an empty file is an empty mapping. It reports mistakes to r, and returns nil
// after a syntax error. Parse never panics.
func (r *Report) Parse(name string, data []byte) *Value {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if len(data) > maxBytes {
		r.Problem(name, fmt.Sprintf("the file has %d bytes, but a spec may have at most %d", len(data), maxBytes))
		return nil
	}
	text := string(data)
	return r.open(name, text).parse(text)
}

func (s *source) parse(text string) (root *Value) {
	before := s.report.Count()
	// The parser has panicked on malformed input. A spec file must never crash the program.
	defer func() {
		if v := recover(); v != nil {
			if s.report.Count() == before {
				s.problem(0, 0, 0, fmt.Sprintf("the file is not valid YAML (%v)", v))
			}
			root = nil
		}
	}()
	if !utf8.ValidString(text) {
		s.problem(0, 0, 0, "the file is not text in UTF-8: save it in that encoding")
		return nil
	}
	tokens := lexer.Tokenize(text)
	if tk, why := (&gauge{tokens: tokens}).refuse(); tk != nil {
		s.problem(tk.Position.Line, tk.Position.Column, 1, why)
		return nil
	}
	// The parser would stop at the first duplicate key. Report them here with all other mistakes instead.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var e yaml.Error
		if errors.As(err, &e) && e.GetToken() != nil {
			at := e.GetToken().Position
			why := e.GetMessage()
			if strings.HasPrefix(why, "found character '\t'") {
				why = "YAML does not allow tabs here: indent with spaces"
			}
			s.problem(at.Line, at.Column, 1, why)
		} else {
			s.problem(0, 0, 0, err.Error())
		}
		return nil
	}
	settle(tokens, strings.Split(text, "\n"))
	c := converter{source: s, anchors: map[string]*Value{}}
	for _, doc := range file.Docs {
		if doc == nil || doc.Body == nil {
			continue
		}
		switch doc.Body.(type) {
		case *ast.DirectiveNode, *ast.CommentGroupNode:
			continue
		}
		if root != nil {
			line, column, width := position(doc.Body)
			s.problem(line, column, width, "the file has a second document, but expected only a single one: remove it")
			break
		}
		root = c.value(doc.Body, 0)
	}
	if root == nil {
		root = &Value{kind: mapping, source: s, line: 1, column: 1, width: 1}
	}
	if c.tooLarge {
		return nil
	}
	s.root = root
	return root
}

// settle corrects the columns of tokens, because the lexer counts columns too low after a tab or a tag. A token
// follows the previous one in its line. It runs after the parser, which takes indentation from the columns.
func settle(tokens token.Tokens, lines []string) {
	number, rest, column := 0, "", 1 // the current line, its remaining text, and the column of that
	for _, tk := range tokens {
		if tk.Position == nil || tk.Position.Line < 1 || tk.Position.Line > len(lines) {
			continue
		}
		if tk.Position.Line != number {
			number, column = tk.Position.Line, 1
			rest = lines[number-1]
		}
		word, _, _ := strings.Cut(strings.TrimSpace(tk.Origin), "\n")
		before, after, found := strings.Cut(rest, strings.TrimRight(word, "\r"))
		if word == "" || !found {
			continue
		}
		tk.Position.Column = column + utf8.RuneCountInString(before)
		column = tk.Position.Column + utf8.RuneCountInString(word)
		rest = after
	}
}

// converter turns the parser's tree into Values. It resolves anchors and merges, and keeps positions.
type converter struct {
	*source
	anchors  map[string]*Value
	count    int
	tooLarge bool
}

// value converts n. It reports a node that cannot be used, and returns a broken value for it.
func (c *converter) value(n ast.Node, depth int) *Value {
	v := &Value{source: c.source, kind: broken}
	v.line, v.column, v.width = position(n)
	c.count++
	if depth > maxNested || c.count > maxValues {
		c.tooLarge = true
		v.Errorf("too deep or too large")
		return v
	}
	switch n := n.(type) {
	case *ast.NullNode:
		v.kind = null
	case *ast.MappingNode:
		v.kind = mapping
		m := mappingOf(v, len(n.Values))
		for _, entry := range n.Values {
			c.field(m, entry, depth)
		}
	case *ast.MappingValueNode:
		v.kind = mapping
		c.field(mappingOf(v, 1), n, depth)
	case *ast.SequenceNode:
		v.kind = sequence
		for _, item := range n.Values {
			v.items = append(v.items, c.value(item, depth+1))
		}
	case *ast.AnchorNode:
		x := c.value(n.Value, depth+1)
		if n.Name != nil {
			c.anchors[n.Name.GetToken().Value] = x
		}
		return x
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		x := c.anchors[name]
		if x == nil {
			v.Errorf("no anchor &%s before this alias: define it first", name)
			return v
		}
		// The tree shares the part, but a decoder walks it each time, so count it each time.
		if c.count += x.size(); c.count > maxValues {
			c.tooLarge = true
			v.Errorf("too large for a spec after its aliases are expanded: use fewer aliases")
			return v
		}
		return x
	case *ast.TagNode:
		return c.value(n.Value, depth+1)
	case *ast.LiteralNode:
		v.kind, v.text = scalar, n.Value.Value
	case ast.ScalarNode:
		v.kind, v.text = scalar, n.GetToken().Value
	default:
		v.Errorf("a spec cannot use this kind of YAML: write texts, numbers, lists and mappings")
	}
	return v
}

// building holds a mapping during conversion, with its fields by key.
type building struct {
	*Value
	index map[string]int
}

func mappingOf(v *Value, fields int) *building {
	v.fields = make([]field, 0, fields)
	return &building{v, make(map[string]int, fields)}
}

func (b *building) add(f field) {
	b.index[f.key.text] = len(b.fields)
	b.fields = append(b.fields, f)
}

func (c *converter) field(into *building, entry *ast.MappingValueNode, depth int) {
	if entry.Key.IsMergeKey() {
		c.merge(into, entry.Value, depth)
		return
	}
	key := c.value(entry.Key, depth+1)
	value := c.value(entry.Value, depth+1)
	if key.kind != scalar {
		key.Errorf("a key must be a word")
		return
	}
	i, there := into.index[key.text]
	switch {
	case !there:
		into.add(field{key: key, value: value})
	case into.fields[i].merged: // A mapping's own keys override merged ones.
		into.fields[i] = field{key: key, value: value}
	default:
		key.Errorf("key %q is set twice (first in line %d): remove one", key.text, into.fields[i].key.line)
	}
}

func (c *converter) merge(into *building, n ast.Node, depth int) {
	from := c.value(n, depth+1)
	parts := []*Value{from}
	if from.kind == sequence {
		parts = from.items
	}
	for _, part := range parts {
		if part.kind != mapping && part.kind != broken {
			from.Errorf("<< can merge mappings only")
			return
		}
		for _, f := range part.fields {
			if _, there := into.index[f.key.text]; !there {
				f.merged = true
				into.add(f)
			}
		}
	}
}

// position returns the position of n and the number of characters of its first line that it covers.
func position(n ast.Node) (line, column, width int) {
	switch x := n.(type) {
	case *ast.MappingNode:
		// A block mapping's own token is the colon of its first entry, but a reader looks for its first key.
		if !x.IsFlowStyle && len(x.Values) > 0 {
			return position(x.Values[0])
		}
	case *ast.MappingValueNode:
		return position(x.Key)
	}
	tk := n.GetToken()
	if tk == nil || tk.Position == nil {
		return 0, 0, 0
	}
	width = 1
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode, *ast.NullNode:
		text := strings.TrimSpace(tk.Origin)
		if first, _, more := strings.Cut(text, "\n"); more {
			text = first
		}
		width = max(1, utf8.RuneCountInString(text))
	}
	return tk.Position.Line, tk.Position.Column, width
}
