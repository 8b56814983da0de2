package mcpserver

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// TestLines checks that a line that is no message gets an error of JSON-RPC (-32700: no JSON; -32600: no request), and
// that the connection goes on: the ping after each line is answered.
func TestLines(t *testing.T) {
	in, send := io.Pipe()
	receive, out := io.Pipe()
	done := make(chan error)
	go func() {
		done <- Serve(t.Context(), Stdio(in, out), &Options{Root: &cobra.Command{}, Calls: 1})
	}()
	answers := bufio.NewScanner(receive)
	answers.Buffer(nil, 1<<20)
	ask := func(line string) (id any, code float64) {
		if _, err := io.WriteString(send, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() {
			t.Fatalf("%.80s ended the connection: %v", line, answers.Err())
		}
		var got struct {
			ID    any
			Error struct{ Code float64 }
		}
		if err := json.Unmarshal(answers.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v", answers.Text(), err)
		}
		return got.ID, got.Error.Code
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}}`)
	for _, c := range []struct {
		line string
		id   any
		code float64
	}{
		{`{"jsonrpc":"2.0","id":7,`, nil, -32700},
		{"hello", nil, -32700},
		{`{"jsonrpc":"2.0","id":7,"method":"ping"} {}`, nil, -32700},
		{"\x00\xff", nil, -32700},
		{strings.Repeat("[", 100_000), nil, -32700},
		{`"` + strings.Repeat("x", mcp.DefaultMaxLineLength) + `"`, nil, -32600},
		{"42", nil, -32600},
		{"null", nil, -32600},
		{`{"id":"a","method":"ping"}`, "a", -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, -32600},
		{`{"jsonrpc":"2.0","id":8,"method":5}`, 8.0, -32600},
		{`[{"jsonrpc":"2.0","id":9,"method":"ping"}]`, nil, -32600},
		{`{"jsonrpc":"2.0","id":10,"method":"nothing"}`, 10.0, -32601},
		{" \r\n" + `{"jsonrpc":"2.0","id":11,"method":"ping"}` + "\r", 11.0, 0},
	} {
		if id, code := ask(c.line); id != c.id || code != c.code {
			t.Errorf("%.80s: got an answer to %v with code %v, want %v and %v", c.line, id, code, c.id, c.code)
		}
		if id, code := ask(`{"jsonrpc":"2.0","id":"next","method":"ping"}`); id != "next" || code != 0 {
			t.Errorf("after %.80s: got an answer to %v with code %v", c.line, id, code)
		}
	}
	send.Close()
	if err := <-done; err != nil {
		t.Errorf("at the end of the input: %v", err)
	}
}
