package main

import (
	"regexp"
	"strings"
)

// word is a name that a controller's code may use, for the editor's completion.
type word struct {
	Of     string `json:"of"` // object before the dot; empty: a function
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"` // a function's parameters
	Info   string `json:"info"`
}

var (
	row  = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*) \\|$")
	link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	call = regexp.MustCompile(`^(\w+)(\(.*\))$`)
)

// words returns the names that the tables of a page about controllers in Starlark explain,
// docs/controllers-from-files.md. Tests of the program compare the tables with it.
func words(page string) (all []word) {
	add := func(of, name, detail, info string) {
		info = strings.ReplaceAll(link.ReplaceAllString(info, "$1"), "`", "")
		all = append(all, word{Of: of, Name: name, Detail: detail, Info: info})
	}
	for _, section := range regexp.MustCompile(`(?m)^#+ `).Split(page, -1) {
		title, text, _ := strings.Cut(section, "\n")
		for _, cells := range row.FindAllStringSubmatch(text, -1) {
			name, rest := cells[1], cells[2]
			middle, last, _ := strings.Cut(rest, " | ")
			switch title {
			case "Functions":
				if f := call.FindStringSubmatch(name); f != nil {
					add("", f[1], f[2], "called "+rest)
				}
			case "The flow", "The path":
				if of, attribute, ok := strings.Cut(name, "."); ok && attribute != "ANYTHING" {
					add(of, attribute, "", rest)
				}
			case "Samples":
				for _, of := range []string{"ACK", "CNP", "CNM"} {
					if middle == "all" || strings.Contains(middle, of) {
						add(strings.ToLower(of), name, "", last)
					}
				}
			case "Telemetry":
				add("hop", name, "", last+", in "+middle)
			}
		}
	}
	return all
}
