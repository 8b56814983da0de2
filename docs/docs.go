// Package docs holds the pages of the documentation for users, as the program prints them.
package docs

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/pausenet/pausenet/internal/lazy"
)

//go:embed *.md schemes/*.md
var files embed.FS

// Page represents a page of the documentation.
type Page struct {
	Name     string    `json:"page"`  // its path below docs, without .md
	Title    string    `json:"title"` // its first heading
	Summary  string    `json:"summary"`
	Text     string    `json:"-"`
	Sections []Section `json:"-"`
}

// Section represents a part of a page, from a heading to the next one of any level.
type Section struct {
	Name    string `json:"page"` // PAGE#ANCHOR, or PAGE for its beginning
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// Pages returns all pages, by name.
var Pages = sync.OnceValue(func() (all []Page) {
	_ = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error { // embedded files have no errors
		if err == nil && !entry.IsDir() {
			text, _ := files.ReadFile(name)
			all = append(all, parse(strings.TrimSuffix(name, ".md"), string(text)))
		}
		return nil
	})
	return all
})

var (
	heading = lazy.Regexp(`^#+ (.*)`)
	// notInAnchor matches what GitHub leaves out of a heading's anchor.
	notInAnchor = lazy.Regexp(`[^\p{L}\p{N}_ -]`)
	link        = lazy.Regexp(`\]\([^)]*\)`)
	comment     = lazy.Regexp(`(?s)<!--.*?-->`)
)

// parse divides a page into sections. A line that begins with # within a block of code is no heading.
func parse(name, text string) Page {
	p := Page{Name: name, Text: text}
	code := false
	for line := range strings.Lines(text) {
		code = code != strings.HasPrefix(line, "```")
		if h := heading().FindStringSubmatch(line); h != nil && !code {
			s := Section{Name: name, Heading: h[1]}
			if len(p.Sections) > 0 {
				s.Name += "#" + anchor(h[1])
			}
			p.Sections = append(p.Sections, s)
		}
		if n := len(p.Sections); n > 0 {
			p.Sections[n-1].Text += line
		}
	}
	if len(p.Sections) > 0 {
		first := p.Sections[0]
		_, rest, _ := strings.Cut(comment().ReplaceAllString(first.Text, ""), "\n")
		paragraph, _, _ := strings.Cut(strings.TrimSpace(rest), "\n\n")
		p.Title, p.Summary = first.Heading, strings.Join(strings.Fields(paragraph), " ")
	}
	return p
}

// anchor returns the anchor of a heading, as GitHub makes it.
func anchor(title string) string {
	title = link().ReplaceAllString(strings.ToLower(title), "]")
	return strings.ReplaceAll(notInAnchor().ReplaceAllString(title, ""), " ", "-")
}

// Text returns a page, or the section PAGE#ANCHOR with those below it.
func Text(name string) (string, error) {
	page, wanted, _ := strings.Cut(name, "#")
	page = strings.TrimSuffix(page, ".md")
	at := slices.IndexFunc(Pages(), func(p Page) bool { return p.Name == page })
	if at < 0 {
		return "", fmt.Errorf("no page %q (list the pages with \"pausenet docs\")", page)
	}
	p := Pages()[at]
	if wanted == "" {
		return p.Text, nil
	}
	var text strings.Builder
	var anchors []string
	level := 0
	for _, s := range p.Sections {
		_, own, _ := strings.Cut(s.Name, "#")
		depth := len(s.Text) - len(strings.TrimLeft(s.Text, "#"))
		switch {
		case own == wanted:
			level = depth
		case level > 0 && depth <= level:
			return text.String(), nil
		}
		if level > 0 {
			text.WriteString(s.Text)
		}
		if own != "" {
			anchors = append(anchors, own)
		}
	}
	if level == 0 {
		return "", fmt.Errorf("%s has no section %q (it has: %s)", page, wanted, strings.Join(anchors, ", "))
	}
	return text.String(), nil
}

// Find returns the sections in which all words occur, in any case. A word in the heading counts most, then how often it
// occurs, up to five times.
func Find(words string, most int) ([]Section, error) {
	wanted := strings.Fields(strings.ToLower(words))
	if len(wanted) == 0 {
		return nil, errors.New("no words to find")
	}
	type found struct {
		Section
		score int
	}
	var all []found
	for _, p := range Pages() {
		for _, s := range p.Sections {
			text, title := strings.ToLower(s.Text), strings.ToLower(s.Heading)
			score := 0
			for _, word := range wanted {
				if !strings.Contains(text, word) {
					score = 0
					break
				}
				score += min(5, strings.Count(text, word))
				if strings.Contains(title, word) {
					score += 10
				}
			}
			if score > 0 {
				all = append(all, found{s, score})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	sections := []Section{}
	for _, f := range all[:min(most, len(all))] {
		sections = append(sections, f.Section)
	}
	return sections, nil
}
