package lstm

import (
	"bytes"
	"strings"
	"testing"
)

func sample(t testing.TB) (*Weights, string) {
	t.Helper()
	w := &Weights{
		Provenance: Provenance{Command: "pausenet train lstm", Seed: 1, Pairs: 19058, MAPE: []MAPE{{.113, .081}}},
		Parameters: Parameters(NewTrainer(LSTM, NewRandom(1), 0).Parameters),
	}
	data, err := w.Format()
	if err != nil {
		t.Fatal(err)
	}
	return w, string(data)
}

func TestWeightsReadBack(t *testing.T) {
	w, text := sample(t)
	reparsed, err := Parse("w.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if reparsed.Parameters != w.Parameters || reparsed.Provenance.Pairs != 19058 ||
		reparsed.Provenance.MAPE[0] != w.Provenance.MAPE[0] {
		t.Errorf("%+v", reparsed.Provenance)
	}
	if formatted, err := reparsed.Format(); err != nil || string(formatted) != text {
		t.Errorf("formatted again it differs: %v", err)
	}
	if len(text) > MaxFileSize/8 {
		t.Errorf("%d bytes", len(text))
	}
}

// The checksum of 1233 zeros was computed by sha256sum of 9864 zero bytes.
func TestChecksum(t *testing.T) {
	const want = "sha256:495693c8c23230c8913ab03b7ec61395f500a44563614536984e3dc6279e45ae"
	if got := new(Parameters).Checksum(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDamagedWeights(t *testing.T) {
	w, text := sample(t)
	swap := func(old, new string) string {
		if strings.Count(text, old) != 1 {
			t.Fatalf("%q is there %d times", old, strings.Count(text, old))
		}
		return strings.Replace(text, old, new, 1)
	}
	first := strings.Fields(text[strings.Index(text, "weight_ih_l0"):])[2]
	for name, c := range map[string]struct{ text, want string }{
		"empty":       {"", "line 1, column 1: incomplete JSON"},
		"truncated":   {text[:len(text)/2], "incomplete JSON: unexpected end of JSON input (the file was truncated"},
		"trailing":    {text + "x", "incomplete JSON"},
		"not JSON":    {"#!/bin/sh\n", "line 1, column 2: incomplete JSON"},
		"other JSON":  {`{"a": 1}`, `format: "", expected "pausenet lstm weights"`},
		"list":        {"[]", "line 1, column 2: unexpected JSON array for the whole file"},
		"a word":      {`{"version": "one"}`, "line 1, column 18: unexpected JSON string for version"},
		"version":     {swap(`"version": 1`, `"version": 2`), "version: 2, but this pausenet reads version 1"},
		"shape":       {swap(`"hidden": 16`, `"hidden": 32`), "shape: {Inputs:1 Steps:3 Hidden:32 Outputs:1}"},
		"one changed": {swap(first, "0.1,"+first[strings.IndexByte(first, ',')+1:]), "a number was changed"},
		"one missing": {
			swap(first, first[strings.IndexByte(first, ',')+1:]),
			"parameters.weight_ih_l0: 63 numbers, expected 64",
		},
		"a group": {swap(`"linear.bias"`, `"linear.bais"`), "parameters.linear.bias: 0 numbers, expected 1"},
		"null": {
			swap(first, "null,"+first[strings.IndexByte(first, ',')+1:]),
			`parameters.weight_ih_l0[0]: "" is not a finite number`,
		},
		"infinite": {
			swap(first, "1e999,"+first[strings.IndexByte(first, ',')+1:]),
			`parameters.weight_ih_l0[0]: "1e999" is not a finite number`,
		},
		"NaN":      {swap(first, "NaN,"+first[strings.IndexByte(first, ',')+1:]), "invalid character 'N'"},
		"checksum": {swap(w.Parameters.Checksum(), "sha256:00"), `checksum: the file has "sha256:00"`},
		"long":     {text + strings.Repeat(" ", MaxFileSize), "not a weights file"},
	} {
		_, err := Parse("some/w.json", []byte(c.text))
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		for _, want := range []string{c.want, "some/w.json", "pausenet train lstm --out"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	_, text := sample(f)
	f.Add([]byte(text))
	f.Add([]byte(text[:len(text)-40]))
	f.Add([]byte(`{"format":"pausenet lstm weights","version":1,"shape":{"inputs":1,"steps":3,"hidden":16,"outputs":1},"parameters":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := Parse("f", data)
		if err != nil {
			if w != nil || err.Error() == "" {
				t.Errorf("%v, %v", w, err)
			}
			return
		}
		k := Features{.1, .2, -.1}
		New(&w.Parameters).Predict(&k)
		formatted, err := w.Format()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse("f", formatted)
		if err != nil {
			t.Fatal(err)
		}
		if once, err := back.Format(); err != nil || !bytes.Equal(once, formatted) {
			t.Error("not stable")
		}
	})
}
