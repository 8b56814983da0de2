package cc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/spelling"
)

// SameName reports whether two spellings refer to one name, of a controller or a constant.
func SameName(a, b string) bool { return foldName(a) == foldName(b) }

// foldName maps all spellings of one name to the same text: lower case, with dashes as underscores.
func foldName(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "-", "_")
}

// Nearest suggests existing names that resemble an unknown one, as "; did you mean ...?"; empty without any.
func Nearest(name string, names []string) string { return didYouMean(foldName(name), names) }

// didYouMean suggests the names that resemble the given text; empty without any.
func didYouMean(written string, names []string) string {
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, n := range names {
		folded := foldName(n)
		d := spelling.Distance(written, folded)
		switch {
		case d <= max(1, min(len(written), len(folded))/3):
		case len(written) >= 2 && (strings.Contains(folded, written) || strings.Contains(written, folded)):
		default:
			continue
		}
		found = append(found, near{n, d})
	}
	if found == nil {
		return ""
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.distance - b.distance })
	var quoted []string
	for _, f := range found[:min(3, len(found))] {
		quoted = append(quoted, fmt.Sprintf("%q", f.name))
	}
	return "; did you mean " + strings.Join(quoted, " or ") + "?"
}
