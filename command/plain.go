package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/pausenet/pausenet/internal/escape"
)

// plain returns text with control characters escaped as in JSON, such as \u001b, because names and descriptions may
// come from other people's files. rest is an incomplete character at the end of text.
func plain(text []byte) (shown, rest []byte) {
	shown = make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1 && !utf8.FullRune(text):
			return shown, slices.Clone(text)
		case r == utf8.RuneError && n == 1:
			shown = utf8.AppendRune(shown, utf8.RuneError)
		case r != '\n' && r != '\t' && escape.Obeyed(r):
			shown = fmt.Appendf(shown, "\\u%04x", r)
		default:
			shown = append(shown, text[:n]...)
		}
		text = text[n:]
	}
	return shown, nil
}

// rawOutput writes bytes to an output without escaping them: those of a program or a capture.
type rawOutput struct{ *output }

func (r rawOutput) Write(p []byte) (int, error) { return r.send(p) }

// raw returns w without the escaping of an output.
func raw(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return rawOutput{o}
	}
	return w
}

// rawUnlessTerminal returns raw(w), unless w is a terminal.
func rawUnlessTerminal(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		if f, ok := o.to.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return w
		}
	}
	return raw(w)
}
