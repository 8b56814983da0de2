package star

import "go.starlark.net/syntax"

// loop describes a loop of the program.
type loop struct {
	start, end syntax.Position
	function   string
	endless    bool // while True
	while      bool
}

// loopsOf returns the loops of a file in the order of their starts.
func loopsOf(file *syntax.File) (all []loop) {
	for _, stmt := range file.Stmts {
		def, ok := stmt.(*syntax.DefStmt)
		name := ""
		if ok {
			name = def.Name.Name
		}
		syntax.Walk(stmt, func(n syntax.Node) bool {
			l := loop{function: name}
			switch n := n.(type) {
			case *syntax.WhileStmt:
				l.while = true
				switch cond := n.Cond.(type) {
				case *syntax.Literal:
					l.endless = true
				case *syntax.Ident:
					l.endless = cond.Name == "True"
				}
			case *syntax.ForStmt:
			default:
				return true
			}
			l.start, l.end = n.Span()
			all = append(all, l)
			return true
		})
	}
	return all
}

// spinning returns the loop that a function was in at a line when its steps ran out. The interpreter's line may be the
// function's own: then it is the function's first loop without an end.
func (s *source) spinning(function string, line int32) (found *loop) {
	better := func(l *loop) bool {
		switch {
		case found == nil:
			return true
		case found.endless != l.endless:
			return l.endless
		case l.endless: // the innermost
			return true
		}
		return l.while && !found.while
	}
	for _, inside := range []bool{true, false} {
		for i := range s.loops {
			l := &s.loops[i]
			if l.function == function && (!inside || l.start.Line <= line && line <= l.end.Line) &&
				(inside || l.while) && better(l) {
				found = l
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}
