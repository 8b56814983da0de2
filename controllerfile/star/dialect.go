package star

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/lists"
)

// unitNames lists the names of units.
var unitNames = map[string]float64{
	"ps": 1, "ns": 1e3, "us": 1e6, "ms": 1e9, "seconds": 1e12, "never": math.Inf(1),
	"bps": 1, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9,
	"KB": 1e3, "MB": 1e6, "GB": 1e9,
}

// methods lists the methods of values.
var methods = []string{"append", "pop", "clear"}

// dialect checks a program and rewrites it, to bound its memory and to speed it up:
//
//   - Every number becomes a float. So no operation repeats a text or a list (* takes an int), and no number grows.
//   - Parameters and constants of the path become literals of their values, and expressions of literals are computed.
//   - Only messages contain texts, and there are no dictionaries. Lists are this package's own: they count items.
type dialect struct {
	*source
	// constant of params or path: float64, bool, or string for a choice
	constant func(object, name string) (value any, ok bool)
}

func (d *dialect) stmts(all []syntax.Stmt) {
	for _, stmt := range all {
		d.stmt(stmt)
	}
}

func (d *dialect) stmt(stmt syntax.Stmt) {
	switch n := stmt.(type) {
	case *syntax.AssignStmt:
		d.assigned(n.LHS)
		if n.Op != syntax.EQ {
			d.operator(n, augmented[n.Op])
		}
		n.LHS = d.target(n.LHS)
		if _, unpacks := n.LHS.(*syntax.TupleExpr); unpacks {
			n.RHS = d.unpacked(n.RHS)
		} else {
			n.RHS = d.expr(n.RHS)
		}
	case *syntax.DefStmt:
		d.defined(n.Name)
		d.parameters(n.Params)
		d.stmts(n.Body)
	case *syntax.ExprStmt:
		if l, ok := n.X.(*syntax.Literal); ok && l.Token == syntax.STRING { // a docstring
			n.X = &syntax.Ident{NamePos: l.TokenPos, Name: "None"}
			return
		}
		n.X = d.expr(n.X)
	case *syntax.IfStmt:
		n.Cond = d.expr(n.Cond)
		d.stmts(n.True)
		d.stmts(n.False)
	case *syntax.ForStmt:
		d.assigned(n.Vars)
		n.Vars = d.target(n.Vars)
		n.X = d.expr(n.X)
		d.stmts(n.Body)
	case *syntax.WhileStmt:
		n.Cond = d.expr(n.Cond)
		d.stmts(n.Body)
	case *syntax.ReturnStmt:
		if n.Result != nil {
			n.Result = d.expr(n.Result)
		}
	case *syntax.LoadStmt:
		d.errorf(n, "a controller is one file: load is not supported")
	}
}

// augmented maps assignments such as += to their operators.
var augmented = map[syntax.Token]syntax.Token{
	syntax.PLUS_EQ: syntax.PLUS, syntax.MINUS_EQ: syntax.MINUS, syntax.STAR_EQ: syntax.STAR, syntax.SLASH_EQ: syntax.SLASH,
	syntax.SLASHSLASH_EQ: syntax.SLASHSLASH, syntax.PERCENT_EQ: syntax.PERCENT, syntax.AMP_EQ: syntax.AMP,
	syntax.PIPE_EQ:       syntax.PIPE,
	syntax.CIRCUMFLEX_EQ: syntax.CIRCUMFLEX, syntax.LTLT_EQ: syntax.LTLT, syntax.GTGT_EQ: syntax.GTGT,
}

// operator rejects operators that no value supports.
func (d *dialect) operator(at syntax.Node, op syntax.Token) {
	switch op {
	case syntax.AMP, syntax.PIPE, syntax.CIRCUMFLEX, syntax.LTLT, syntax.GTGT, syntax.TILDE:
		d.errorf(at, "operator %s is not supported: numbers are floats, without bits (and, or and not are words)", op)
	case syntax.IN, syntax.NOT_IN:
		d.errorf(at, "%s is not supported: loop over the list", op)
	}
}

// defined rejects a second meaning for a name.
func (d *dialect) defined(name *syntax.Ident) {
	if _, unit := unitNames[name.Name]; unit {
		d.errorf(name, "%s is the name of a unit (choose another name)", name.Name)
	} else if name.Name == "path" || name.Name == "fail" || slices.Contains(declarations, name.Name) {
		d.errorf(name, "%s has a meaning in controllers (choose another name)", name.Name)
	}
}

// assigned checks the names to which a target assigns values.
func (d *dialect) assigned(target syntax.Expr) {
	switch n := target.(type) {
	case *syntax.Ident:
		d.defined(n)
	case *syntax.ParenExpr:
		d.assigned(n.X)
	case *syntax.TupleExpr:
		for _, e := range n.List {
			d.assigned(e)
		}
	case *syntax.ListExpr:
		for _, e := range n.List {
			d.assigned(e)
		}
	}
}

// target rewrites the target of an assignment.
func (d *dialect) target(e syntax.Expr) syntax.Expr {
	switch n := e.(type) {
	case *syntax.ParenExpr:
		return d.target(n.X)
	case *syntax.ListExpr:
		return d.target(&syntax.TupleExpr{Lparen: n.Lbrack, List: n.List, Rparen: n.Rbrack})
	case *syntax.TupleExpr:
		for i := range n.List {
			n.List[i] = d.target(n.List[i])
		}
	case *syntax.DotExpr:
		n.X = d.expr(n.X)
	case *syntax.IndexExpr:
		n.X, n.Y = d.expr(n.X), d.expr(n.Y)
	}
	return e
}

// unpacked rewrites a value assigned to several names. A row of values there makes no list.
func (d *dialect) unpacked(e syntax.Expr) syntax.Expr {
	if p, ok := e.(*syntax.ParenExpr); ok {
		return d.unpacked(p.X)
	}
	if row, ok := e.(*syntax.TupleExpr); ok {
		d.exprs(row.List)
		return row
	}
	return d.expr(e)
}

func (d *dialect) parameters(params []syntax.Expr) {
	for _, p := range params {
		switch p := p.(type) {
		case *syntax.Ident:
			d.defined(p)
		case *syntax.BinaryExpr:
			d.defined(p.X.(*syntax.Ident))
			p.Y = d.expr(p.Y)
		default:
			d.errorf(p, "* is not supported here: pass arguments one by one")
		}
	}
}

func (d *dialect) exprs(all []syntax.Expr) {
	for i := range all {
		all[i] = d.expr(all[i])
	}
}

// expr rewrites an expression.
func (d *dialect) expr(e syntax.Expr) syntax.Expr {
	switch n := e.(type) {
	case *syntax.Literal:
		f, ok := literal(n)
		if !ok {
			d.errorf(n, "strings work only in fail(...), and in comparisons of choices with ==")
			return e
		}
		return literalOf(n.TokenPos, f)
	case *syntax.Ident:
		if f, ok := unitNames[n.Name]; ok {
			return literalOf(n.NamePos, f)
		}
		if n.Name == "path" || slices.Contains(declarations, n.Name) {
			d.errorf(n, "%s needs an attribute, such as %s", n.Name,
				map[bool]string{true: "path.line_rate", false: "params.NAME"}[n.Name == "path"])
		}
		// The interpreter's own functions make texts and dictionaries, and lists without a count.
		if starlark.Universe.Has(n.Name) && !builtins.Has(n.Name) &&
			!slices.Contains([]string{"None", "True", "False"}, n.Name) || n.Name == "math" {
			d.errorf(n, "%s", missing(n.Name))
		}
		return e
	case *syntax.ParenExpr:
		return d.expr(n.X)
	case *syntax.UnaryExpr:
		return d.unary(n)
	case *syntax.BinaryExpr:
		return d.binary(n)
	case *syntax.CondExpr:
		n.Cond, n.True, n.False = d.expr(n.Cond), d.expr(n.True), d.expr(n.False)
		return e
	case *syntax.DotExpr:
		return d.dot(n)
	case *syntax.IndexExpr:
		n.X, n.Y = d.expr(n.X), d.expr(n.Y)
		return e
	case *syntax.CallExpr:
		return d.call(n)
	case *syntax.LambdaExpr:
		d.parameters(n.Params)
		n.Body = d.expr(n.Body)
		return e
	case *syntax.ListExpr:
		d.exprs(n.List)
		return list(n.Lbrack, n.List)
	case *syntax.TupleExpr:
		d.exprs(n.List)
		start, _ := n.Span()
		return list(start, n.List)
	case *syntax.Comprehension:
		return d.comprehension(n)
	case *syntax.DictExpr:
		d.errorf(n, "dictionaries are not supported: keep values as attributes of the flow, or in lists")
	case *syntax.SliceExpr:
		d.errorf(n, "slices are not supported: index single items, and remove old ones with pop(0)")
	}
	return e
}

func (d *dialect) unary(n *syntax.UnaryExpr) syntax.Expr {
	if n.Op == syntax.STAR || n.Op == syntax.STARSTAR || n.X == nil {
		d.errorf(n, "%s before an argument is not supported", n.Op)
		return n
	}
	d.operator(n, n.Op)
	n.X = d.expr(n.X)
	if f, ok := folded(n.X); ok && n.Op == syntax.MINUS {
		return literalOf(n.OpPos, -f)
	}
	return n
}

func (d *dialect) binary(n *syntax.BinaryExpr) syntax.Expr {
	d.operator(n, n.Op)
	if n.Op == syntax.EQL || n.Op == syntax.NEQ {
		if choice := d.choice(n); choice != nil {
			return choice
		}
	}
	for _, e := range []syntax.Expr{n.X, n.Y} {
		if l, ok := e.(*syntax.ListExpr); ok && n.Op == syntax.STAR {
			d.errorf(l, "a list cannot be multiplied: to repeat an item, write [0 for i in range(8)] instead of [0] * 8")
			return n
		}
	}
	n.X, n.Y = d.expr(n.X), d.expr(n.Y)
	x, ok := folded(n.X)
	y, also := folded(n.Y)
	if ok && also {
		if f, ok := compute(n.Op, x, y); ok {
			return literalOf(n.OpPos, f)
		}
	}
	return n
}

// choice rewrites a comparison of a parameter with one of its choices.
func (d *dialect) choice(n *syntax.BinaryExpr) syntax.Expr {
	dot, ok := n.X.(*syntax.DotExpr)
	text, also := n.Y.(*syntax.Literal)
	if !ok || !also || text.Token != syntax.STRING {
		return nil
	}
	object, is := dot.X.(*syntax.Ident)
	if !is || object.Name != "params" {
		return nil
	}
	for _, p := range d.declared.Parameters {
		if p.Name != dot.Name.Name || p.Choices == nil {
			continue
		}
		if !slices.Contains(p.Choices, text.Value.(string)) {
			d.errorf(text, "%q is not a choice of %s: expected %s", text.Value, p.Name, strings.Join(p.Choices, ", "))
		}
		value, _ := d.constant("params", p.Name)
		return truth(n.OpPos, (value == text.Value) == (n.Op == syntax.EQL))
	}
	return nil
}

// dot rewrites an attribute. Those of params and path become constants.
func (d *dialect) dot(n *syntax.DotExpr) syntax.Expr {
	object, ok := n.X.(*syntax.Ident)
	if !ok || object.Name != "params" && object.Name != "path" {
		n.X = d.expr(n.X)
		return n
	}
	value, ok := d.constant(object.Name, n.Name.Name)
	switch value := value.(type) {
	case float64:
		return literalOf(n.NamePos, value)
	case bool:
		return truth(n.NamePos, value)
	}
	switch {
	case ok:
		d.errorf(n, "%s is a choice: compare it with a string by ==", n.Name.Name)
	case object.Name == "path":
		d.errorf(n.Name, "unknown attribute path.%s: expected %s%s", n.Name.Name, pathNames,
			cc.Nearest(n.Name.Name, strings.Split(pathNames, ", ")))
	default:
		names := lists.Map(d.declared.Parameters, func(p cc.Parameter) string { return p.Name })
		d.errorf(n.Name, "unknown parameter %s: params has %s%s", n.Name.Name, cmp.Or(strings.Join(names, ", "), "none"),
			cc.Nearest(n.Name.Name, names))
	}
	return n
}

func (d *dialect) call(n *syntax.CallExpr) syntax.Expr {
	name := ""
	switch fn := n.Fn.(type) {
	case *syntax.Ident:
		name = fn.Name
	case *syntax.DotExpr:
		before := len(d.problems)
		fn.X = d.expr(fn.X)
		if !slices.Contains(methods, fn.Name.Name) && len(d.problems) == before {
			d.errorf(fn.Name, "unknown method .%s(): lists have append, pop and clear", fn.Name.Name)
		}
	}
	if _, method := n.Fn.(*syntax.DotExpr); !method {
		n.Fn = d.expr(n.Fn)
	}
	for i, arg := range n.Args {
		if text, ok := arg.(*syntax.Literal); ok && text.Token == syntax.STRING && name == "fail" {
			continue
		}
		if named, ok := arg.(*syntax.BinaryExpr); ok && named.Op == syntax.EQ {
			named.Y = d.expr(named.Y)
			continue
		}
		n.Args[i] = d.expr(arg)
	}
	return n
}

func (d *dialect) comprehension(n *syntax.Comprehension) syntax.Expr {
	if n.Curly {
		d.errorf(n, "dictionaries and sets are not supported: use a list")
		return n
	}
	for _, clause := range n.Clauses {
		switch c := clause.(type) {
		case *syntax.ForClause:
			d.assigned(c.Vars)
			c.Vars = d.target(c.Vars)
			c.X = d.expr(c.X)
		case *syntax.IfClause:
			c.Cond = d.expr(c.Cond)
		}
	}
	n.Body = d.expr(n.Body)
	return &syntax.CallExpr{
		Fn: &syntax.Ident{NamePos: n.Lbrack, Name: listName}, Lparen: n.Lbrack, Args: []syntax.Expr{n},
		Rparen: n.Rbrack,
	}
}

// list makes a list of this package.
func list(at syntax.Position, items []syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: itemsName}, Lparen: at, Args: items, Rparen: at}
}

// Names of internal functions, which no program can use or redefine: one makes a list of its arguments, the other of an
// interpreter's list.
const itemsName, listName = "[...]", "[... for ...]"

// literal makes a number of the source.
func literal(n *syntax.Literal) (float64, bool) {
	switch v := n.Value.(type) {
	case int64:
		return float64(v), true
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, true
	case float64:
		return v, true
	}
	return 0, false
}

func literalOf(at syntax.Position, f float64) *syntax.Literal {
	return &syntax.Literal{Token: syntax.FLOAT, TokenPos: at, Raw: fmt.Sprint(f), Value: f}
}

func truth(at syntax.Position, is bool) syntax.Expr {
	return &syntax.Ident{NamePos: at, Name: map[bool]string{true: "True", false: "False"}[is]}
}

// folded returns the value of a literal.
func folded(e syntax.Expr) (float64, bool) {
	l, ok := e.(*syntax.Literal)
	if !ok || l.Token != syntax.FLOAT {
		return 0, false
	}
	f, ok := l.Value.(float64)
	return f, ok
}

// compute returns the interpreter's result of an operation. It leaves failing operations to the interpreter.
func compute(op syntax.Token, x, y float64) (float64, bool) {
	switch op {
	case syntax.PLUS:
		return x + y, true
	case syntax.MINUS:
		return x - y, true
	case syntax.STAR:
		return x * y, true
	case syntax.SLASH:
		return x / y, y != 0
	}
	return 0, false
}
