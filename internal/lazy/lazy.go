// Package lazy compiles regular expressions when they are first used. One with a count, such as {0,99}, takes as long
// as a hundred without, and no command needs all of them.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the compiled expression. It panics at the first call if text is not valid.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
