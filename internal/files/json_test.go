package files

import (
	"strings"
	"testing"
)

// TestSchema: a file of JSON begins with its schema; one of a later schema is refused, and one of none is not.
func TestSchema(t *testing.T) {
	data, err := FormatJSON(map[string]int{"a": 1})
	if err != nil || string(data) != "{\n  \"schema\": 1,\n  \"a\": 1\n}\n" {
		t.Errorf("%q, %v", data, err)
	}
	for _, v := range []any{[]int{1}, map[string]int{}, func() {}} {
		if data, err := FormatJSON(v); err == nil {
			t.Errorf("%s", data)
		}
	}
	for text, want := range map[string]string{
		string(data): "", `{"a": 1}`: "", "": "", `{"a": 1, "schema": 7}`: "",
		`{"schema": 2, "a": 1}`:                    "its schema is 2, but this pausenet knows 1 (read it with the version that wrote it",
		`{"schema": 99999999999999999999, "a": 1}`: "its schema is 9",
	} {
		if err := CheckSchema([]byte(text)); err == nil != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
