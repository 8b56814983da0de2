package controllerfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/controllerfile"

	_ "github.com/pausenet/pausenet/controllerfile/star"
	_ "github.com/pausenet/pausenet/controllerfile/wasm"
)

const examples = "../examples/controllers/"

// TestExamplesConform: every example obeys the rules of the NIC.
func TestExamplesConform(t *testing.T) {
	entries, err := os.ReadDir(examples)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range entries {
		if !controllerfile.Is(e.Name()) {
			continue
		}
		found++
		spec, err := controllerfile.Read(examples + e.Name())
		if err == nil {
			_, err = controllerfile.Check(spec)
		}
		if err != nil {
			t.Errorf("%s: %v", e.Name(), err)
		}
	}
	if found < 7 {
		t.Errorf("%d examples", found)
	}
}

// TestCheckFinds: Check reports a controller's violation of a rule, with the event before it.
func TestCheckFinds(t *testing.T) {
	const start = "def init(flow):\n    flow.rate = path.line_rate\n    flow.n = 0\n"
	for source, want := range map[string]string{
		start + "def on_ack(flow, ack):\n    flow.rate += 40 * Mbps\n": "after an ACK (RTT ",
		start + "def on_cnp(flow, cnp):\n    flow.rate /= 2\n":         "a CNP with ue and without ce, from a port that may not be congested",
		"params = {\"min_rate\": rate(\"line/10\")}\n" + start +
			"def on_cnp(flow, cnp):\n    if cnp.ce:\n        flow.rate /= 2\n": "below min_rate, 4e+09",
		start + "def on_ack(flow, ack):\n    flow.n += 1\n    if flow.n > 100:\n" +
			"        flow.n = 1 / 0\n": "x.star:7:20: in on_ack: floating-point division by zero",
		start + "def on_nak(flow, now):\n    flow.timer = now + 1 * us\ndef on_timer(flow, now):\n" +
			"    flow.timer = now - 1 * us\n": "it leaves the timer at",
	} {
		spec, err := controllerfile.Parse("x.star", []byte(source), nil)
		if err == nil {
			_, err = controllerfile.Check(spec)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s\nof\n%s", err, want, source)
		}
	}
}

// TestCheckWarns: rates and windows that are allowed but below a packet are warned of.
func TestCheckWarns(t *testing.T) {
	for body, want := range map[string]string{
		"flow.rate = 10 * Mbps":                    "",
		"flow.rate = flow.rate / 2 + bps":          "on a line of 40Gbps with a base RTT of 40us the rate falls to ",
		"flow.window = path.mtu / 2 + 0 * ack.rtt": "the window falls to 500 B, less than a packet of 1000 B",
		"flow.window = path.mtu":                   "",
	} {
		source := "def init(flow):\n    flow.rate = path.line_rate\ndef on_ack(flow, ack):\n    " + body + "\n"
		spec, err := controllerfile.Parse("x.star", []byte(source), nil)
		if err != nil {
			t.Fatal(err)
		}
		warnings, err := controllerfile.Check(spec)
		if got := strings.Join(warnings, "\n"); err != nil || !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
}

// TestNew: what New writes is a controller that conforms; where a compiler is there, in every language it is for.
func TestNew(t *testing.T) {
	for _, language := range controllerfile.Languages() {
		path := filepath.Join(t.TempDir(), "mine")
		next, err := controllerfile.New(path, language)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(next, "\n")
		controller := path + ".star"
		if language != "starlark" {
			controller = path + ".wasm"
			build := strings.Fields(lines[2])
			if out, err := exec.Command(build[0], build[1:]...).CombinedOutput(); err != nil {
				t.Logf("%s: %v\n%s", lines[2], err, out)
				continue
			}
		}
		spec, err := controllerfile.Read(controller)
		if err == nil {
			_, err = controllerfile.Check(spec)
		}
		if err != nil || !strings.Contains(spec.Summary, "mine: ") || len(spec.Parameters) != 3 {
			t.Errorf("%s: %v", language, err)
		}
		if _, err := controllerfile.New(path, language); err == nil || !strings.Contains(err.Error(), "is there already") {
			t.Errorf("%s: %v", language, err)
		}
	}
}

// TestHeader: the examples' header equals the one that New writes.
func TestHeader(t *testing.T) {
	theirs, err := os.ReadFile(examples + "pausenet.h")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile("templates/pausenet.h")
	if err != nil || string(ours) != string(theirs) {
		t.Errorf("%v: examples/controllers/pausenet.h and controllerfile/templates/pausenet.h differ: copy one over the other", err)
	}
}
