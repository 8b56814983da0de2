// Package lists provides short forms of loops over slices that package slices lacks, and joins names.
package lists

import (
	"fmt"
	"strings"
)

// Map returns what of returns for each element; nil if there are none.
func Map[T, R any](all []T, of func(T) R) []R {
	if len(all) == 0 {
		return nil
	}
	results := make([]R, len(all))
	for i, element := range all {
		results[i] = of(element)
	}
	return results
}

// Filter returns the elements that keep accepts; nil if there are none.
func Filter[T any](all []T, keep func(T) bool) (kept []T) {
	for _, element := range all {
		if keep(element) {
			kept = append(kept, element)
		}
	}
	return kept
}

// Find returns the first element that is accepts; nil if there is none.
func Find[T any](all []T, is func(*T) bool) *T {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// Few joins the names, and replaces all but the first few with their number.
func Few(names []string) string {
	const most = 3
	if len(names) <= most+1 { // "and 1 others" would be as long as the name
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}
