package jsonfile

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestIndent holds the text of random objects against that of encoding/json.
func TestIndent(t *testing.T) {
	texts := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune(`"\\{}[],: a`)), 0, 5, -1))
	var values *rapid.Generator[any]
	values = rapid.Deferred(func() *rapid.Generator[any] {
		return rapid.OneOf(
			texts.AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.Bool().AsAny(), rapid.Just(any(nil)),
			rapid.SliceOfN(values, 0, 3).AsAny(), rapid.MapOfN(texts, values, 0, 3).AsAny(),
		)
	})
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOfN(texts, values, 1, 5).Draw(t, "object")
		got, err := Format(object)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.MarshalIndent(object, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if rest := bytes.Replace(got, []byte("\n  \"schema\": 1,"), nil, 1); string(rest) != string(want)+"\n" {
			t.Fatalf("%s\nwant\n%s", rest, want)
		}
	})
}

// TestSchema: a file of JSON begins with its schema; one of a later schema is refused, and one of none is not.
func TestSchema(t *testing.T) {
	data, err := Format(map[string]int{"a": 1})
	if err != nil || string(data) != "{\n  \"schema\": 1,\n  \"a\": 1\n}\n" {
		t.Errorf("%q, %v", data, err)
	}
	for _, v := range []any{[]int{1}, map[string]int{}, func() {}} {
		if data, err := Format(v); err == nil {
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
