package mcpserver

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Tool declares a tool: a command, and the part of its command line that a client may choose.
type Tool struct {
	Command   string     // the words after pausenet; the tool's name has _ between them
	About     string     // what a language model should know beside the command's summary
	Arguments []Argument // in the order of the command line
	Flags     []string   // names of flags of the command; type and description come from the command
	Required  []string   // those Flags that each call must give
	Always    []string   // words of every call, before the client's
	Files     bool       // accepts the texts of files that its arguments and flags name
	Writes    bool       // writes below the server's folder, Files aside
	Text      bool       // prints text rather than JSON
	// Result names the type that the command prints as JSON. Its value is unused.
	Result any
}

// Argument declares a positional argument.
type Argument struct {
	Name     string
	About    string
	Required bool
	Many     bool     // a list of words; only the last argument
	Words    []string // the possible values, if there are few
}

// filesParameter names the parameter for the texts of files.
const filesParameter = "files"

func (t *Tool) name() string { return strings.ReplaceAll(t.Command, " ", "_") }

// parameter is a parameter of a tool, which becomes words of a command line.
type parameter struct {
	schema *jsonschema.Schema
	flag   *pflag.Flag // nil for a positional argument
}

// parameters returns the tool's parameters by name, except for the files. root is the program's command.
func (t *Tool) parameters(root *cobra.Command) (map[string]parameter, error) {
	c, rest, err := root.Find(strings.Fields(t.Command))
	if err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("tool %s: no command %q", t.name(), t.Command)
	}
	all := map[string]parameter{}
	for _, a := range t.Arguments {
		one := &jsonschema.Schema{Type: "string", Description: a.About}
		for _, word := range a.Words {
			one.Enum = append(one.Enum, word)
		}
		if a.Many {
			one.Description = ""
			one = &jsonschema.Schema{Type: "array", Description: a.About, Items: one}
			if a.Required {
				one.MinItems = new(1)
			}
		}
		all[a.Name] = parameter{schema: one}
	}
	for _, name := range t.Flags {
		flag := c.Flags().Lookup(name)
		if flag == nil {
			return nil, fmt.Errorf("tool %s: %s has no flag --%s", t.name(), t.Command, name)
		}
		all[name] = parameter{schemaOf(flag), flag}
	}
	return all, nil
}

// schemaOf returns the schema of a flag's value.
func schemaOf(flag *pflag.Flag) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Description: strings.ReplaceAll(flag.Usage, "`", "")}
	switch flag.Value.Type() {
	case "bool":
		s.Type = "boolean"
	case "int", "uint", "seed":
		s.Type = "integer"
	case "float64":
		s.Type = "number"
	case "stringSlice", "stringArray":
		s.Type, s.Items = "array", &jsonschema.Schema{Type: "string"}
	}
	return s
}

func (t *Tool) input(parameters map[string]parameter) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{}, Required: slices.Clone(t.Required),
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for name, p := range parameters {
		s.Properties[name] = p.schema
	}
	for _, a := range t.Arguments {
		if a.Required {
			s.Required = append(s.Required, a.Name)
		}
	}
	if t.Files {
		s.Properties[filesParameter] = &jsonschema.Schema{
			Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string"},
			Description: "texts of files by name, such as mine.yaml or mine.star, for the other parameters to name; they are " +
				"written below the server's folder and stay there",
		}
	}
	return s
}

// output returns the schema of the tool's structured result.
func (t *Tool) output() (*jsonschema.Schema, error) {
	result := &jsonschema.Schema{Description: "what the command prints"}
	switch {
	case t.Text:
		result.Type = "string"
	case t.Result != nil:
		var err error
		if result, err = jsonschema.ForType(reflect.TypeOf(t.Result), &jsonschema.ForOptions{}); err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.name(), err)
		}
	}
	return &jsonschema.Schema{
		Type: "object", Required: []string{"exit_code", "messages"},
		Properties: map[string]*jsonschema.Schema{
			"exit_code": {
				Type: "integer",
				Description: "0: success; 1: a run is broken or was interrupted; 2: a mistake in the " +
					"parameters or a file; 3: the machine lacks something",
			},
			"result":   result,
			"messages": {Type: "string", Description: "warnings, and the error if there is one"},
		},
	}, nil
}

// words returns the command line for a call, and the files that it brings.
func (t *Tool) words(parameters map[string]parameter, arguments json.RawMessage) (words []string,
	files map[string]string,
	err error,
) {
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(arguments)) > 0 {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return nil, nil, fmt.Errorf("the arguments are no object: %w", err)
		}
	}
	words = append(strings.Fields(t.Command), t.Always...)
	if !t.Text {
		words = append(words, "--output=json")
	}
	positional := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		p, known := parameters[name]
		switch {
		case name == filesParameter && t.Files:
			if err := json.Unmarshal(given[name], &files); err != nil {
				return nil, nil, fmt.Errorf(`%s: expected an object of texts by name, such as {"mine.yaml": "name: mine\n..."}`, name)
			}
		case !known:
			return nil, nil, fmt.Errorf("no parameter %q (%s has: %s)", name, t.name(), strings.Join(t.names(parameters), ", "))
		default:
			values, err := valuesOf(given[name], p.schema.Type)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
			if p.flag == nil {
				positional[name] = values
			}
			for _, value := range values {
				if p.flag != nil {
					words = append(words, "--"+name+"="+quoted(p.flag, value))
				}
			}
		}
	}
	for _, name := range t.Required {
		if len(given[name]) == 0 {
			return nil, nil, fmt.Errorf("%s is missing: %s", name, parameters[name].schema.Description)
		}
	}
	words = append(words, "--")
	for i, a := range t.Arguments {
		values := positional[a.Name]
		switch {
		case len(values) == 0 && a.Required:
			return nil, nil, fmt.Errorf("%s is missing: %s", a.Name, a.About)
		case len(values) > 0 && i > 0 && len(positional[t.Arguments[i-1].Name]) == 0:
			return nil, nil, fmt.Errorf("%s needs %s too", a.Name, t.Arguments[i-1].Name)
		}
		words = append(words, values...)
	}
	return words, files, nil
}

func (t *Tool) names(parameters map[string]parameter) []string {
	all := slices.Collect(maps.Keys(parameters))
	if t.Files {
		all = append(all, filesParameter)
	}
	slices.Sort(all)
	return all
}

// valuesOf returns a parameter's values as words of a command line. A list may also be given as its only element.
func valuesOf(value json.RawMessage, kind string) (words []string, err error) {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	wrong := fmt.Errorf("expected %s, got %s", map[string]string{
		"boolean": "true or false", "integer": "an integer", "number": "a number", "string": "a text",
		"array": "a list of texts",
	}[kind], value)
	switch v := v.(type) {
	case nil:
		return nil, nil
	case bool:
		if kind == "boolean" {
			return []string{strconv.FormatBool(v)}, nil
		}
	case json.Number:
		if _, err := v.Int64(); kind == "number" || kind == "integer" && err == nil {
			return []string{v.String()}, nil
		}
	case string:
		if kind == "string" || kind == "array" {
			return []string{v}, nil
		}
	case []any:
		for _, each := range v {
			text, ok := each.(string)
			if !ok || kind != "array" {
				return nil, wrong
			}
			words = append(words, text)
		}
		return words, nil
	}
	return nil, wrong
}

// quoted returns a value in the spelling of its flag: pflag reads the value of a list as a line of CSV.
func quoted(flag *pflag.Flag, value string) string {
	if flag.Value.Type() != "stringSlice" || !strings.ContainsAny(value, "\",\r\n") {
		return value
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{value})
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
