package star

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/hostagent/cc"
)

// quantity is what a number measures; empty if unknown.
type quantity string

const (
	aTime quantity = "time"
	aRate quantity = "rate"
	aSize quantity = "size"
)

// measures lists what fields of samples, hops, the path and the flow's decisions measure.
var measures = map[string]quantity{
	"now": aTime, "rtt": aTime, "departed": aTime, "elapsed": aTime, "timer": aTime, "base_rtt": aTime,
	"rate": aRate, "receiving_rate": aRate, "queue_gradient": aRate, "line_rate": aRate,
	"window": aSize, "acked_bytes": aSize, "in_flight": aSize, "queue_bytes": aSize,
}

// Thresholds below which a number without a unit is unlikely to be meant in bits per second, or in bytes.
const (
	leastRate   = 1e6
	leastWindow = 256
)

// warn collects likely mistakes in a program that is valid.
func (s *source) warn(file *syntax.File) {
	if line, text := mixedIndentation(s.content); line > 0 {
		s.warnf(syntax.MakePosition(&s.name, int32(line), 1), "%s", text)
	}
	s.uncalled(file)
	for _, stmt := range file.Stmts {
		if assign, ok := stmt.(*syntax.AssignStmt); ok {
			if name, ok := assign.LHS.(*syntax.Ident); ok && slices.Contains(declarations, name.Name) {
				continue
			}
		}
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.BinaryExpr:
				s.mixed(n.Op, n.X, n.Y)
			case *syntax.AssignStmt:
				if n.Op == syntax.EQ || n.Op == syntax.PLUS_EQ || n.Op == syntax.MINUS_EQ {
					s.bare(s.measure(n.LHS), n.RHS, n.Op == syntax.EQ)
				}
			case *syntax.CallExpr:
				if fn, ok := n.Fn.(*syntax.Ident); ok && slices.Contains([]string{"min", "max", "clamp"}, fn.Name) {
					for i := range n.Args {
						s.bare(s.measureOfAny(n.Args), n.Args[i], false)
					}
				}
			}
			return true
		})
	}
}

func (s *source) warnf(at syntax.Position, format string, args ...any) {
	s.declared.Warnings = append(s.declared.Warnings, (&controllerfile.Error{
		File: s.name, Line: int(at.Line), Column: int(at.Col), Message: fmt.Sprintf(format, args...),
	}).Error())
}

// mixed warns of a comparison, a sum or a difference of a quantity and a number without a unit.
func (s *source) mixed(op syntax.Token, x, y syntax.Expr) {
	switch op {
	case syntax.LT, syntax.GT, syntax.LE, syntax.GE, syntax.EQL, syntax.NEQ, syntax.PLUS, syntax.MINUS:
		s.bare(s.measure(x), y, false)
		s.bare(s.measure(y), x, false)
	}
}

// bare warns of a number without a unit where a quantity is expected.
func (s *source) bare(of quantity, e syntax.Expr, decision bool) {
	f, ok := number(e)
	if !ok || f == 0 {
		return
	}
	at, _ := e.Span()
	f = max(f, -f)
	text := fmt.Sprintf("%g", f)
	switch {
	case of == aTime:
		s.warnf(at,
			"%s is %s ps here, as times are in picoseconds: write %s * us, or %s * ps if it is meant", text, text, text,
			text)
	case of == aRate && f < leastRate:
		s.warnf(at, "%s is %s bps here, as rates are in bits per second: write %s * Gbps, or %s * bps if it is meant", text,
			text, text, text)
	case of == aSize && f < leastWindow && decision:
		s.warnf(at,
			"a window of %s is less than a packet, as windows are in bytes: write %s * path.mtu, or %s * KB", text, text,
			text)
	}
}

func (s *source) measureOfAny(all []syntax.Expr) quantity {
	for _, e := range all {
		if of := s.measure(e); of != "" {
			return of
		}
	}
	return ""
}

// measure returns what an expression measures.
func (s *source) measure(e syntax.Expr) quantity {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return s.measure(e.X)
	case *syntax.UnaryExpr:
		if e.X != nil {
			return s.measure(e.X)
		}
	case *syntax.Ident:
		if e.Name == "now" {
			return aTime
		}
	case *syntax.BinaryExpr:
		switch e.Op {
		case syntax.PLUS, syntax.MINUS:
			return s.measureOfAny([]syntax.Expr{e.X, e.Y})
		case syntax.STAR, syntax.SLASH:
			if _, ok := number(e.Y); ok {
				return s.measure(e.X)
			}
		}
	case *syntax.CallExpr:
		if fn, ok := e.Fn.(*syntax.Ident); ok &&
			slices.Contains([]string{"min", "max", "clamp", "abs", "floor", "ceil"}, fn.Name) {
			return s.measureOfAny(e.Args)
		}
	case *syntax.DotExpr:
		object, _ := e.X.(*syntax.Ident)
		switch {
		case object != nil && object.Name == "params":
			for _, p := range s.declared.Parameters {
				if p.Name == e.Name.Name {
					return map[cc.Kind]quantity{cc.RateKind: aRate, cc.TimeKind: aTime}[p.Kind]
				}
			}
		case object != nil && object.Name == "flow" &&
			!slices.Contains([]string{rateName, windowName, timerName}, e.Name.Name):
			// state of the program
		default:
			return measures[e.Name.Name]
		}
	}
	return ""
}

// uncalled warns of functions that nothing calls.
func (s *source) uncalled(file *syntax.File) {
	used := map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if def, ok := n.(*syntax.DefStmt); ok { // without its name
			for _, p := range def.Params {
				if p, ok := p.(*syntax.BinaryExpr); ok { // with a default
					syntax.Walk(p.Y, func(n syntax.Node) bool { return use(used, n) })
				}
			}
			for _, stmt := range def.Body {
				syntax.Walk(stmt, func(n syntax.Node) bool { return use(used, n) })
			}
			return false
		}
		return use(used, n)
	})
	for _, stmt := range file.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok && !controllerfile.IsHandler(def.Name.Name) && !used[def.Name.Name] {
			s.warnf(def.Name.NamePos, "%s is never called%s", def.Name.Name,
				cc.Nearest("on_"+strings.TrimPrefix(def.Name.Name, "on_"),
					controllerfile.HandlerNames()))
		}
	}
}

func use(used map[string]bool, n syntax.Node) bool {
	if name, ok := n.(*syntax.Ident); ok {
		used[name.Name] = true
	}
	return true
}
