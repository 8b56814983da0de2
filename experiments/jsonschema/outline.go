package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Key describes a key of a file.
type Key struct {
	Path     string `json:"path"` // from the file's beginning, as --set spells it
	Meaning  string `json:"meaning"`
	Required bool   `json:"required,omitempty"`
	Below    int    `json:"below,omitempty"` // number of keys below it
}

// KeysOf returns the keys directly below a path of a kind of file. The empty path stands for the file.
func KeysOf(kind, path string) ([]Key, error) {
	text, err := Of(kind)
	if err != nil {
		return nil, err
	}
	var file struct {
		node
		Definitions map[string]*node `json:"$defs"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	walk := walker{file.Definitions}
	at, required := walk.below(&file.node)
	where, prefix := kind, ""
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
		next, found := at[name]
		if !found {
			return nil, fmt.Errorf("%s has no key %q (it has: %s)", where, name,
				strings.Join(slices.Sorted(maps.Keys(at)), ", "))
		}
		at, required = walk.below(next)
		where = prefix + name
		prefix = where + "."
	}
	keys := []Key{}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		below, _ := walk.below(at[name])
		meaning := at[name].Description
		if meaning == "" {
			meaning = walk.resolve(at[name]).Description
		}
		keys = append(keys, Key{prefix + name, meaning, slices.Contains(required, name), len(below)})
	}
	return keys, nil
}

// node represents a schema, as far as keys need it.
type node struct {
	Reference   string           `json:"$ref"`
	Description string           `json:"description"`
	Properties  map[string]*node `json:"properties"`
	Required    []string         `json:"required"`
	AnyOf       []*node          `json:"anyOf"`
	Items       *node            `json:"items"`
}

// walker follows references.
type walker struct{ definitions map[string]*node }

// resolve returns the schema that a reference names, or the schema itself.
func (w walker) resolve(n *node) *node {
	if named := w.definitions[strings.TrimPrefix(n.Reference, "#/$defs/")]; named != nil {
		return named
	}
	return n
}

// below returns the keys of a value, those of any of its forms, and those of a list's elements.
func (w walker) below(n *node) (keys map[string]*node, required []string) {
	n = w.resolve(n)
	keys, required = maps.Clone(n.Properties), n.Required
	forms := n.AnyOf
	if n.Items != nil {
		forms = append(slices.Clone(forms), n.Items)
	}
	for _, form := range forms {
		more, also := w.below(form)
		if keys == nil {
			keys = map[string]*node{}
		}
		maps.Copy(keys, more)
		required = append(slices.Clone(required), also...)
	}
	return keys, required
}
