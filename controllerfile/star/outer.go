package star

import "go.starlark.net/syntax"

// outer reports functions that change a variable outside of them, as Python's global allows, and warns of those that
// set one of the same name.
func (s *source) outer(file *syntax.File) {
	globals := map[string]bool{}
	for _, stmt := range file.Stmts {
		if assign, ok := stmt.(*syntax.AssignStmt); ok {
			if name, ok := assign.LHS.(*syntax.Ident); ok {
				globals[name.Name] = true
			}
		}
	}
	for _, stmt := range file.Stmts {
		def, ok := stmt.(*syntax.DefStmt)
		if !ok {
			continue
		}
		own := map[string]bool{}
		for _, p := range def.Params {
			if name, ok := p.(*syntax.Ident); ok {
				own[name.Name] = true
			}
		}
		for _, stmt := range def.Body {
			syntax.Walk(stmt, func(n syntax.Node) bool {
				switch n := n.(type) {
				case *syntax.ForStmt:
					if name, ok := n.Vars.(*syntax.Ident); ok {
						own[name.Name] = true
					}
				case *syntax.AssignStmt:
					s.outerAssigned(n, globals, own)
				}
				return true
			})
		}
	}
}

// outerAssigned checks an assignment in a function. own has the function's variables so far.
func (s *source) outerAssigned(n *syntax.AssignStmt, globals, own map[string]bool) {
	name, ok := n.LHS.(*syntax.Ident)
	if !ok || own[name.Name] || !globals[name.Name] {
		return
	}
	own[name.Name] = true
	reads := n.Op != syntax.EQ
	syntax.Walk(n.RHS, func(e syntax.Node) bool {
		if other, ok := e.(*syntax.Ident); ok && other.Name == name.Name {
			reads = true
		}
		return true
	})
	if reads {
		s.errorf(name, "%s is set outside of functions, so its value cannot change: write flow.%s, and set flow.%s in init",
			name.Name, name.Name, name.Name)
	} else {
		s.warnf(name.NamePos,
			"this %s is a variable of the function, and the one outside keeps its value: write flow.%s for a "+
				"value that stays", name.Name, name.Name)
	}
}
