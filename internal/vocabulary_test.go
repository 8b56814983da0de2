package internal

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// term is what the project said where the field has another word.
type term struct {
	was string // phrases, with | between; each of words in lower case, as wordsOf takes identifiers apart
	now string
	in  []string // only in files below these; nil: in all
	but []exception
}

// exception is where a term is right. Whoever adds one says why.
type exception struct {
	in  string // a file, or a folder with its /; empty: any
	has string // what the line has; empty: any
}

// pipelines are where the pipelines and what drives them are, and the pages about them.
var pipelines = []string{
	"ebpf/", "orchestrator/", "switchagent/", "docs/architecture.md", "docs/glossary.md",
	"docs/live.md",
}

// vocabulary has the left column of the project's former words. docs/glossary.md says what the others mean.
var vocabulary = []term{
	{was: "crossing|crossings|plane cross|cross live", now: "pipeline pass"},
	{was: "tick|ticks|ticking", now: "generated packet, or trigger", in: pipelines, but: []exception{
		{"orchestrator/kernel/process.go", "clock ticks"}, // proc(5)'s
	}},
	{was: "held", now: "buffered, paused or stalled, as is meant", but: []exception{
		{"experiments/live/", "old name"}, // of a metric, or a key of inspect's
		{"", "eld-out"},                   // held-out data, the word of statistics and machine learning
		{"", "HeldOut"},
		{"", "held_out"},
	}},
	{was: "circle|circles", now: "cycle"},
	{was: "ordinary", now: "host-stack traffic"},
	{was: "of the wall", now: "wall-clock time"},
	{was: "law|laws", now: "invariant", but: []exception{
		{"", "PID law"}, // a control law
		{"", "control law"},
	}},
	{was: "books", now: "final check"},
	{was: "rooms|room of", now: "package"},
	{was: "fence|fences|fenced", now: "import rule", but: []exception{
		{"internal/links_test.go", "fenced"}, // code in Markdown
		{"verbs/c/", "FENCE"},                // a flag of work requests (IBTA volume 1 section 10.8.3.3)
		{"orchestrator/verbs/", "Fence"},     // the same
		{"orchestrator/wallclock/", "Fence"}, // the same
		{"hostagent/", "Fence"},              // the fence indicator of a work request (IBTA volume 1 section 10.8.3.3)
	}},
	{was: "rim|rims", now: "target-specific entry points"},
	{was: "innocent|innocents", now: "note_uncongested"},
	{was: "enlist|enlisted|unlist|unlisted", now: "flow_list_add, flow_list_remove"},
	{was: "widest|widen", now: "max_fanout, update_max_fanout", in: []string{"ebpf/"}},
	{was: "twentieth|twentieths|size share|size shares|by share", now: "5 % bin by flow size, size_bin"},
	{was: "may idle", now: "expect_unused"},
	{was: "knob|knobs", now: "setting"},
	{was: "go before|goes before|going before|went before", now: "takes precedence over, or is sent before"},
	{was: "as of", now: "same as for"},
	// buffers have some
	{
		was: "cell|cells", now: "synchronisation window",
		in: []string{"ebpf/", "orchestrator/", "docs/architecture.md", "docs/live.md"},
	},
	{was: "settle|settles|settled", now: "barrier", in: pipelines},
	{was: "take turns|takes turns|took turns", now: "phase", in: pipelines},
	{was: "patience", now: "timeout"},
	{was: "a look|each look|every look|per look|two looks|between looks|s look", now: "poll"},
	{was: "mad", now: "malfunctioning", but: []exception{
		{"", "infiniband.mad"}, // a field of Wireshark's
	}},
	{was: "flood of pause|floods of pause|pause flood|pause floods", now: "PFC storm", but: []exception{
		{"experiments/live/hostfault.go", `case "pfc-storm", "pause-flood"`}, // accept it
		{"experiments/live/event.go", "oldKinds"},
		{"experiments/live/change_test.go", "pause"},
	}},
	{was: "guard|guards", now: "namespace init"},
	{was: "backplane|backplanes", now: "hub namespace"},
	{was: "overshoot|overshoots", now: "peak occupancy"},
	{was: "crew|crews", now: "workers, or a pool of them"},
	// modules of ports, virtual lanes and pictures have some
	{was: "lane|lanes", now: "worker", in: []string{
		"orchestrator/", "internal/workers/", "experiments/sweep/", "docs/architecture.md", "docs/decisions/030-workers.md",
	}},
	// memory has some
	{was: "region|regions", now: "partition", in: []string{
		"orchestrator/engine/", "experiments/observe/provenance/", "docs/architecture.md", "docs/glossary.md",
		"docs/decisions/030-workers.md",
	}},
}

// textWord is a word of a text. What is neither a letter, a digit, a joint of an identifier nor white space is one of
// its own: no phrase goes over it.
type textWord struct {
	word string
	line int // from 1
}

// wordsOf takes a text apart into words in lower case: DrawCircle and draw_circle are draw and circle. A comment's sign
// at the beginning of a line is none, so that a phrase may go on in the next line.
func wordsOf(text string) []textWord {
	var all []textWord
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimLeft(line, " \t/*#>")
		start := -1
		end := func(at int) {
			if start >= 0 {
				all = append(all, textWord{strings.ToLower(line[start:at]), i + 1})
			}
			start = -1
		}
		for k := 0; k < len(line); k++ {
			switch c := line[k]; {
			case c == ' ' || c == '\t' || c == '_' || c == '-' || c == '\'':
				end(k)
			case !letter(c):
				end(k)
				all = append(all, textWord{string(c), i + 1})
			case start >= 0 && upper(c) && (!upper(line[k-1]) || k+1 < len(line) && letter(line[k+1]) && !upper(line[k+1])):
				end(k)
				start = k
			case start < 0:
				start = k
			}
		}
		end(len(line))
	}
	return all
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

// letter also says that of digits, and of what is not ASCII.
func letter(c byte) bool {
	return upper(c) || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 0x80
}

// phrase is one of a term's.
type phrase struct {
	words []string
	term  *term
}

// phrases are those of the vocabulary, by the first word.
func phrases() map[string][]phrase {
	all := map[string][]phrase{}
	for i := range vocabulary {
		for _, was := range strings.Split(vocabulary[i].was, "|") {
			words := strings.Fields(was)
			all[words[0]] = append(all[words[0]], phrase{words, &vocabulary[i]})
		}
	}
	return all
}

// at says whether the phrase begins at the first of some words.
func (p *phrase) at(words []textWord) bool {
	return len(words) >= len(p.words) && slices.EqualFunc(p.words, words[:len(p.words)],
		func(w string, t textWord) bool { return w == t.word })
}

// holds says whether the exception is for a line of a file.
func (e exception) holds(name, line string) bool {
	in := name == e.in || strings.HasSuffix(e.in, "/") && strings.HasPrefix(name, e.in) || e.in == ""
	return in && strings.Contains(line, e.has)
}

// reader finds what has another name, and notes which exceptions there were.
type reader struct {
	phrases map[string][]phrase
	used    map[exception]bool
}

// misnomers are where a text, or its file's name, has what the field has another word for.
func (r *reader) misnomers(name, text string) []string {
	var all []string
	lines := strings.Split(name+"\n"+text, "\n")
	words := wordsOf(name + "\n" + text)
	for i := range words {
		for _, p := range r.phrases[words[i].word] {
			if !p.at(words[i:]) || p.term.in != nil && !slices.ContainsFunc(p.term.in,
				func(in string) bool { return strings.HasPrefix(name, in) }) {
				continue
			}
			line := lines[words[i].line-1]
			if k := slices.IndexFunc(p.term.but, func(e exception) bool { return e.holds(name, line) }); k >= 0 {
				r.used[p.term.but[k]] = true
				continue
			}
			all = append(all, fmt.Sprintf("%s:%d: %q: the field's word is %s (docs/glossary.md): %s",
				name, words[i].line-1, strings.Join(p.words, " "), p.term.now, strings.TrimSpace(line)))
		}
	}
	return all
}

// TestVocabulary: code, output and documents have the words of docs/glossary.md, and not those that it took the place
// of.
func TestVocabulary(t *testing.T) {
	r := reader{phrases(), map[exception]bool{}}
	files := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if entry.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") && name != ".github" || name == "bin" || name == "results" ||
				base == "rapid") {
				return fs.SkipDir
			}
			// What somebody who does exercises here writes (docs/course.md) is theirs.
			if _, err := os.Stat(path.Join("..", name, "lab.yaml")); err == nil || name == "submissions" || name == "grades" {
				return fs.SkipDir
			}
			return nil
		}
		switch path.Ext(name) {
		case ".go", ".c", ".h", ".md", ".yaml", ".yml", ".txtar", ".sh", ".py", ".html", ".js", ".css", ".golden":
		case ".json":
			if path.Dir(name) != "docs/schema" {
				return nil // numbers
			}
		default:
			return nil
		}
		if name == "internal/vocabulary_test.go" || name == "playground/site/page/editor.js" {
			return nil // the table itself, and others' code
		}
		data, err := os.ReadFile(path.Join("..", name))
		if err != nil {
			return err
		}
		files++
		for _, m := range r.misnomers(name, string(data)) {
			t.Error(m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 700 {
		t.Errorf("%d files were read: is this the repository?", files)
	}
	for i := range vocabulary {
		for _, e := range vocabulary[i].but {
			if !r.used[e] {
				t.Errorf("%q: there is nothing any more that the exception %q is for", vocabulary[i].was, e)
			}
		}
	}
}

// TestVocabularyFinds: each phrase is found, in prose, over a line's end, and as an identifier; and only whole words
// are.
func TestVocabularyFinds(t *testing.T) {
	r := reader{phrases(), map[exception]bool{}}
	for i := range vocabulary {
		name := "ebpf/x.go"
		if in := vocabulary[i].in; in != nil {
			name = path.Join(in[0], "x.go")
		}
		for _, was := range strings.Split(vocabulary[i].was, "|") {
			words := strings.Fields(was)
			camel, split := "do", strings.Join(words, "\n\t// ")
			for _, w := range words {
				camel += strings.ToUpper(w[:1]) + w[1:]
			}
			for _, text := range []string{
				"// So " + was + ".", "\t// So " + split + ",", camel + "(1)",
				"static int " + strings.Join(words, "_") + "_at;",
			} {
				if got := r.misnomers(name, text); len(got) == 0 ||
					!strings.Contains(strings.Join(got, "\n"), vocabulary[i].now) {
					t.Errorf("%q is not found in %q: %q", was, text, got)
				}
			}
		}
	}
	for text, want := range map[string]int{
		"flawed, sticky, trimmed, upheld": 0, "HTTPLaw": 1, "of the, wall": 0, "as of run, as of `run`": 2, "PID law": 0,
		"The law": 1, "tickLaw": 1,
	} {
		if got := r.misnomers("x.go", text); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
	if got := r.misnomers("orchestrator/engine/circle.go", ""); len(got) != 1 {
		t.Errorf("a file's name: %q", got)
	}
}
