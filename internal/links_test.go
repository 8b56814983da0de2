package internal

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	// notInAnchor is what GitHub leaves out of a heading's anchor.
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// anchors are those of a page's headings.
func anchors(page string) map[string]bool {
	m := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		text := link.ReplaceAllString(strings.ToLower(h[1]), "]")
		m[strings.ReplaceAll(notInAnchor.ReplaceAllString(text, ""), " ", "-")] = true
	}
	return m
}

// TestDocumentsAreListed checks that each page of docs is linked from a list: docs/README.md, or the page of its
// folder, and those for users also from llms.txt.
func TestDocumentsAreListed(t *testing.T) {
	for _, c := range []struct{ list, below, pattern string }{
		{"README.md", "", "*.md"},
		{"README.md", "", "schemes/*.md"},
		{"results.md", "", "results/*.md"},
		{"performance.md", "", "measurements/*.md"},
		{"../llms.txt", "docs/", "*.md"},
		{"../llms.txt", "docs/", "schemes/*.md"},
	} {
		list, err := os.ReadFile("../docs/" + c.list)
		if err != nil {
			t.Fatal(err)
		}
		names, err := fs.Glob(os.DirFS("../docs"), c.pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("docs/%s: got no pages, %v", c.pattern, err)
		}
		for _, name := range names {
			if name != "README.md" && !strings.Contains(string(list), "("+c.below+name) {
				t.Errorf("docs/%s does not lead to %s", c.list, name)
			}
		}
	}
}

// TestLinks follows every link between the repository's pages, to the heading.
func TestLinks(t *testing.T) {
	pages := map[string]string{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := path.Base(name); entry.IsDir() && name != "." &&
			(strings.HasPrefix(base, ".") && base != ".github" || name == "results" || base == "testdata") {
			return fs.SkipDir
		}
		if path.Ext(name) == ".md" || name == "llms.txt" {
			data, err := os.ReadFile(path.Join("..", name))
			pages[name] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	for name, page := range pages {
		for _, l := range link.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
			target, anchor, _ := strings.Cut(l[1], "#")
			if strings.Contains(target, ":") {
				continue // another site's
			}
			followed++
			to := name
			if target != "" {
				to = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(path.Join("..", to)); err != nil {
				t.Errorf("%s links to %s, which there is none of", name, l[1])
			} else if anchor != "" && !anchors(pages[to])[anchor] {
				t.Errorf("%s links to %s: %s has no such heading", name, l[1], to)
			}
		}
	}
	if followed < 100 {
		t.Errorf("%d links were followed", followed)
	}
}
