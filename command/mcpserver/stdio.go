package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stdio returns the transport of a client that sends one message per line to in, and reads from out. The SDK's own
// transport closes the connection at a line that is not a message. This one answers the line with an error and
// continues (JSON-RPC 2.0, section 5.1).
func Stdio(in io.ReadCloser, out io.Writer) mcp.Transport {
	w := &sharedWriter{out: out}
	return &mcp.IOTransport{Reader: &messageReader{Closer: in, lines: bufio.NewReader(in), out: w}, Writer: w}
}

// sharedWriter lets several goroutines write whole messages. Close leaves the output open.
type sharedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *sharedWriter) Close() error { return nil }

func (w *sharedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// messageReader passes on lines that are messages of JSON-RPC, and answers others.
type messageReader struct {
	io.Closer
	lines *bufio.Reader
	out   io.Writer
	rest  []byte // of the line that the reader passes on
}

func (r *messageReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.line()
		if len(bytes.TrimSpace(line)) > 0 {
			if refusal := refuse(line); refusal == nil {
				r.rest = append(bytes.TrimSpace(line), '\n')
			} else if _, err := r.out.Write(refusal); err != nil {
				return 0, err
			}
		}
		if err != nil && len(r.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// line returns the next line. If it is longer than mcp.DefaultMaxLineLength, line returns only its first bytes, just
// beyond that length.
func (r *messageReader) line() (line []byte, err error) {
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(line) <= mcp.DefaultMaxLineLength {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// refuse returns the answer to a line that is no message of JSON-RPC, nil for a message.
func refuse(line []byte) []byte {
	var value json.RawMessage
	code, problem := int64(jsonrpc.CodeInvalidRequest), ""
	_, err := jsonrpc.DecodeMessage(line)
	switch parsed := json.Unmarshal(line, &value); {
	case len(line) > mcp.DefaultMaxLineLength:
		problem = fmt.Sprintf("the message is longer than %d bytes", mcp.DefaultMaxLineLength)
	case parsed != nil:
		code, problem = jsonrpc.CodeParseError, parsed.Error()
	case bytes.HasPrefix(bytes.TrimSpace(value), []byte("[")):
		problem = "MCP has no batches: send one message a line"
	case err != nil:
		problem = err.Error()
	default:
		return nil
	}
	var of struct {
		ID any `json:"id"`
	}
	if json.Unmarshal(line, &of) != nil {
		of.ID = nil
	}
	switch of.ID.(type) {
	case string, float64:
	default:
		of.ID = nil // the response needs an id: null if the request has none
	}
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": of.ID, "error": map[string]any{"code": code, "message": problem},
	})
	if err != nil {
		return nil
	}
	return append(answer, '\n')
}
