// Package mcpserver serves commands as tools of the Model Context Protocol, to language models and their clients.
//
// A row of a table (Tool) makes a tool of a command. Each call runs in a process of its own, which ends with the call:
// when the client cancels it, when its time is over, or with the server.
package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// Options describe a server.
type Options struct {
	Version      string
	Instructions string // for the client's language model
	Root         *cobra.Command
	Tools        []Tool
	Resources    []Resource
	Folder       string        // calls run here, and write below it
	Timeout      time.Duration // limits each call
	Calls        int           // limits the calls at a time; further ones wait
}

// Resource represents a text that clients can read.
type Resource struct {
	URI, Name, About, MIME string
	Read                   func() ([]byte, error)
}

// Reply holds the structured result of a call.
type Reply struct {
	ExitCode int             `json:"exit_code"`
	Result   json.RawMessage `json:"result,omitempty"` // what the command printed: its JSON, or its text as a JSON string
	Messages string          `json:"messages"`         // standard error
}

// Serve answers a client until it closes the connection, or ctx is cancelled. All calls have ended when it returns.
func Serve(ctx context.Context, transport mcp.Transport, o *Options) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &server{Options: o, ctx: ctx, free: make(chan struct{}, o.Calls)}
	defer s.calls.Wait()
	defer cancel()
	impl := mcp.NewServer(&mcp.Implementation{Name: "pausenet", Version: o.Version},
		&mcp.ServerOptions{Instructions: o.Instructions, Capabilities: &mcp.ServerCapabilities{}})
	for i := range o.Tools {
		if err := s.add(impl, &o.Tools[i]); err != nil {
			return err
		}
	}
	for _, r := range o.Resources {
		impl.AddResource(&mcp.Resource{URI: r.URI, Name: r.Name, Description: r.About, MIMEType: r.MIME},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				text, err := r.Read()
				if err != nil {
					return nil, err
				}
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
					{URI: r.URI, MIMEType: r.MIME, Text: string(text)},
				}}, nil
			})
	}
	return impl.Run(ctx, transport)
}

// server is a server at work.
type server struct {
	*Options
	ctx   context.Context // of the connection
	calls sync.WaitGroup
	free  chan struct{} // holds an element for each call at work
}

func (s *server) add(to *mcp.Server, t *Tool) error {
	parameters, err := t.parameters(s.Root)
	if err != nil {
		return err
	}
	output, err := t.output()
	if err != nil {
		return err
	}
	c, _, err := s.Root.Find(strings.Fields(t.Command))
	if err != nil {
		return err
	}
	about := c.Short + "."
	if t.About != "" {
		about += " " + t.About
	}
	to.AddTool(&mcp.Tool{
		Name: t.name(), Description: about, InputSchema: t.input(parameters), OutputSchema: output,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: !t.Writes && !t.Files, DestructiveHint: new(false), IdempotentHint: true, OpenWorldHint: new(false),
		},
	}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		words, files, err := t.words(parameters, r.Params.Arguments)
		if err == nil {
			err = s.write(files)
		}
		if err != nil {
			return failed(err), nil
		}
		return s.call(ctx, t, words)
	})
	return nil
}

// failed returns the result of a call that the client can repeat without its mistake.
func failed(err error) *mcp.CallToolResult {
	var r mcp.CallToolResult
	r.SetError(err)
	return &r
}

// write writes a call's files below the server's folder.
func (s *server) write(files map[string]string) error {
	if len(files) == 0 {
		return nil
	}
	folder, err := os.OpenRoot(s.Folder)
	if err != nil {
		return err
	}
	defer folder.Close()
	for name, text := range files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("%s: %q is not below the server's folder (use a plain name, such as mine.yaml)",
				filesParameter, name)
		}
		if err := folder.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return fmt.Errorf("%s: %w", filesParameter, err)
		}
		if err := folder.WriteFile(name, []byte(text), 0o666); err != nil {
			return fmt.Errorf("%s: %w", filesParameter, err)
		}
	}
	return nil
}

// call runs a command to its end.
func (s *server) call(ctx context.Context, t *Tool, words []string) (*mcp.CallToolResult, error) {
	s.calls.Add(1)
	defer s.calls.Done()
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	select {
	case s.free <- struct{}{}:
		defer func() { <-s.free }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	done, err := run(ctx, s.Folder, words)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failed(
			fmt.Errorf("the call was ended after %v: %s\nUse a smaller scenario, or start the server with a larger "+
				"--timeout", s.Timeout, done.complaints)), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return failed(err), nil
	}
	reply := Reply{ExitCode: done.code, Messages: done.complaints}
	switch {
	case t.Text && done.code == 0:
		if reply.Result, err = json.Marshal(done.out); err != nil {
			return nil, err
		}
	case !t.Text && json.Valid([]byte(done.out)):
		reply.Result = json.RawMessage(done.out)
	}
	text, err := json.Marshal(reply)
	if err != nil {
		return nil, err
	}
	// A command that has printed a result has done its work, even if the verdict is FAIL or a file has mistakes.
	return &mcp.CallToolResult{
		StructuredContent: json.RawMessage(text), Content: []mcp.Content{&mcp.TextContent{Text: string(text)}},
		IsError: done.code != 0 && reply.Result == nil,
	}, nil
}
