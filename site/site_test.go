package site

import (
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// page holds what links need of a page.
type page struct {
	links []string
	ids   map[string]bool
}

// read collects the links and ids of a page, and reports elements that a page must have once.
func read(t *testing.T, file string) page {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	root, err := html.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	p := page{ids: map[string]bool{}}
	headings := 0
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "h1" {
			headings++
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				p.ids[a.Val] = true
			case "href", "src":
				p.links = append(p.links, a.Val)
			}
		}
	}
	if headings != 1 {
		t.Errorf("%s: %d headings of the first level", file, headings)
	}
	return p
}

// namesFile matches a link to a page whose text is the name of the page's file.
var namesFile = regexp.MustCompile(`<a href="\.[^"]*"[^>]*>[^<]*\.md</a>`)

// TestSite builds the site and follows every link between its pages. The playground is another build, which make site
// puts beside it.
func TestSite(t *testing.T) {
	folder := t.TempDir()
	if out, err := exec.Command("go", "tool", "hugo", "--panicOnWarning", "--destination",
		folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pages := map[string]page{}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".html") {
			below, _ := filepath.Rel(folder, file)
			pages[filepath.ToSlash(below)] = read(t, file)
			text, _ := os.ReadFile(file)
			for _, link := range namesFile.FindAll(text, -1) {
				t.Errorf("%s: %s shows the name of a file, want the page's title", below, link)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	for name, p := range pages {
		for _, link := range p.links {
			u, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			to := path.Join(path.Dir(name), u.Path)
			switch {
			case u.Path == "":
				to = name
			case strings.HasSuffix(u.Path, "/"):
				to = path.Join(to, "index.html")
			}
			if u.Scheme != "" || to == "playground/index.html" {
				continue
			}
			followed++
			if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(to))); err != nil {
				t.Errorf("%s links to %s: no file %s", name, link, to)
			} else if u.Fragment != "" && !pages[to].ids[u.Fragment] {
				t.Errorf("%s links to %s: %s has no such heading", name, link, to)
			}
		}
	}
	if len(pages) < 50 || followed < 1000 {
		t.Errorf("%d links of %d pages were followed", followed, len(pages))
	}
}
