package star

import (
	"fmt"

	"go.starlark.net/starlark"
)

// Limits of one call, and of the data that a flow keeps.
const (
	mostSteps   = 100_000 // steps of the interpreter per call
	mostGrowth  = 1 << 16 // items added to lists per call
	mostItems   = 1 << 12 // items of one list
	mostKept    = 1 << 14 // items in all lists of a flow
	mostLoading = 10 * mostSteps

	itemsPerStep = 64 // items that pop moves per step
)

// account counts the items added to the lists of a flow.
type account struct {
	call int // added during this call
	kept int // kept at the last count, plus those added since
}

// accountName names the thread's local value with its account.
const accountName = "account"

// grow counts additional items.
func grow(thread *starlark.Thread, items int) error {
	a := thread.Local(accountName).(*account)
	if a.call += items; a.call > mostGrowth {
		return fmt.Errorf("one call has added more than %d items to lists", mostGrowth)
	}
	a.kept += items
	return nil
}

// listValue implements a list without + and *.
type listValue struct {
	items  []starlark.Value
	frozen bool
}

func (l *listValue) String() string        { return fmt.Sprintf("list of %d", len(l.items)) }
func (l *listValue) Type() string          { return "list" }
func (l *listValue) Freeze()               { l.frozen = true }
func (l *listValue) Truth() starlark.Bool  { return len(l.items) > 0 }
func (l *listValue) Hash() (uint32, error) { return opaque{}.Hash() }
func (l *listValue) Len() int              { return len(l.items) }

// Iterate iterates over the items.
func (l *listValue) Iterate() starlark.Iterator { return &listIterator{list: l} }

type listIterator struct {
	list *listValue
	next int
}

func (i *listIterator) Next(p *starlark.Value) bool {
	if i.next >= len(i.list.items) {
		return false
	}
	*p = i.list.items[i.next]
	i.next++
	return true
}

func (i *listIterator) Done() {}

// index returns the position that a number names. A negative number counts from the end.
func (l *listValue) index(key starlark.Value) (int, error) {
	f, ok := key.(starlark.Float)
	if !ok {
		return 0, fmt.Errorf("a list's index must be a number, not %s", article(key))
	}
	i := int(max(-mostItems-1, min(float64(f), mostItems+1)))
	if float64(i) != float64(f) {
		return 0, fmt.Errorf("index out of range: the list has %d items, the index is %s%s", len(l.items), shown(key),
			map[bool]string{true: ": // divides to whole numbers"}[float64(f) < mostItems])
	}
	if i < 0 {
		i += len(l.items)
	}
	if i < 0 || i >= len(l.items) {
		return 0, fmt.Errorf("index out of range: the list has %d items, the index is %s", len(l.items), shown(key))
	}
	return i, nil
}

// Get returns l[key].
func (l *listValue) Get(key starlark.Value) (starlark.Value, bool, error) {
	i, err := l.index(key)
	if err != nil {
		return nil, false, err
	}
	return l.items[i], true, nil
}

// SetKey sets l[key] to v.
func (l *listValue) SetKey(key, v starlark.Value) error {
	if err := l.changes(); err != nil {
		return err
	}
	i, err := l.index(key)
	if err == nil {
		err = storable(v)
	}
	if err == nil {
		l.items[i] = v
	}
	return err
}

func (l *listValue) changes() error {
	if l.frozen {
		return fmt.Errorf("lists outside of functions are shared by all flows and cannot change: create one for " +
			"each flow in init")
	}
	return nil
}

func (l *listValue) AttrNames() []string { return methods }

// Attr returns a method.
func (l *listValue) Attr(name string) (starlark.Value, error) {
	if m, ok := listMethods[name]; ok {
		return m.BindReceiver(l), nil
	}
	return nil, nil
}

var listMethods = map[string]*starlark.Builtin{
	"append": starlark.NewBuiltin("append", func(
		thread *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple,
	) (starlark.Value, error) {
		l := fn.Receiver().(*listValue)
		if len(args) != 1 {
			return nil, fmt.Errorf("append takes one item")
		}
		if err := l.changes(); err != nil {
			return nil, err
		}
		if err := storable(args[0]); err != nil {
			return nil, err
		}
		if len(l.items) == mostItems {
			return nil, fmt.Errorf("a list holds at most %d items: remove old ones with pop(0)", mostItems)
		}
		l.items = append(l.items, args[0])
		return starlark.None, grow(thread, 1)
	}),
	"pop": starlark.NewBuiltin("pop", func(
		thread *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple,
	) (starlark.Value, error) {
		l := fn.Receiver().(*listValue)
		if err := l.changes(); err != nil {
			return nil, err
		}
		at := starlark.Value(starlark.Float(-1))
		if len(args) > 0 {
			at = args[0]
		}
		i, err := l.index(at)
		if err != nil {
			return nil, err
		}
		spend(thread, (len(l.items)-i)/itemsPerStep)
		v := l.items[i]
		l.items = append(l.items[:i], l.items[i+1:]...)
		return v, nil
	}),
	"clear": starlark.NewBuiltin("clear", func(
		_ *starlark.Thread, fn *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple,
	) (starlark.Value, error) {
		l := fn.Receiver().(*listValue)
		if err := l.changes(); err != nil {
			return nil, err
		}
		l.items = l.items[:0]
		return starlark.None, nil
	}),
}

// newList returns a list of these items.
func newList(thread *starlark.Thread, items []starlark.Value) (starlark.Value, error) {
	if len(items) > mostItems {
		return nil, fmt.Errorf("a list holds at most %d items", mostItems)
	}
	for _, v := range items {
		if err := storable(v); err != nil {
			return nil, err
		}
	}
	return &listValue{items: append([]starlark.Value(nil), items...)}, grow(thread, len(items)+1)
}

// count returns the number of items reachable from values. It stops at a limit, so that it ends for a list that
// contains itself.
func count(values []starlark.Value, limit int) int {
	n := 0
	for _, v := range values {
		if l, ok := v.(*listValue); ok {
			n += 1 + len(l.items)
			if n <= limit {
				n += count(l.items, limit-n)
			}
		}
		if n > limit {
			return n
		}
	}
	return n
}
