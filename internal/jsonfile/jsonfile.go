// Package jsonfile writes and checks the JSON files of pausenet, which begin with a schema version.
package jsonfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

// Schema holds the version of the JSON files that pausenet writes. It increases when a key is removed or changes its
// meaning; new keys do not change it.
const Schema = 1

// Start holds the text before the first key of the object itself: the brace and the schema version.
var Start = fmt.Sprintf("{\n  \"schema\": %d,\n  ", Schema)

// Format returns v, an object, as a JSON file whose first key is the schema version.
func Format(v any) ([]byte, error) {
	var file bytes.Buffer
	err := Write(&file, v)
	return file.Bytes(), err
}

// Write writes what Format returns. An object that cannot be written as JSON, or has no keys, is an error.
func Write(w io.Writer, v any) error {
	return json.NewEncoder(indenter{w}).Encode(v)
}

// indenter indents the object that an Encoder writes, all at once, as json.Indent does. That would take twice the
// memory of the text.
type indenter struct{ w io.Writer }

func (w indenter) Write(data []byte) (int, error) {
	if !bytes.HasPrefix(data, []byte(`{"`)) {
		return 0, fmt.Errorf("expected a JSON object, not %.20s", data)
	}
	out := bufio.NewWriter(w.w)
	out.WriteString(Start)
	indent(out, data[1:])
	return len(data), out.Flush()
}

// indent writes compact JSON from the first key of an object on.
func indent(out *bufio.Writer, data []byte) {
	depth, text := 1, false // text: within quotes
	line := func() {
		out.WriteByte('\n')
		for range depth {
			out.WriteString("  ")
		}
	}
	for i := 0; i < len(data); i++ {
		b := data[i]
		switch {
		case text:
			if text = b != '"'; b == '\\' {
				out.WriteByte(b)
				i++
				b = data[i]
			}
		case b == '"':
			text = true
		case b == '}' || b == ']':
			if depth--; data[i-1] != b-2 { // '{' and '[' are two before
				line()
			}
		}
		out.WriteByte(b)
		switch {
		case text:
		case b == ',':
			line()
		case b == ':':
			out.WriteByte(' ')
		case b == '{' || b == '[':
			if depth++; data[i+1] != b+2 {
				line()
			}
		}
	}
}

// schemaKey matches the schema key as Format writes it.
var schemaKey = regexp.MustCompile(`^\s*\{\s*"schema": (\d+),`)

// CheckSchema returns an error for a JSON file of a later schema. Files from before schemas existed have none.
func CheckSchema(data []byte) error {
	m := schemaKey.FindSubmatch(data)
	if m == nil {
		return nil
	}
	if n, err := strconv.Atoi(string(m[1])); err != nil || n > Schema {
		return fmt.Errorf("its schema is %s, but this pausenet knows %d (read it with the version that wrote it, "+
			"or a later one)", m[1], Schema)
	}
	return nil
}
