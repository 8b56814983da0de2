package cc

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Kind selects the kind of values of a parameter.
type Kind = schema.Kind

// Kinds. A rate, a time or a size may also be relative to the flow's path: "line/1000", "2line/3", "1.25rtt", "0.5bdp"
// (line rate times base RTT), "mtu/rtt" (one packet's payload per base RTT), or the lesser or greater of several:
// "min(100Mbps, line/400)". "0.75netrtt" and "1.5netbdp" use the network's RTT: the longest path's, or the parameter
// that the Spec's NetworkRTT names.
const (
	RateKind    = schema.Rate    // "40Mbps"; rounded to 1 bps
	TimeKind    = schema.Time    // "55us"; rounded to 1 ps
	SizeKind    = schema.Size    // "10MB"; rounded to 1 B
	NumberKind  = schema.Number  // "0.8", "1/256", "-0.36"
	IntegerKind = schema.Integer // "5"
	FlagKind    = schema.Flag    // "true", "false"; also yes, no, on, off
	ChoiceKind  = schema.Choice  // one of Parameter.Choices
	FileKind    = schema.File    // a file's path, or "built-in"; see Resolver
)

// Parameter describes one constant of a congestion control, which users may set. When is a value of the Spec's
// Selector.
type Parameter = schema.Parameter

// bounded declares a number between two bounds.
func bounded(name, preset, low, high, doc string) Parameter {
	return Parameter{Name: name, Kind: NumberKind, Default: preset, Min: low, Max: high, Doc: doc}
}

// fraction declares a number from 0 to 1.
func fraction(name, preset, doc string) Parameter { return bounded(name, preset, "0", "1", doc) }

// count declares an integer with a lower bound.
func count(name, preset, low, doc string) Parameter {
	return Parameter{Name: name, Kind: IntegerKind, Default: preset, Min: low, Doc: doc}
}

// duration declares a time from 1 ns to an upper bound.
func duration(name, preset, longest, doc string) Parameter {
	return Parameter{Name: name, Kind: TimeKind, Default: preset, Min: "1ns", Max: longest, Doc: doc}
}

// rate declares a rate of at most the line rate.
func rate(name, preset, doc string) Parameter {
	return Parameter{Name: name, Kind: RateKind, Default: preset, Max: "line", Doc: doc}
}

// minimumRate declares the rate below which a controller does not go.
func minimumRate(preset string) Parameter {
	p := rate(minRateName, preset, "minimum rate")
	p.Min = "1bps"
	return p
}

// window declares a number of bytes that is not 0.
func window(name, preset, doc string) Parameter {
	return Parameter{Name: name, Kind: SizeKind, Default: preset, Min: "1B", Max: "1000GB", Doc: doc}
}

// flag declares a switch that is true or false.
func flag(name, preset, doc string) Parameter {
	return Parameter{Name: name, Kind: FlagKind, Default: preset, Doc: doc}
}

// under makes parameters apply only with one value of the Spec's Selector.
func under(selected string, all ...Parameter) []Parameter {
	for i := range all {
		all[i].When = selected
	}
	return all
}

// value holds a parsed value: number for rates (b/s) and numbers; a file's content; integer for the others, such as a
// choice's index.
type value struct {
	number  float64
	integer int64
	content []byte
}

// parse parses text as a value of p and checks its bounds.
func parse(p *Parameter, text string, env Env) (value, error) {
	v, err := valueOf(p, text, env)
	if err != nil {
		return v, err
	}
	for _, bound := range []struct {
		text, word string
		sign       float64
	}{{p.Min, "below", -1}, {p.Max, "above", 1}} {
		if bound.text == "" {
			continue
		}
		limit, err := valueOf(p, bound.text, env)
		if err != nil {
			return v, fmt.Errorf("its bound %q: %w", bound.text, err)
		}
		if bound.sign*(v.number-limit.number) > 0 || bound.sign*float64(v.integer-limit.integer) > 0 {
			return v, fmt.Errorf("is %s %s", bound.word, boundOf(p, bound.text, limit))
		}
	}
	return v, nil
}

func boundOf(p *Parameter, text string, limit value) string {
	if spelled := spell(p, limit); spelled != text {
		return fmt.Sprintf("%s, which is %s here", text, spelled)
	}
	return text
}

func valueOf(p *Parameter, text string, env Env) (value, error) {
	t := strings.ToLower(strings.TrimSpace(text))
	switch p.Kind {
	case RateKind, TimeKind, SizeKind:
		return quantity(p.Kind, t, env)
	case NumberKind:
		f, err := number(t)
		return value{number: f}, err
	case IntegerKind:
		i, err := strconv.ParseInt(t, 10, 32)
		if err != nil {
			return value{}, errors.New("is not an integer: write one like 5")
		}
		return value{integer: i}, nil
	case FlagKind:
		switch t {
		case "true", "yes", "on":
			return value{integer: 1}, nil
		case "false", "no", "off":
			return value{}, nil
		}
		return value{}, errors.New("is not a boolean: write true or false")
	case FileKind:
		return value{}, nil // the Resolver reads the file
	default:
		for i, c := range p.Choices {
			if foldName(c) == foldName(t) {
				return value{integer: int64(i)}, nil
			}
		}
		return value{}, fmt.Errorf("is not one of %s%s", strings.Join(p.Choices, ", "), didYouMean(foldName(t), p.Choices))
	}
}

// networkPrefix before rtt and bdp selects the network's.
const networkPrefix = "net"

// quantity parses a rate, time or size: absolute, relative to the path, or the min or max of several.
func quantity(kind Kind, t string, env Env) (value, error) {
	for _, f := range []struct {
		name   string
		choose func(float64, float64) float64
	}{{"min", math.Min}, {"max", math.Max}} {
		list, ok := strings.CutPrefix(t, f.name+"(")
		if !ok {
			continue
		}
		if list, ok = strings.CutSuffix(list, ")"); !ok {
			return value{}, fmt.Errorf("%s( is missing its )", f.name)
		}
		var chosen value
		for i, part := range strings.Split(list, ",") {
			v, err := quantity(kind, strings.TrimSpace(part), env)
			if err != nil {
				return v, err
			}
			// A float64 represents sizes exactly: they are whole numbers below 2^53.
			if i == 0 || f.choose(v.size(), chosen.size()) != chosen.size() {
				chosen = v
			}
		}
		return chosen, nil
	}
	switch kind {
	case RateKind:
		if f, ok, err := relative(t, "line", float64(env.LineRate)); ok || err != nil {
			return value{number: math.Round(f)}, err
		}
		perRTT := 0.0
		if env.BaseRTT > 0 {
			perRTT = float64(env.MTU) * 8e12 / float64(env.BaseRTT)
		}
		if f, ok, err := relative(t, "mtu/rtt", perRTT); ok || err != nil {
			return value{number: math.Round(f)}, err
		}
		r, err := units.ParseRate(t)
		return value{number: float64(r)}, err
	case TimeKind:
		symbol, one := "rtt", env.BaseRTT
		if strings.Contains(t, networkPrefix) {
			symbol, one = networkPrefix+symbol, env.networkRTT()
		}
		if f, ok, err := relative(t, symbol, float64(one)); ok || err != nil {
			return value{integer: int64(math.Round(f))}, err
		}
		d, err := units.ParseTime(t)
		return value{integer: int64(d)}, err
	default:
		symbol, rtt := "bdp", env.BaseRTT
		if strings.Contains(t, networkPrefix) {
			symbol, rtt = networkPrefix+symbol, env.networkRTT()
		}
		if f, ok, err := relative(t, symbol, float64(env.LineRate.BytesIn(rtt))); ok || err != nil {
			return value{integer: int64(math.Round(f))}, err
		}
		b, err := units.ParseBytes(t)
		return value{integer: int64(b)}, err
	}
}

// size returns v's value from the field that its kind uses.
func (v value) size() float64 { return v.number + float64(v.integer) }

// relative parses "line", "2line", "line/1000" and "2line/3", given the value of line.
func relative(t, symbol string, one float64) (float64, bool, error) {
	before, after, ok := strings.Cut(t, symbol)
	if !ok {
		return 0, false, nil
	}
	if one <= 0 {
		return 0, true, fmt.Errorf("%s is unknown for this flow", symbol)
	}
	factor, divisor := 1.0, 1.0
	before = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(before), "*"))
	after = strings.TrimSpace(after)
	var err error
	if before != "" {
		if factor, err = number(before); err != nil {
			return 0, true, err
		}
	}
	if after != "" {
		d, ok := strings.CutPrefix(after, "/")
		if !ok {
			return 0, true, fmt.Errorf("%q after %s: write one like %s/1000 or 1.25%s", after, symbol, symbol, symbol)
		}
		if divisor, err = number(strings.TrimSpace(d)); err != nil {
			return 0, true, err
		}
	}
	f := float64(one*factor) / divisor
	if !(f >= 0 && f <= 1<<53) {
		return 0, true, errors.New("is out of range")
	}
	return f, true, nil
}

// number parses a finite number, possibly as a fraction: "0.8", "1/256", "-0.36".
func number(t string) (float64, error) {
	above, below, fraction := strings.Cut(t, "/")
	f, err := strconv.ParseFloat(strings.TrimSpace(above), 64)
	if err == nil && fraction {
		var d float64
		d, err = strconv.ParseFloat(strings.TrimSpace(below), 64)
		f /= d
	}
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is not a number: write one like 0.8 or 1/256", t)
	}
	return f, nil
}

// spell formats v so that it parses back exactly.
func spell(p *Parameter, v value) string {
	switch p.Kind {
	case RateKind:
		return units.Rate(v.number).String()
	case TimeKind:
		return vtime.Time(v.integer).String()
	case SizeKind:
		return units.Bytes(v.integer).String()
	case NumberKind:
		return strconv.FormatFloat(v.number, 'g', -1, 64)
	case IntegerKind:
		return strconv.FormatInt(v.integer, 10)
	case FlagKind:
		return strconv.FormatBool(v.integer != 0)
	default:
		return p.Choices[v.integer]
	}
}
