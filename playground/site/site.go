// Command site puts the playground together: a folder of files that any static web server can serve (make playground).
//
//	go run ./playground/site FOLDER
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/jsonschema"
	"github.com/pausenet/pausenet/experiments/pages/view"
	"github.com/pausenet/pausenet/playground/session"
)

// page holds the files that are served unchanged.
//
//go:embed page
var page embed.FS

// worker holds the service worker, without the list of files and their hash.
//
//go:embed sw.js
var worker string

const module = "github.com/pausenet/pausenet"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./playground/site FOLDER")
		os.Exit(2)
	}
	if err := build(os.Args[1], gzip.BestCompression); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// build writes all files of the playground into a folder: the page, the program with the glue of the very Go that made
// it, the examples, the page that plays runs, and the service worker that keeps them all for a browser without a
// network. level is that of gzip for the program.
func build(folder string, level int) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	files, err := fs.Sub(page, "page")
	if err != nil {
		return err
	}
	var names []string
	hash := sha256.New()
	write := func(name string, data []byte, err error) error {
		if err != nil {
			return err
		}
		names = append(names, name)
		fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
		return os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), data, 0o644)
	}
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(folder, filepath.FromSlash(name)), 0o755)
		}
		data, err := fs.ReadFile(files, name)
		return write(name, data, err)
	})
	if err != nil {
		return err
	}
	goRoot, err := output(exec.Command("go", "env", "GOROOT"))
	if err != nil {
		return err
	}
	root, err := output(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module))
	if err != nil {
		return err
	}
	glue, glueErr := os.ReadFile(filepath.Join(goRoot, "lib", "wasm", "wasm_exec.js"))
	list, listErr := session.FindExamples(filepath.Join(root, "examples", "controllers"))
	movie, movieErr := os.ReadFile(filepath.Join(root, "docs", "figures", "dcon-burst.gif"))
	format, formatErr := os.ReadFile(filepath.Join(root, "experiments", "pages", "view", "page", "format.js"))
	language, languageErr := os.ReadFile(filepath.Join(root, "docs", "controllers-from-files.md"))
	program, programErr := program(level)
	if err := errors.Join(glueErr, listErr, movieErr, formatErr, languageErr, programErr); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, "recordings"), 0o755); err != nil {
		return err
	}
	for i, e := range list.Scenarios {
		if !slices.Contains(recorded, e.Name) {
			continue
		}
		runs, err := session.Record(e.Name)
		if err != nil {
			return err
		}
		for k, run := range runs {
			name := fmt.Sprintf("recordings/%s-%d.bin", e.Name, k)
			if err := write(name, run, nil); err != nil {
				return err
			}
			list.Scenarios[i].Recordings = append(list.Scenarios[i].Recordings, name)
		}
	}
	examples, jsonErr := json.Marshal(struct {
		*session.Examples
		ProgramBytes int `json:"program_bytes"`
	}{list, len(program)})
	vocabulary, vocabularyErr := json.Marshal(words(string(language)))
	schema, schemaErr := jsonschema.Of("scenario")
	err = errors.Join(
		write("words.json", vocabulary, vocabularyErr),
		write("schema.json", schema, schemaErr),
		write("wasm_exec.js", glue, nil),
		write("examples.json", examples, jsonErr),
		write("dcon-burst.gif", movie, nil),
		write("format.js", format, nil),
		write("watch.html", view.Embed(), nil),
		write("pausenet.wasm.gz", program, nil),
	)
	if err != nil {
		return err
	}
	kept, err := json.Marshal(append(names, "./"))
	if err != nil {
		return err
	}
	text := strings.NewReplacer("FILES", string(kept), "HASH", hex.EncodeToString(hash.Sum(nil))[:16]).Replace(worker)
	return os.WriteFile(filepath.Join(folder, "sw.js"), []byte(text), 0o644)
}

// recorded lists the built-ins of which the page has recordings, so that a link to a moment opens before the simulator
// is loaded.
var recorded = []string{"dcon-burst"}

// program returns the simulator for js/wasm, compressed: static servers do not do it.
func program(level int) ([]byte, error) {
	folder, err := os.MkdirTemp("", "pausenet-playground")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "pausenet.wasm")
	c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, module+"/playground")
	c.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if _, err := output(c); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, level)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// output returns the output of a command, without the line break at its end.
func output(c *exec.Cmd) (string, error) {
	var stderr strings.Builder
	c.Stderr = &stderr
	data, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(data)), nil
}
