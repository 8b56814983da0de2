// Command pausenet-sbom writes the SBOM of a Go program as CycloneDX 1.5 in JSON, from the build information in the
// program. Equal programs give equal bytes.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pausenet-sbom:", err)
		os.Exit(2)
	}
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl"`
}

func newComponent(kind string, m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	version := strings.Trim(m.Version, "()")      // "(devel)" for a build without a version
	url := "pkg:golang/" + m.Path + "@" + version // https://github.com/package-url/purl-spec
	return component{kind, url, m.Path, version, url}
}

func write(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("expected 2 arguments, got %d (usage: pausenet-sbom PROGRAM FILE)", len(args))
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	main := newComponent("application", &info.Main)
	std := &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
	components := []component{newComponent("library", std)}
	refs := []string{components[0].Ref}
	for _, m := range info.Deps {
		c := newComponent("library", m)
		components, refs = append(components, c), append(refs, c.Ref)
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":     map[string]any{"component": main},
		"components":   components,
		"dependencies": []any{map[string]any{"ref": main.Ref, "dependsOn": refs}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], append(text, '\n'), 0o644)
}
