package files

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
)

// Schema holds the version of the JSON files that pausenet writes. It increases when a key is removed or changes its
// meaning; new keys do not change it.
const Schema = 1

// FormatJSON returns v, an object, as a JSON file whose first key is the schema version.
func FormatJSON(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	rest, object := bytes.CutPrefix(data, []byte("{\n"))
	if !object {
		return nil, fmt.Errorf("expected a JSON object, not %.20s", data)
	}
	return append(fmt.Appendf(nil, "{\n  \"schema\": %d,\n", Schema), append(rest, '\n')...), nil
}

// schemaKey matches the schema key as FormatJSON writes it.
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
