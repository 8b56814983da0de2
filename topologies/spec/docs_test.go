package spec

import (
	"testing"

	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/testenv"
)

// TestDocumentedKeys checks the tables of keys in docs/topologies.md. With -update it writes them.
func TestDocumentedKeys(t *testing.T) {
	var names []string
	var tables []keys.Table
	for i := range builders {
		names = append(names, builders[i].key)
		tables = append(tables, newBuilder(newDraft(""), &builders[i]).keys())
	}
	table, of := keys.Merge("all", names, tables)
	for name, text := range map[string]string{
		"topology": Keys().Markdown(), "builders": table.Markdown(of), "programs": new(programs).keys(true).Markdown(),
		"link": new(linkEntry).keys().Markdown(),
	} {
		testenv.Document(t, "../../docs/topologies.md", "keys: "+name, text)
	}
}
