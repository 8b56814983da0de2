//go:build linux

package liveview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// mostAsked bounds a request, and mostSaid what is given back of what the fabric's shell prints.
const mostAsked, mostSaid = 1 << 12, 1 << 16

// change is something that a page may have the fabric do: a verb of its shell, which can do more.
type change struct {
	name   string
	fields []string // that it takes, all of them, but for those in brackets
	line   func(of map[string]string) string
}

var changes = []change{
	{"flow", []string{"from", "to", "size", "[cc]"}, func(of map[string]string) string {
		return fmt.Sprintf("flow %s %s %s%s &", of["from"], of["to"], of["size"], ccWord(of))
	}},
	{"incast", []string{"senders", "to", "size", "[cc]"}, func(of map[string]string) string {
		return fmt.Sprintf("incast %s %s %s%s &", of["senders"], of["to"], of["size"], ccWord(of))
	}},
	{"start", []string{"[tag]"}, func(of map[string]string) string {
		return strings.Join(strings.Fields("start "+of["tag"]+" &"), " ")
	}},
	{"link", []string{"a", "b", "state"}, func(of map[string]string) string {
		return fmt.Sprintf("link %s %s %s", of["a"], of["b"], of["state"])
	}},
	{"pfc-storm", []string{"host", "state"}, func(of map[string]string) string {
		return fmt.Sprintf("host %s pfc-storm %s", of["host"], of["state"])
	}},
	{"set", []string{"node", "setting", "value"}, func(of map[string]string) string {
		return fmt.Sprintf("set %s.%s=%s", of["node"], of["setting"], of["value"])
	}},
}

func ccWord(of map[string]string) string {
	if of["cc"] == "" {
		return ""
	}
	return " cc=" + of["cc"]
}

// word is what a field may be: the shell takes it as one word, and as no other's.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+%-]{0,99}$`)

// valueWord is what a setting may be set to: {detect: 200us, restore: 500us} too.
var valueWord = regexp.MustCompile(`^[A-Za-z0-9\[{][A-Za-z0-9_.:,%+{}\[\] -]{0,199}$`)

// lineOf is the line of the fabric's shell that does what a page has asked for. What it names has to be there: a line
// of the shell may also be a program on a node.
func (h *head) lineOf(of map[string]string) (string, error) {
	names := make([]string, len(changes))
	for i := range changes {
		names[i] = changes[i].name
	}
	at := slices.Index(names, of["do"])
	if at < 0 {
		return "", fmt.Errorf("%q is nothing that a page can have done: it can %s", of["do"], strings.Join(names, ", "))
	}
	c := &changes[at]
	if slices.ContainsFunc(h.Nodes, func(n node) bool { return n.Name == c.verb() }) {
		return "", fmt.Errorf("a node of this fabric is named %s, like the command: use the shell", c.verb())
	}
	for field, value := range of {
		if field == "do" {
			continue
		}
		if !slices.Contains(c.fields, field) && !slices.Contains(c.fields, "["+field+"]") {
			return "", fmt.Errorf("%s: %s does not take it, and it would have no effect", field, c.name)
		}
		if err := h.check(c, field, value); err != nil {
			return "", err
		}
	}
	for _, field := range c.fields {
		if of[field] == "" && !strings.HasPrefix(field, "[") {
			return "", fmt.Errorf("%s: %s needs it", field, c.name)
		}
	}
	return c.line(of), nil
}

// verb is the first word of its line.
func (c *change) verb() string {
	if c.name == "pfc-storm" {
		return "host"
	}
	return c.name
}

// check checks a field's value, as far as it is not the shell that does.
func (h *head) check(c *change, field, value string) error {
	fine := word
	if field == "value" {
		fine = valueWord
	}
	if value != "" && !fine.MatchString(value) {
		return fmt.Errorf("%s: %q is none", field, value)
	}
	one := func(of []string) error {
		if slices.Contains(of, value) {
			return nil
		}
		return fmt.Errorf("%s: no %q%s", field, value, yamlspec.Suggest(value, of))
	}
	switch field {
	case "a", "b", "from", "to", "host", "node":
		var names []string
		for _, n := range h.Nodes {
			names = append(names, n.Name)
		}
		if field == "node" {
			names = append(names, "switch")
		}
		return one(names)
	case "state":
		if c.name == "link" {
			return one([]string{"up", "down"})
		}
		return one([]string{"on", "off"})
	case "setting":
		return one(h.Settings)
	}
	return nil
}

// did answers a change. One that the fabric refuses is no error of HTTP, which a browser would put into its console.
type did struct {
	Line  string `json:"line"` // as the shell would take it
	Said  string `json:"said,omitempty"`
	Error string `json:"error,omitempty"`
}

// serveChange has the fabric do what the page asks for.
func (p *Page) serveChange(w http.ResponseWriter, r *http.Request) {
	if !p.changes {
		http.Error(w, "this page may look alone: serve it with --web=rw to change the fabric", http.StatusForbidden)
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "what is to be done is application/json", http.StatusUnsupportedMediaType)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostAsked))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	var of map[string]string
	if err := json.Unmarshal(data, &of); err != nil {
		http.Error(w, "not a request: an object of texts is one", http.StatusBadRequest)
		return
	}
	line, err := p.head.lineOf(of)
	if err != nil {
		answer(w, did{Error: err.Error()})
		return
	}
	if !p.changing.TryLock() {
		answer(w, did{Line: line, Error: "another change is under way: try again"})
		return
	}
	defer p.changing.Unlock()
	said, err := p.do(line)
	d := did{Line: line, Said: said}
	if err != nil {
		d.Error = err.Error()
	}
	answer(w, d)
}

func answer(w http.ResponseWriter, d did) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d) // a browser that has gone away is no mistake
}

// do has the fabric's shell do a line.
func (p *Page) do(line string) (said string, err error) {
	c, err := live.Dial(p.fabric)
	if err != nil {
		return "", err
	}
	defer c.Close()
	var out bytes.Buffer
	err = c.Do(line, &out)
	return string(out.Bytes()[:min(out.Len(), mostSaid)]), err
}
