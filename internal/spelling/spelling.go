// Package spelling suggests names for misspelled ones. Every message about an unknown name ends with its suggestion.
package spelling

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// SplitNumber splits a name from the number at its end.
func SplitNumber(s string) (word, number string) {
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
	word, number := SplitNumber(name)
	if word == "" || number == "" {
		return ""
	}
	count, least, most := 0, math.MaxInt, -1
	for _, c := range candidates {
		if own, digits := SplitNumber(c); own == word && digits != "" {
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
		d := Distance(lower, other)
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

// Distance returns the number of letters to insert, delete, replace or swap to get from a to b (optimal string
// alignment). For texts that are too long for names it returns a large number.
func Distance(a, b string) int {
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
