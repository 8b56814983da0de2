package yamlspec

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits, in bytes, on the parts of a file that a message repeats: on a word, which may be a path, and on the whole
// message.
const (
	longestWord    = 512
	longestMessage = 8192
)

// abridge shortens long words in a message, such as a key of a megabyte, by removing their middle.
func abridge(message string) string {
	if len(message) <= longestWord {
		return message
	}
	var b strings.Builder
	for rest := message; rest != ""; {
		end := strings.IndexFunc(rest, unicode.IsSpace)
		if end < 0 {
			end = len(rest)
		}
		b.WriteString(middle(rest[:end], longestWord))
		if end < len(rest) {
			_, n := utf8.DecodeRuneInString(rest[end:])
			b.WriteString(rest[end : end+n])
			end += n
		}
		rest = rest[end:]
	}
	return middle(b.String(), longestMessage)
}

// middle removes the middle of a text that is longer than most bytes.
func middle(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := most*3/4, len(text)-most/8
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + "…" + text[tail:]
}
