package main

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/pausenet/pausenet/experiments/pages/animation"
	"github.com/pausenet/pausenet/experiments/results/replay"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/playground/session"
)

// Sizes of the gallery's pictures.
const (
	cardWidth = 480
	mostCard  = 45_000 // bytes
)

// TestCards checks that each built-in scenario has a picture in the gallery. With -update it draws them: the first run
// of each scenario, in its quick form if it has one.
func TestCards(t *testing.T) {
	folder, err := filepath.Abs("page/cards")
	if err != nil {
		t.Fatal(err)
	}
	names := scenario.BuiltinNames()
	for _, name := range names {
		file := filepath.Join(folder, name+".png")
		if *testenv.Update {
			if err := os.WriteFile(file, card(t, name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v: make pictures", err)
			continue
		}
		if c, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || c.Width != cardWidth || len(data) > mostCard {
			t.Errorf("%s: %d pixels wide, %d bytes: %v", file, c.Width, len(data), err)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) != len(names) {
		t.Errorf("%d pictures of %d scenarios: %v", len(files), len(names), err)
	}
}

// card draws the picture of a built-in scenario.
func card(t *testing.T, name string) []byte {
	t.Helper()
	text, err := scenario.BuiltinSource(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Reading{Count: true}.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	o := native(t, session.Request{Scenario: string(text), Quick: s.HasQuick})
	run, _, err := replay.Read(o.Runs[0].Folder, filepath.Base(o.Runs[0].Folder))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := animation.PNG(name, [][]byte{run}, animation.Options{Width: cardWidth})
	if err != nil {
		t.Fatal(err)
	}
	return picture.Data
}
