//go:build linux

package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pausenet/pausenet/command/mcpserver"
	"github.com/pausenet/pausenet/internal/testenv"
)

// modelClient connects the SDK's client with a server in this process, whose calls run in folder.
func modelClient(t *testing.T, folder string) *mcp.ClientSession {
	t.Helper()
	f := mcpFlags{timeout: testenv.Hung, calls: 2}
	here, there := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = mcpserver.Serve(ctx, there, f.options(folder)) // the client has closed it
	}()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		cancel()
		<-ended
	})
	return client
}

// callTool calls a tool, and compares its result with the schema that the server has declared for it.
func callTool(t *testing.T, client *mcp.ClientSession, tool string, arguments map[string]any) (*mcpserver.Reply, string) {
	t.Helper()
	called, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text := called.Content[0].(*mcp.TextContent).Text
	if called.StructuredContent == nil {
		return nil, text
	}
	for each, err := range client.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if each.Name == tool {
			compiler := validator.NewCompiler()
			if err := compiler.AddResource(tool, each.OutputSchema); err != nil {
				t.Fatal(err)
			}
			if err := compiler.MustCompile(tool).Validate(called.StructuredContent); err != nil {
				t.Errorf("%s: %v", tool, err)
			}
		}
	}
	var reply mcpserver.Reply
	if err := json.Unmarshal([]byte(text), &reply); err != nil {
		t.Fatalf("%s: %v\n%s", tool, err, text)
	}
	return &reply, text
}

// TestModelTools drives each tool by the SDK's client.
func TestModelTools(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	client := modelClient(t, folder)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.yaml")
	for _, name := range []string{"secret.yaml", "c.star"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte("password: swordfish\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(folder, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	const mine = "topology: {star: {hosts: 3}}\nflows: [{tag: one, from: h0, to: h2, size: 30KB}]\nduration: 1ms\n"
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		code      int
		want      string // a part of the reply's text
	}{
		{"list", nil, 0, `"name":"incast"`},
		{"list", map[string]any{"cc": true, "names": []string{"dcqcn"}}, 0, `"name":"min_rate"`},
		{"show", map[string]any{"scenario": "incast", "source": true}, 0, `topology:`},
		{"schema", map[string]any{"keys": "switch.pfc"}, 0, `"path":"switch.pfc.xoff"`},
		{"docs", nil, 0, `"page":"headroom"`},
		{"docs", map[string]any{"page": "headroom"}, 0, "check headroom"},
		{"docs", map[string]any{"find": "watchdog"}, 0, `"page":"faults#the-pfc-watchdog"`},
		{"docs", map[string]any{"page": "haedroom"}, 2, `no page \"haedroom\"`},
		{"bound", map[string]any{"scenario": "incast"}, 0, `"mean_fct_bound_ns"`},
		{
			"validate",
			map[string]any{"names": []string{"m.yaml", "wrong.yaml"}, "files": map[string]string{"m.yaml": mine, "wrong.yaml": "star: {host: 3}\n"}},
			2, `"line":1`,
		},
		{
			"run",
			map[string]any{"scenarios": []string{"m.yaml"}, "cc": []string{"none"}, "why": true, "set": []string{"flows.0.size=20KB"}, "seed": 7},
			0, `"folder":"results/m/none"`,
		},
		{"why", map[string]any{"folder": "results/m/none", "flow": "one"}, 0, `"tag":"one"`},
		{
			"compare",
			map[string]any{"a": "none", "b": "dcqcn", "scenarios": []string{"m.yaml"}, "seeds": "1..2", "metrics": "fct_mean"},
			0, `"identical_pairs"`,
		},
		{"compare", map[string]any{"a": "/bin/true", "b": "/bin/false"}, 2, "/bin/true is a program, which may not run here"},
		{"search", map[string]any{"family": "n.yaml"}, 2, "search"},
		{"tune", map[string]any{"family": "m.yaml"}, 2, "tune"},
		{"run", map[string]any{"scenarios": []string{"incost"}}, 2, `did you mean \"incast\"`},
		// Messages quote files, so no file of the machine may be read.
		{"validate", map[string]any{"names": []string{secret}}, 2, "is outside of "},
		{"show", map[string]any{"scenario": secret}, 2, "is outside of "},
		{"show", map[string]any{"scenario": "link.yaml", "source": true}, 2, "is outside of "},
		{"run", map[string]any{"scenarios": []string{"incast"}, "cc": []string{filepath.Join(outside, "c.star")}}, 2, "is outside of "},
		{
			"validate",
			map[string]any{"names": []string{"ref.yaml"}, "files": map[string]string{"ref.yaml": "topology: " + secret + "\n"}},
			2, "is outside of ",
		},
	} {
		reply, text := callTool(t, client, c.tool, c.arguments)
		if strings.Contains(text, "password") {
			t.Errorf("%s %v: got %s, which quotes a file outside of the folder", c.tool, c.arguments, text)
		}
		if reply == nil || reply.ExitCode != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s %v:\n%s\nwant %q and exit code %d", c.tool, c.arguments, text, c.want, c.code)
		}
	}
	if text, err := os.ReadFile(filepath.Join(folder, "m.yaml")); err != nil || string(text) != mine {
		t.Errorf("the file of the call: %q, %v", text, err)
	}
	// Mistakes in the arguments, of which no command is run.
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"run", map[string]any{"scenarios": []string{"incast"}, "out": "/tmp"}, `no parameter "out" (run has: cc, files, jobs, quick`},
		{"run", nil, "scenarios is missing: names of built-in"},
		{"run", map[string]any{"scenarios": 3}, "scenarios: expected a list of texts, got 3"},
		{"run", map[string]any{"scenarios": []string{"incast"}, "seed": 1.5}, "seed: expected an integer, got 1.5"},
		{"schema", nil, "keys is missing: print the keys below"},
		{"validate", map[string]any{"names": "x", "files": map[string]string{"../x": ""}}, `"../x" is not below the server's folder`},
	} {
		called, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.arguments})
		if err != nil {
			t.Fatal(err)
		}
		if text := called.Content[0].(*mcp.TextContent).Text; !called.IsError || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: %q, want %q", c.tool, c.arguments, text, c.want)
		}
	}
}

// TestModelResources reads all resources.
func TestModelResources(t *testing.T) {
	t.Parallel()
	client := modelClient(t, t.TempDir())
	var all []string
	for r, err := range client.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		read, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: r.URI})
		if err != nil || read.Contents[0].Text == "" {
			t.Errorf("%s: %v", r.URI, err)
		}
		all = append(all, r.URI)
	}
	for _, want := range []string{"pausenet://docs/scenarios", "pausenet://docs/schemes/dcon", "pausenet://scenarios/incast"} {
		if !slices.Contains(all, want) {
			t.Errorf("no resource %s in %q", want, all)
		}
	}
}

// TestModelCancels checks that a cancelled call ends its process, which keeps its results, and that the server goes on.
func TestModelCancels(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	client := modelClient(t, folder)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	manifest := filepath.Join(folder, "results/endless/none/manifest.json")
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(manifest); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	endless := "topology: {star: {hosts: 3}}\nflows: [{from: h0, to: h2, size: 100TB, expect_unfinished: true}]\nduration: 1000s\n"
	if called, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "run", Arguments: map[string]any{
		"scenarios": "endless.yaml", "cc": "none", "files": map[string]string{"endless.yaml": endless},
	}}); err == nil {
		t.Fatalf("a call that should have been cancelled has a result: %s", called.Content[0].(*mcp.TextContent).Text)
	}
	if reply, text := callTool(t, client, "schema", map[string]any{"keys": "."}); reply == nil || reply.ExitCode != 0 {
		t.Errorf("after a cancelled call: %s", text)
	}
	for { // the process ends after the call
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(manifest), "summary.json")); err == nil {
			if !strings.Contains(string(text), `"partial": true`) {
				t.Errorf("the results are not marked partial:\n%s", text)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
