package yamlspec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// The decoders of scalars report a wrong value. If the value is absent or wrong, they leave *into unchanged and return
// false.

// Raw returns a scalar's text in the file, without quotes; "" for any other value.
func (v *Value) Raw() string {
	if v == nil || v.kind != scalar {
		return ""
	}
	return v.text
}

// String decodes text.
func (v *Value) String(into *string) bool {
	if v == nil || v.kind == broken {
		return false
	}
	if v.kind != scalar {
		v.Errorf("expected text, found %v", v.kind)
		return false
	}
	*into = v.text
	return true
}

// Choice decodes one of the words in options.
func (v *Value) Choice(into *string, options ...string) bool {
	var s string
	if !v.String(&s) {
		return false
	}
	if !slices.Contains(options, s) {
		hint := ""
		if near := spelling.Nearest(s, options); near != "" {
			hint = fmt.Sprintf(": did you mean %q?", near)
		}
		v.Errorf("%q is not one of %s%s", s, strings.Join(options, ", "), hint)
		return false
	}
	*into = s
	return true
}

// Bool decodes true or false.
func (v *Value) Bool(into *bool) bool {
	var s string
	if !v.Choice(&s, "true", "false") {
		return false
	}
	*into = s == "true"
	return true
}

// Int decodes an integer within least..most.
func (v *Value) Int(into *int, least, most int) bool {
	return quantity(v, into, func(s string) (int, error) {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 0, 64)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%q is not a whole number", s)
		case n < int64(least) || n > int64(most):
			return 0, fmt.Errorf("%d is outside %d..%d", n, least, most)
		}
		return int(n), nil
	})
}

// Float decodes a number, also in the forms "1/256" and "1%".
func (v *Value) Float(into *float64) bool { return quantity(v, into, ParseFloat) }

// ParseFloat parses a finite number as Float does.
func ParseFloat(s string) (float64, error) {
	x, ok := parseFloat(s)
	if !ok {
		return 0, fmt.Errorf("%q is not a number: write one like 0.5, 1/256 or 1%%", s)
	}
	return x, nil
}

func parseFloat(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	over, under, fraction := strings.Cut(s, "/")
	percent := false
	if !fraction {
		over, percent = strings.CutSuffix(s, "%")
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(over), 64)
	if err != nil {
		return 0, false
	}
	if fraction {
		y, err := strconv.ParseFloat(strings.TrimSpace(under), 64)
		if err != nil || y == 0 {
			return 0, false
		}
		x /= y
	}
	if percent {
		x /= 100
	}
	return x, !math.IsNaN(x) && !math.IsInf(x, 0)
}

// Rate decodes a rate such as "40Gbps".
func (v *Value) Rate(into *units.Rate) bool { return quantity(v, into, units.ParseRate) }

// Bytes decodes a size such as "320KB".
func (v *Value) Bytes(into *units.Bytes) bool { return quantity(v, into, units.ParseBytes) }

// Time decodes a duration of virtual time such as "5us".
func (v *Value) Time(into *vtime.Time) bool { return quantity(v, into, units.ParseTime) }

func quantity[T any](v *Value, into *T, parse func(string) (T, error)) bool {
	var s string
	if !v.String(&s) {
		return false
	}
	x, err := parse(s)
	if err != nil {
		v.Errorf("%v", err)
		return false
	}
	*into = x
	return true
}
