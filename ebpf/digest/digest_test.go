package digest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// TestOf: they are what sha256sum says of the committed objects.
func TestOf(t *testing.T) {
	of := Of()
	if runtime.GOOS != "linux" && of.Kernel != "" {
		t.Errorf("there is no kernel plane here, of %s", of.Kernel)
	}
	for path, got := range map[string]string{"../wasm/pipelines.wasm": of.Wasm, "../kernel/pipelines_bpfel.o": of.Kernel} {
		object, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got == "" && runtime.GOOS != "linux" {
			continue
		}
		if want := fmt.Sprintf("%x", sha256.Sum256(object)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
