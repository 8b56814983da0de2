package sweep

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// mostValues limits the values of one parameter. More mean a mistake in the step.
const mostValues = 10_000

// quantity matches a number and its unit.
const quantity = `([-+]?[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z%/]*)`

// rangeText matches a range, "10us..30us:5us": both ends with their units, and the step after the colon.
var rangeText = regexp.MustCompile(`^` + quantity + `\.\.` + quantity + `(?:\s*:\s*(x?)` + quantity + `)?$`)

// ParseValues returns the values of a list such as "32KB,64KB" or a range such as "10us..30us:5us", in order. A range
// includes its second end if a step meets it; ":x2" doubles; without a step it counts whole numbers. Commas within
// brackets, parentheses and quotes belong to a value.
func ParseValues(text string) ([]string, error) {
	var all []string
	for _, item := range splitValues(text) {
		item = strings.TrimSpace(item)
		if item == "" {
			return nil, errors.New("a value is missing: separate values by single commas")
		}
		m := rangeText.FindStringSubmatch(item)
		if colons := otherRange.FindStringSubmatch(item); m == nil && colons != nil {
			return nil, fmt.Errorf("%q: write the range as %s..%s:%s", item, colons[1], colons[2], colons[3])
		}
		if m == nil {
			all = append(all, item)
			continue
		}
		values, err := expandRange(item, m)
		if err != nil {
			return nil, err
		}
		if all = append(all, values...); len(all) > mostValues {
			return nil, fmt.Errorf("more than %d values: raise the step", mostValues)
		}
	}
	seen := map[string]bool{}
	for _, v := range all {
		if seen[v] {
			return nil, fmt.Errorf("value %s is listed twice", v)
		}
		seen[v] = true
	}
	return all, nil
}

// otherRange matches a range in the notation of other tools, first:last:step.
var otherRange = regexp.MustCompile(`^([0-9.]+[A-Za-z]*):([0-9.]+[A-Za-z]*):([0-9.]+[A-Za-z]*)$`)

// splitValues splits at commas outside brackets and quotes.
func splitValues(text string) []string {
	var parts []string
	depth, from := 0, 0
	var quote rune
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			depth--
		case c == ',' && depth <= 0:
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	return append(parts, text[from:])
}

// expandRange computes with fractions, so that 0.1 added three times is exactly 0.3: otherwise a point's name would
// differ from the user's text.
func expandRange(item string, m []string) ([]string, error) {
	first, last, unit := m[1], m[3], m[4]
	if m[2] != "" && m[2] != unit {
		return nil, fmt.Errorf("range %q: write both ends in %s, not one in %s", item, m[2], unit)
	}
	factor, stepText := m[5] == "x", m[6]
	switch {
	case stepText == "" && (unit != "" || strings.ContainsAny(first+last, ".eE")):
		return nil, fmt.Errorf("range %q needs a step, such as %q", item, item+":"+first+unit)
	case stepText == "":
		stepText = "1"
	case factor && m[7] != "":
		return nil, fmt.Errorf("range %q: a factor has no unit: write %q", item, "x"+stepText)
	case !factor && m[7] != unit:
		return nil, fmt.Errorf("range %q: the step is in %q, but the ends are in %q: use the same unit", item, m[7], unit)
	}
	var at, end, step big.Rat
	for _, n := range []struct {
		into *big.Rat
		text string
	}{{&at, first}, {&end, last}, {&step, stepText}} {
		if _, ok := n.into.SetString(n.text); !ok {
			return nil, fmt.Errorf("range %q: %q is not a number", item, n.text)
		}
	}
	if factor && (step.Cmp(big.NewRat(1, 1)) <= 0 || at.Sign() <= 0) {
		return nil, fmt.Errorf("range %q: the factor must be above 1 and the start above 0", item)
	}
	if step.Sign() <= 0 {
		return nil, fmt.Errorf("range %q: the step must be above 0", item)
	}
	if at.Cmp(&end) > 0 {
		return nil, fmt.Errorf("range %q runs backwards: swap its ends", item)
	}
	// The number of decimals depends only on the ends and the step, unless the step is a factor.
	decimals := max(decimalsOf(first), decimalsOf(stepText))
	if factor {
		decimals = 9
	}
	var values []string
	for at.Cmp(&end) <= 0 {
		text := at.FloatString(decimals)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		if values = append(values, text+unit); len(values) > mostValues {
			return nil, fmt.Errorf("range %q has more than %d values: raise the step", item, mostValues)
		}
		if factor {
			at.Mul(&at, &step)
		} else {
			at.Add(&at, &step)
		}
	}
	return values, nil
}

// decimalsOf returns the number of decimals that a number needs.
func decimalsOf(number string) int {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	_, fraction, _ := strings.Cut(mantissa, ".")
	shift := 0
	_, _ = fmt.Sscanf(exponent, "%d", &shift) // without an exponent it stays 0
	return max(0, len(fraction)-shift)
}
