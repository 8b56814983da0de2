package internal

import (
	"os"
	"strings"
	"testing"
)

// TestNotice: NOTICE has the credit that the license of a module asks for, as long as the program has that module.
func TestNotice(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	modules, notice := read("../go.mod"), read("../NOTICE")
	for module, credit := range map[string]string{
		"github.com/golang/freetype":       "copyright (c) 2010 The FreeType Project (www.freetype.org)",
		"github.com/ajstarks/svgo":         "SVGo by Anthony Starks",
		"github.com/ncruces/wasm2go":       "Copyright (c) 2026 Nuno Cruces",
		"go.starlark.net":                  "Copyright (c) 2017 The Bazel Authors",
		"github.com/nats-io/nats.go":       "The NATS Authors",
		"github.com/tetratelabs/wazero":    "Copyright 2020-2023 wazero authors",
		"codeberg.org/go-fonts/liberation": "Digitized data copyright (c) 2010 Google Corporation",
	} {
		if needed, given := strings.Contains(modules, "\t"+module+" "), strings.Contains(notice, credit); needed != given {
			t.Errorf("%s is in go.mod: %v; its credit is in NOTICE: %v", module, needed, given)
		}
	}
}
