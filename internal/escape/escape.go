// Package escape makes texts of others, such as names of files, safe to show: a terminal, a table or a spreadsheet
// might otherwise obey them. All of it is in escape.go.
package escape

import (
	"fmt"
	"regexp"
	"strings"
)

// Obeyed reports whether a character has an effect instead of being shown: a control of ASCII (C0, DEL) or ISO 6429
// (C1), or one that changes the direction of the following text.
func Obeyed(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// Line returns a text in one line: characters that are obeyed are written as \u001b is, ends of lines and tabs among
// them.
func Line(text string) string {
	var b strings.Builder
	for _, r := range text { // bytes that are no UTF-8 become U+FFFD
		if Obeyed(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// number matches a number with a sign and a unit, which spreadsheets read as a text or a number.
var number = regexp.MustCompile(`^[+-]?[0-9.]+[A-Za-z/%]*$`)

// Cell returns a text in one line that no spreadsheet takes for a formula.
func Cell(text string) string {
	text = Line(text)
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) && !number.MatchString(text) {
		return "'" + text
	}
	return text
}
