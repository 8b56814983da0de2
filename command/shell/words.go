//go:build linux

package shell

import (
	"fmt"
	"strings"
)

// split splits a line into words: blanks separate words, quotes group them, # starts a comment.
func split(line string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	inside := false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inside = c, true
		case c == '#' && !inside:
			return words, nil
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			if inside {
				words = append(words, word.String())
				word.Reset()
				inside = false
			}
		default:
			word.WriteRune(c)
			inside = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("unclosed quote %c", quote)
	}
	if inside {
		words = append(words, word.String())
	}
	return words, nil
}

// behind returns the part of a line after its first word, unchanged.
func behind(line string) string {
	line = strings.TrimSpace(line)
	if at := strings.IndexAny(line, " \t"); at >= 0 {
		return strings.TrimSpace(line[at:])
	}
	return ""
}

// isBefore reports whether a word may precede a line.
func isBefore(word string) bool { return word == "time" || word == "noecho" }

// forSh reports whether a command uses features of a shell outside of quotes: pipes, redirections, variables.
func forSh(command string) bool {
	var quote rune
	for _, c := range command {
		switch {
		case quote == '\'' && c != quote:
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		case strings.ContainsRune("$`\\", c), quote == 0 && strings.ContainsRune("|&;<>*?", c):
			return true
		}
	}
	return false
}
