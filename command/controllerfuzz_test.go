package command

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// fuzzedScenarios lists short incasts that together call every handler of a controller. %[1]s is the controller's file.
var fuzzedScenarios = []string{
	"",
	"switch: {flow_control: cbfc}\ncontrollers: [{name: own, cc: %[1]s, host: {nak_interval: 5us}}]\n",
	"switch: {pfc: {priorities: []}, lossy_limit: 12KB, trim: true}\n" +
		"host: {recovery: selective, retransmit_timeout: 20us, selective: {rto_low: 15us}}\n",
	"switch: {pfc: {priorities: []}, lossy_limit: 9KB}\nhost: {retransmit_timeout: 20us}\n",
	"switch: {ecn: {mode: step, kmin: 5KB, kmax: 5KB, pmax: 1}}\nhost: {ack_when_paused: true, ack_priority: data, cnp_interval: 0s}\n",
	"host: {entropy: random, recovery: selective, retransmit_timeout: 20us}\ncontrollers: [{name: own, cc: %[1]s, host: {ip: ipv6}}, dcqcn]\n",
}

const fuzzedFabric = `topology: {rate: 100Gbps, delay: 500ns, star: {hosts: 4}}
flows:
  - {from: h0..h2, to: h3, size: 20KB}
  - {from: h3, to: h0, size: 5KB, start: 10us}
duration: 60us
`

// FuzzControllerFiles gives a file to validate and to a short run. What validate accepts runs, or fails with the
// controller's own mistake, twice alike; and no controller breaks an invariant. Kinds 0 and 1 are a file's content, 2
// and up changes to the examples'.
func FuzzControllerFiles(f *testing.F) {
	var examples []string
	for _, pattern := range []string{"*.star", "*.wasm"} {
		some, err := filepath.Glob("../examples/controllers/" + pattern)
		if err != nil {
			f.Fatal(err)
		}
		examples = append(examples, some...)
	}
	contents := make([][]byte, len(examples))
	var tokens []string
	for i, path := range examples {
		content, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		contents[i] = content
		kind := uint8(0)
		if filepath.Ext(path) == ".wasm" {
			kind = 1
		} else {
			tokens = append(tokens, starlarkToken.FindAllString(string(content), -1)...)
		}
		for k := range fuzzedScenarios {
			f.Add(kind, uint8(k), content)
		}
		f.Add(uint8(2+i), uint8(i), []byte("the quick brown fox jumps over the lazy dog"))
	}
	slices.Sort(tokens)
	tokens = append(slices.Compact(tokens), "0", "-1", "1e18", "1e300", "never", "True", "None", "[0, 1]", "\"\"")
	f.Fuzz(func(t *testing.T, kind, of uint8, data []byte) {
		name, content := "fuzz.star", data
		switch {
		case kind == 1:
			name = "fuzz.wasm"
		case kind > 1:
			example := int(kind-2) % len(examples)
			if content = contents[example]; filepath.Ext(examples[example]) == ".wasm" {
				name, content = "fuzz.wasm", changedModule(content, data)
			} else {
				content = changedProgram(string(content), tokens, data)
			}
		}
		tryController(t, name, content, fuzzedScenarios[int(of)%len(fuzzedScenarios)])
	})
}

func tryController(t *testing.T, name string, content []byte, settings string) {
	dir := t.TempDir()
	file, spec := filepath.Join(dir, name), filepath.Join(dir, "fuzz.yaml")
	text := fuzzedFabric
	if strings.Contains(settings, "%") {
		settings = fmt.Sprintf(settings, "./"+name)
	}
	if err := errors.Join(os.WriteFile(file, content, 0o600),
		os.WriteFile(spec, []byte(text+settings), 0o600)); err != nil {
		t.Fatal(err)
	}
	controllers := []string{file}
	if strings.Contains(settings, name) {
		controllers = []string{"own"}
	}
	if err := new(validated).validate(spec, nil, controllers); err != nil {
		t.Log(err)
		return
	}
	var prints []string
	for range 2 {
		s, err := scenario.Reading{Controllers: controllers}.Load(spec)
		if err != nil {
			t.Fatalf("after validate: %v", err)
		}
		summary, err := runner.Watch(t.Context(), s,
			runner.Options{Controller: controllers[0], Seed: 1, Processors: 1}, runner.Watching{})
		var panicked *engine.PanicError
		var mistake *controllerfile.Error
		switch {
		case errors.As(err, &panicked):
			if value, ok := panicked.Value.(error); !ok || !errors.As(value, &mistake) {
				t.Errorf("no mistake of the controller's: %v", err)
			}
		case err != nil:
			t.Errorf("validate accepts what a run does not: %v", err)
		case summary.Verdict.Status == measure.Fail:
			for _, message := range summary.Verdict.Messages {
				// a rate of next to nothing fails the run, and its controller is named
				if !strings.HasPrefix(message, "controllers say what can be sent: ") {
					t.Errorf("FAIL: %s", message)
				}
			}
		}
		prints = append(prints, fmt.Sprint(summary.Fingerprint, err))
	}
	if prints[0] != prints[1] {
		t.Errorf("%s, and again %s", prints[0], prints[1])
	}
}

// starlarkToken matches a text, a comment, a word, a number, space, or one other character.
var starlarkToken = regexp.MustCompile(`"[^"\n]*"|#[^\n]*|[A-Za-z_][A-Za-z_0-9.]*|[0-9][0-9.eE]*|\n *|[ \t]+|\S`)

// changedProgram changes a token for every four bytes: most often into another of the same kind, so that the program
// can be read.
func changedProgram(source string, tokens []string, data []byte) []byte {
	all := starlarkToken.FindAllString(source, -1)
	for ; len(data) >= 4; data = data[4:] {
		draw := binary.LittleEndian.Uint32(data)
		at, from := int(draw&0xfff)%len(all), int(draw>>12&0xfff)
		// most often of a function, since few changes of a declaration can be read
		if body := slices.Index(all, "def"); draw>>30 > 0 && body >= 0 {
			at = body + int(draw&0xfff)%(len(all)-body)
		}
		switch draw >> 24 % 64 {
		case 0:
			all = slices.Delete(all, at, at+1)
		case 1:
			all = slices.Insert(all, at, tokens[from%len(tokens)])
		case 2:
			all[at] = all[from%len(all)]
		default:
			for kindOf(all[at]) == "" {
				at = (at + 1) % len(all)
			}
			for i := range tokens {
				if other := tokens[(i+from)%len(tokens)]; kindOf(other) == kindOf(all[at]) {
					all[at] = other
					break
				}
			}
		}
	}
	return []byte(strings.Join(all, ""))
}

// kindOf returns the kind of a token. Tokens of one kind can replace each other. Keywords, texts and brackets have
// none.
func kindOf(token string) string {
	switch {
	case slices.Contains([]string{
		"def", "if", "elif", "else", "for", "in", "while", "and", "or", "not", "return", "pass",
		"lambda",
	}, token):
	case strings.ContainsAny(token[:1], "+-*/%<>"):
		return "operator"
	case token[0] >= '0' && token[0] <= '9':
		return "value"
	case token[0]|0x20 >= 'a' && token[0]|0x20 <= 'z' || token[0] == '_':
		if strings.Contains(token, ".") {
			return "value"
		}
		return "name"
	}
	return ""
}

// changedModule changes a constant or an operation of floating-point numbers for every two bytes, most often so that
// the module stays valid.
func changedModule(module, data []byte) []byte {
	module = slices.Clone(module)
	var constants, operations []int
	from, to := codeOf(module)
	for i := from; i+9 < to; i++ {
		switch op := module[i]; {
		case op == 0x44: // f64.const
			constants = append(constants, i+1)
			i += 8
		case op >= 0xa0 && op <= 0xa6: // f64.add to f64.copysign
			operations = append(operations, i)
		}
	}
	numbers := []float64{
		0, math.Copysign(0, -1), 1, -1, 0.5, 1e9, 1e13, 1e18, 1e300, 5e-324, math.Inf(1), math.Inf(-1),
		math.NaN(),
	}
	for ; len(data) >= 2; data = data[2:] {
		switch at := int(data[0] >> 1); {
		case data[0]&1 == 0 && len(constants) > 0:
			at = constants[at%len(constants)]
			binary.LittleEndian.PutUint64(module[at:], math.Float64bits(numbers[int(data[1])%len(numbers)]))
		case len(operations) > 0:
			module[operations[at%len(operations)]] = 0xa0 + data[1]%7
		}
	}
	return module
}

// codeOf returns where the code section of a module begins and ends.
func codeOf(module []byte) (from, to int) {
	for at := 8; at < len(module); at = to {
		size, n := binary.Uvarint(module[at+1:])
		from, to = at+1+n, at+1+n+int(size)
		if module[at] == 10 {
			break
		}
	}
	return from, to
}
