package yamlspec

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// maxSteps limits the parser's work that is not linear in the number of tokens. Of n keys of a mapping, it copies the
// n-1 after the first, then the n-2 after the second, and so on. For each empty value and each document it moves all
// tokens that follow. maxSteps counts copied and moved pointers, and takes a tenth of a second.
const maxSteps = 1 << 26

// keySteps sets the cost of copying one key, which needs new memory.
const keySteps = 8

// maxKeys limits the keys of a mapping within maxSteps: keySteps * maxKeys * maxKeys / 2 is maxSteps.
const maxKeys = 4096

// gauge checks the tokens of a file before the parser reads them. It rejects files that nest too deep or take the
// parser too long.
type gauge struct {
	tokens token.Tokens
	blocks []block // open collections without brackets, from the outermost
	flows  []bool  // open collections in brackets: whether each is a mapping
	line   int
	onLine int // nesting on one line without brackets: "- - - -"

	keys, moves int // steps for keys, and other steps
}

// block represents a collection without brackets.
type block struct {
	column   int
	sequence bool
	entries  int
}

// refuse returns the first token at which the file exceeds a limit, and the error; nil if there is none.
func (g *gauge) refuse() (*token.Token, string) {
	for i, tk := range g.tokens {
		if tk.Position == nil {
			continue
		}
		if tk.Position.Line != g.line {
			g.line, g.onLine = tk.Position.Line, 0
		}
		g.take(i, tk)
		switch {
		case len(g.blocks)+len(g.flows) > maxNested, g.onLine > maxNested:
			return tk, fmt.Sprintf("nested more than %d levels deep: flatten the file", maxNested)
		case g.keys > maxSteps:
			return tk, fmt.Sprintf("too many keys: a mapping may have %d keys, and fewer if several mappings are that large",
				maxKeys)
		case g.moves > maxSteps:
			return tk, "too many empty values or documents for a file of this length"
		}
	}
	return nil, ""
}

func (g *gauge) take(i int, tk *token.Token) {
	flow := len(g.flows) > 0
	switch tk.Type {
	case token.MappingStartType, token.SequenceStartType:
		g.flows = append(g.flows, tk.Type == token.MappingStartType)
	case token.MappingEndType, token.SequenceEndType:
		g.flows = g.flows[:max(0, len(g.flows)-1)]
	case token.DocumentHeaderType, token.DocumentEndType:
		g.blocks, g.flows = g.blocks[:0], g.flows[:0]
		g.moves += len(g.tokens)
	case token.TagType, token.AnchorType:
		if !flow {
			g.onLine++
		}
	case token.SequenceEntryType:
		if !flow {
			g.onLine++
			g.entry(tk.Position.Column, true)
			g.empty(i, tk.Position.Column)
		}
	case token.MappingKeyType:
		if !flow {
			g.onLine++
			g.entry(tk.Position.Column, false)
		}
	case token.MappingValueType:
		if flow {
			g.emptyInFlow(i)
			break
		}
		column := tk.Position.Column // for ": value" below "? key"
		if i > 0 && g.tokens[i-1].Position != nil && g.tokens[i-1].Position.Line == tk.Position.Line {
			column = g.tokens[i-1].Position.Column
		}
		g.entry(column, false)
		g.empty(i, column)
	default:
		// "{a, b}" has a key without a value.
		if flow && g.flows[len(g.flows)-1] && i > 0 {
			if before := g.tokens[i-1].Type; before == token.MappingStartType || before == token.CollectEntryType {
				g.emptyInFlow(i)
			}
		}
	}
}

// entry counts an entry of a collection without brackets.
func (g *gauge) entry(column int, sequence bool) {
	// An item may start in the column of the key that it belongs to, but a key never in the column of an item.
	for n := len(g.blocks); n > 0; n = len(g.blocks) {
		top := g.blocks[n-1]
		if top.column < column || top.column == column && (!top.sequence || sequence) {
			break
		}
		g.blocks = g.blocks[:n-1]
	}
	n := len(g.blocks)
	if n == 0 || g.blocks[n-1].column != column || g.blocks[n-1].sequence != sequence {
		g.blocks = append(g.blocks, block{column: column, sequence: sequence})
		n++
	}
	if !sequence {
		g.keys += keySteps * g.blocks[n-1].entries
	}
	g.blocks[n-1].entries++
}

// empty counts an entry of a column whose value is empty.
func (g *gauge) empty(i, column int) {
	for _, next := range g.tokens[i+1:] {
		if next.Type == token.CommentType || next.Position == nil {
			continue
		}
		p := next.Position
		// "key:", followed by "- item" below it
		item := next.Type == token.SequenceEntryType && g.tokens[i].Type == token.MappingValueType
		if p.Line == g.line || p.Column > column || p.Column == column && item {
			return
		}
		break
	}
	g.moves += len(g.tokens) - i
}

// emptyInFlow counts an empty value before a comma or a bracket.
func (g *gauge) emptyInFlow(i int) {
	if i+1 < len(g.tokens) {
		if next := g.tokens[i+1].Type; next == token.CollectEntryType || next == token.MappingEndType ||
			next == token.SequenceEndType {
			g.moves += len(g.tokens) - i
		}
	}
}
