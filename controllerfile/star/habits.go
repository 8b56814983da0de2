package star

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"
)

// habit matches code that is correct in Python or C, and says what to write instead. The advice may use the pattern's
// groups.
type habit struct {
	pattern *regexp.Regexp
	advice  string
}

// habits lists what the parser refuses, the most specific first. Patterns match a line without its comment and the
// contents of its strings.
var habits = []habit{
	{regexp.MustCompile(`\b(\d+\.?\d*)\s?(?:µs|μs)`), "write ${1} * us: a unit is a name to multiply by"},
	{regexp.MustCompile(`\b(\d+\.?\d*)s\b`), "write ${1} * seconds: a unit is a name to multiply by"},
	{
		regexp.MustCompile(`\b(\d+\.?\d*)\s?(ps|ns|us|ms|seconds|bps|Kbps|Mbps|Gbps|KB|MB|GB)\b`),
		"write ${1} * ${2}: a unit is a name to multiply by",
	},
	{regexp.MustCompile(`^\s*else\s+if\b`), "write elif instead of else if"},
	{regexp.MustCompile(`\bis\s+not\b`), "write != instead of is not, as in x != None"},
	{regexp.MustCompile(`\bis\b`), "write == instead of is, as in x == None"},
	{
		regexp.MustCompile(`\b[fF]["']`),
		`f-strings are not supported: fail takes values beside its text, as in fail("rtt", ack.rtt)`,
	},
	{
		regexp.MustCompile(`^\s*(global|nonlocal)\s+(\w+)`),
		"${1} is not supported: write flow.${2}, and set it in init, because values outside of functions cannot change",
	},
	{
		regexp.MustCompile(`^\s*(try|except|finally)\b`),
		"${1} is not supported: there are no exceptions, so test before an operation, as in if n != 0",
	},
	{regexp.MustCompile(`^\s*(raise|assert)\b`), `${1} is not supported: write fail("why", x), which ends the run`},
	{
		regexp.MustCompile(`^\s*(import|from)\b`),
		"${1} is not supported: a controller is one file, and sqrt, floor, ceil, round, abs, min and max are built in",
	},
	{regexp.MustCompile(`^\s*class\b`), "class is not supported: keep a flow's state as attributes of flow"},
	{regexp.MustCompile(`^\s*(with|del|yield|async|await)\b`), "${1} is not supported"},
	{
		regexp.MustCompile(`([\w.]+)\s*\*\*`),
		"** is not supported: write ${1} * ${1} for a square, sqrt(${1}) for a root",
	},
	{regexp.MustCompile(`([\w.]+)\s*\+\+`), "write ${1} += 1 instead of ${1}++"},
	{regexp.MustCompile(`&&`), "write and instead of &&"},
	{regexp.MustCompile(`\|\|`), "write or instead of ||"},
	{regexp.MustCompile(`![^=]`), "write not instead of !"},
	{
		regexp.MustCompile(`^\s*(?:if|elif|while)\b[^=]*[^=!<>]=[^=]`),
		"write == to compare: = sets a variable, and cannot be in a condition",
	},
}

// syntaxMistake returns the parser's mistake with what to write instead.
func (s *source) syntaxMistake(mistake syntax.Error) error {
	pos := mistake.Pos
	lines := strings.Split(string(s.content), "\n")
	line := func(n int32) string {
		if n < 1 || int(n) > len(lines) {
			return ""
		}
		return strings.TrimRight(lines[n-1], "\r")
	}
	if pos.Col == 1 && strings.HasPrefix(mistake.Msg, "got newline") { // which the parser counts to the next line
		pos.Line--
		pos.Col = int32(len(line(pos.Line)) + 1)
	}
	code := codeOf(line(pos.Line))
	for _, h := range habits {
		if at := h.pattern.FindStringSubmatchIndex(code); at != nil {
			pos.Col = int32(
				utf8.RuneCountInString(code[:at[1]]) - utf8.RuneCountInString(strings.TrimSpace(code[at[0]:at[1]])) + 1)
			return s.at(pos, string(h.pattern.ExpandString(nil, h.advice, code, at)))
		}
	}
	if strings.Contains(mistake.Msg, "dent") {
		if mixed, text := mixedIndentation(s.content); mixed > 0 {
			return s.at(syntax.MakePosition(&s.name, int32(mixed), 1), text)
		}
	}
	return s.at(pos, mistake.Msg+hint(mistake.Msg))
}

// codeOf returns a line without its comment, and with spaces in its strings.
func codeOf(line string) string {
	var b strings.Builder
	quote := rune(0)
	for _, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				r = ' '
			}
		case r == '#':
			return b.String()
		case r == '"' || r == '\'':
			quote = r
		}
		b.WriteRune(r)
	}
	return b.String()
}

// mixedIndentation returns the number of the first line that is indented by other characters than an earlier one, and
// what is wrong with it; 0 if all lines are indented alike.
func mixedIndentation(content []byte) (line int, text string) {
	first, with := 0, byte(0)
	for i, l := range bytes.Split(content, []byte("\n")) {
		code := bytes.TrimLeft(l, " \t")
		indent := l[:len(l)-len(code)]
		if len(indent) == 0 || len(bytes.TrimSpace(code)) == 0 || code[0] == '#' {
			continue
		}
		names := map[byte]string{' ': "spaces", '\t': "a tab"}
		for _, c := range indent {
			switch {
			case with == 0:
				first, with = i+1, c
			case c != with:
				return i + 1, fmt.Sprintf("this line is indented with %s, and line %d with %s, which count as different widths: "+
					"indent all lines with spaces", names[c], first, names[with])
			}
		}
	}
	return 0, ""
}

// hint returns a likely cause of a parser's message.
func hint(message string) string {
	switch {
	case strings.Contains(message, "got indent") || strings.Contains(message, "outdent") ||
		strings.Contains(message, "unindent"):
		return " (all lines of a block must start in the same column)"
	case strings.Contains(message, "want ':'"):
		return " (def, if, elif, else, for and while end in a colon)"
	}
	return ""
}
