package yamlspec

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxRange limits the names of one sequence.
const maxRange = 1 << 16

// Name holds a name in a file and its position.
type Name struct {
	Text string
	At   *Value
}

// Names decodes a name, a list of names, or a sequence: "H2..H15" is H2, H3, ... H15.
func (v *Value) Names() []Name {
	var names []Name
	for _, item := range v.Items() {
		var s string
		if !item.String(&s) {
			continue
		}
		expanded, err := Expand(s)
		if err != nil {
			item.Errorf("%v", err)
			continue
		}
		for _, n := range expanded {
			names = append(names, Name{Text: n, At: item})
		}
		if len(names) > maxRange {
			item.Errorf("more than %d names in one list: shorten it", maxRange)
			return nil
		}
	}
	return names
}

// Expand returns the names of a sequence: "H2..H4" is H2, H3, H4. It keeps leading zeros:
// "n01..n12". Text without
// ".." is a single name. An equal suffix after a dot applies to each name: "h0.2..h7.2" is h0.2, h1.2,
// ... h7.2.
func Expand(s string) ([]string, error) {
	left, right, found := strings.Cut(s, "..")
	if !found {
		return []string{s}, nil
	}
	if dot := strings.LastIndex(right, "."); dot > 0 {
		begin, same := strings.CutSuffix(strings.TrimSpace(left), right[dot:])
		if names, err := Expand(begin + ".." + right[:dot]); same && err == nil {
			for i := range names {
				names[i] += right[dot:]
			}
			return names, nil
		}
	}
	leftWord, first := splitNumber(strings.TrimSpace(left))
	rightWord, last := splitNumber(strings.TrimSpace(right))
	if first == "" || last == "" || (rightWord != "" && rightWord != leftWord) {
		return nil, fmt.Errorf("%q is not a sequence (expected a form such as H2..H15)", s)
	}
	from, err := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	switch {
	case err != nil || err2 != nil || to-from >= maxRange:
		return nil, fmt.Errorf("sequence %q has more than %d names", s, maxRange)
	case to < from:
		return nil, fmt.Errorf("sequence %q runs backwards (write %s%s..%s%s)", s, leftWord, last, leftWord, first)
	}
	width := 0
	if strings.HasPrefix(first, "0") {
		width = len(first)
	}
	names := make([]string, 0, to-from+1)
	for i := from; i <= to; i++ {
		names = append(names, fmt.Sprintf("%s%0*d", leftWord, width, i))
	}
	return names, nil
}

// splitNumber splits a name from the number at its end.
func splitNumber(s string) (word, number string) {
	word = strings.TrimRight(s, "0123456789")
	return word, s[len(word):]
}

// otherRange matches ranges in the notation of other tools: h[1-3], h{1..3}, h1-h3, h1-3.
var otherRange = regexp.MustCompile(`^([A-Za-z_-]*[A-Za-z_])[\[{]?([0-9]+)(?:-|\.\.\.?|:)(?:[A-Za-z_-]*[A-Za-z_])?([0-9]+)[\]}]?$`)

// Suggest returns the end of a message about an unknown name: ": did you mean ...?" if a candidate is similar,
// otherwise the candidates if they are few, otherwise nothing.
func Suggest(name string, candidates []string) string {
	if m := otherRange.FindStringSubmatch(name); m != nil && slices.Contains(candidates, m[1]+m[2]) &&
		slices.Contains(candidates, m[1]+m[3]) {
		return fmt.Sprintf(": write %s%s..%s%s", m[1], m[2], m[1], m[3])
	}
	if series := seriesOf(name, candidates); series != "" {
		return fmt.Sprintf(" (expected %s)", series)
	}
	if near := Nearest(name, candidates); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	if len(candidates) > 0 && len(candidates) <= 16 {
		return " (expected " + strings.Join(candidates, ", ") + ")"
	}
	return ""
}

// seriesOf returns the range of candidates that differ from a name in the number only, "h0..h15" for "h16"; "" if
// there are fewer than three.
func seriesOf(name string, candidates []string) string {
	word, number := splitNumber(name)
	if word == "" || number == "" {
		return ""
	}
	count, least, most := 0, math.MaxInt, -1
	for _, c := range candidates {
		if own, digits := splitNumber(c); own == word && digits != "" {
			n, _ := strconv.Atoi(digits) // an error means that it is too long for a node's number
			count, least, most = count+1, min(least, n), max(most, n)
		}
	}
	if count < 3 {
		return ""
	}
	return fmt.Sprintf("%s%d..%s%d", word, least, word, most)
}

// Nearest returns the candidate that a misspelled name most likely means, or "" if none is similar.
func Nearest(name string, candidates []string) string {
	best, bestDistance := "", 1+max(1, (len(name)+1)/3)
	lower := strings.ToLower(name)
	for _, c := range candidates {
		other := strings.ToLower(c)
		d := distance(lower, other)
		// An unfinished word ("prio" for "priorities") is similar, however much is missing.
		if len(lower) >= 3 && len(other) > len(lower) && strings.HasPrefix(other, lower) {
			d = min(d, 1)
		}
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance returns the number of letters to insert, delete, replace or swap to get from a to b (optimal string
// alignment). It shortens texts that are too long for names.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	var rows [3][longest + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := 0; j <= len(b); j++ {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
