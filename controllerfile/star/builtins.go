package star

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// builtins lists the functions available to programs, besides None, True and False. All of them compute the same on
// every processor (see "Rounding" in package cc), so there is no exp, log or pow.
var builtins = starlark.StringDict{
	"min":   extreme("min", func(x, y starlark.Float) bool { return x < y }),
	"max":   extreme("max", func(x, y starlark.Float) bool { return x > y }),
	"abs":   unary("abs", math.Abs),
	"sqrt":  unary("sqrt", math.Sqrt),
	"floor": unary("floor", math.Floor),
	"ceil":  unary("ceil", math.Ceil),
	"round": unary("round", math.RoundToEven),
	"int":   unary("int", math.Trunc),
	"float": unary("float", func(f float64) float64 { return f }),
	"clamp": builtin("clamp", func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		f, err := floats("clamp", args, 3)
		if err != nil {
			return nil, err
		}
		if !(f[0] >= f[1]) {
			return starlark.Float(f[1]), nil
		}
		return starlark.Float(min(f[0], f[2])), nil
	}),
	"len": builtin("len", func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		if len(args) == 1 {
			if l, ok := args[0].(*listValue); ok {
				return starlark.Float(len(l.items)), nil
			}
		}
		return nil, fmt.Errorf("len takes a list")
	}),
	"bool": builtin("bool", func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		if len(args) != 1 {
			return nil, fmt.Errorf("bool takes one value")
		}
		return args[0].Truth(), nil
	}),
	"range": builtin("range", func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		f, err := floats("range", args, -3)
		if err != nil {
			return nil, err
		}
		r := rangeValue{end: f[0], step: 1}
		if len(f) > 1 {
			r.start, r.end = f[0], f[1]
		}
		if len(f) > 2 {
			r.step = f[2]
		}
		if r.step == 0 || math.IsNaN(r.step) {
			return nil, fmt.Errorf("range needs a step other than 0")
		}
		return r, nil
	}),
	"list":   listOf,
	listName: listOf,
	"sorted": builtin("sorted", func(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		f, err := numbers(thread, "sorted", args)
		if err != nil {
			return nil, err
		}
		spend(thread, len(f)*bits.Len(uint(len(f))))
		slices.SortStableFunc(f, func(x, y starlark.Value) int {
			return compare(float64(x.(starlark.Float)), float64(y.(starlark.Float)))
		})
		return newList(thread, f)
	}),
	"sum": builtin("sum", func(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		f, err := numbers(thread, "sum", args)
		if err != nil {
			return nil, err
		}
		total := starlark.Float(0)
		for _, v := range f {
			total += v.(starlark.Float)
		}
		return total, nil
	}),
	"fail": builtin("fail", func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		words := make([]string, len(args))
		for i, v := range args {
			words[i] = shown(v)
			if text, ok := v.(starlark.String); ok {
				words[i] = string(text)
			}
		}
		return nil, fmt.Errorf("fail: %s", strings.Join(words, " "))
	}),
	itemsName: builtin("list", func(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return newList(thread, args)
	}),
}

// listOf returns a list with the items of another list, or of a range.
var listOf = builtin("list", func(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	var items []starlark.Value
	if len(args) > 0 {
		var err error
		if items, err = collect(thread, args[0]); err != nil || len(args) > 1 {
			return nil, fmt.Errorf("list takes a list or a range of at most %d items", mostItems)
		}
	}
	return newList(thread, items)
})

// compare orders numbers, NaN first.
func compare(x, y float64) int {
	switch {
	case x < y || math.IsNaN(x) && !math.IsNaN(y):
		return -1
	case x > y || math.IsNaN(y) && !math.IsNaN(x):
		return 1
	}
	return 0
}

func builtin(name string, call func(*starlark.Thread, starlark.Tuple) (starlark.Value, error)) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(
		thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
	) (starlark.Value, error) {
		if len(kwargs) > 0 {
			return nil, fmt.Errorf("%s takes no named arguments", name)
		}
		return call(thread, args)
	})
}

// floats returns exactly n numeric arguments, or for a negative n up to -n of them.
func floats(name string, args starlark.Tuple, n int) ([]float64, error) {
	if len(args) != n && (n > 0 || len(args) < 1 || len(args) > -n) {
		return nil, fmt.Errorf("%s takes %d numbers, got %d", name, max(n, -n), len(args))
	}
	f := make([]float64, len(args))
	for i, v := range args {
		number, ok := v.(starlark.Float)
		if !ok {
			return nil, fmt.Errorf("%s takes numbers, not %s%s", name, article(v), ifNone(v))
		}
		f[i] = float64(number)
	}
	return f, nil
}

func unary(name string, f func(float64) float64) *starlark.Builtin {
	return builtin(name, func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		if len(args) == 1 {
			if x, ok := args[0].(starlark.Float); ok {
				return starlark.Float(f(float64(x))), nil
			}
		}
		_, err := floats(name, args, 1)
		return nil, err
	})
}

// extreme returns min or max, of arguments or of a list. If any is NaN, the result is NaN, as in Go.
func extreme(name string, before func(x, y starlark.Float) bool) *starlark.Builtin {
	return builtin(name, func(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		all := []starlark.Value(args)
		if len(args) == 1 {
			if _, single := args[0].(starlark.Float); !single {
				var err error
				if all, err = numbers(thread, name, args); err != nil {
					return nil, err
				}
			}
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("%s of an empty list", name)
		}
		var best starlark.Value
		for _, v := range all {
			f, ok := v.(starlark.Float)
			if !ok {
				return nil, fmt.Errorf("%s takes numbers, not %s%s", name, article(v), ifNone(v))
			}
			if f != f {
				return f, nil
			}
			if best == nil || before(f, best.(starlark.Float)) {
				best = v
			}
		}
		return best, nil
	})
}

// numbers returns the items of the single argument, a list of numbers.
func numbers(thread *starlark.Thread, name string, args starlark.Tuple) ([]starlark.Value, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("%s takes one list", name)
	}
	all, err := collect(thread, args[0])
	if err != nil {
		return nil, fmt.Errorf("%s takes a list of numbers, not %s%s", name, article(args[0]), ifNone(args[0]))
	}
	for _, v := range all {
		if _, ok := v.(starlark.Float); !ok {
			return nil, fmt.Errorf("%s takes a list of numbers, but one item is %s", name, article(v))
		}
	}
	return all, nil
}

// collect returns the items of a list or a range, of at most mostItems. Each counts as a step, as in a loop.
func collect(thread *starlark.Thread, v starlark.Value) (all []starlark.Value, err error) {
	i := starlark.Iterate(v)
	if i == nil {
		return nil, fmt.Errorf("no list")
	}
	defer i.Done()
	var item starlark.Value
	for len(all) <= mostItems && i.Next(&item) {
		all = append(all, item)
	}
	if len(all) > mostItems {
		return nil, fmt.Errorf("a list has at most %d items", mostItems)
	}
	spend(thread, len(all))
	return all, nil
}

// spend counts steps for a builtin's work on some items. The interpreter ends the call at its next step if none are
// left.
func spend(thread *starlark.Thread, items int) { thread.Steps += uint64(items) }

// rangeValue implements the value of range.
type rangeValue struct{ start, end, step float64 }

func (r rangeValue) String() string        { return "range" }
func (r rangeValue) Type() string          { return "range" }
func (r rangeValue) Freeze()               {}
func (r rangeValue) Truth() starlark.Bool  { return true }
func (r rangeValue) Hash() (uint32, error) { return opaque{}.Hash() }

// Iterate iterates over the numbers.
func (r rangeValue) Iterate() starlark.Iterator { return &rangeIterator{r} }

type rangeIterator struct{ rangeValue }

func (r *rangeIterator) Next(p *starlark.Value) bool {
	if r.step > 0 && !(r.start < r.end) || r.step < 0 && !(r.start > r.end) {
		return false
	}
	*p = starlark.Float(r.start)
	r.start += r.step
	return true
}

func (r *rangeIterator) Done() {}
