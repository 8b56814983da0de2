package internal

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notInVagrant are packages of .ci/run that the virtual machine does without: what writes the committed objects anew,
// builds for other processors, and tests the Python package; and the browser, which on Ubuntu is a snap.
var notInVagrant = []string{
	"clang", "clang-format-14", "llvm", "lld", "libbpf-dev", "qemu-user", "chromium", "python3-setuptools",
	"python3-wheel", "python3-pip", "python3-venv",
	"python3-pytest", "python3-pandas", "python3-matplotlib", "python3-nbconvert", "python3-ipykernel", "mypy",
}

// TestVagrantfileHasPackages holds the packages of the Vagrantfile to those that .ci/run tests with.
func TestVagrantfileHasPackages(t *testing.T) {
	packages := func(file, pattern string) []string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list := regexp.MustCompile(pattern).FindStringSubmatch(string(data))
		if list == nil {
			t.Fatalf("%s has no list of packages", file)
		}
		return strings.Fields(strings.ReplaceAll(list[1], "\\\n", " "))
	}
	has := packages("../Vagrantfile", `--no-install-recommends ((?:.*\\\n)*.*)\n`)
	for _, p := range packages("../.ci/run", `(?m)^packages=\(([^)]*)\)`) {
		if !slices.Contains(has, p) && !slices.Contains(notInVagrant, p) {
			t.Errorf("the Vagrantfile does not install %s", p)
		}
	}
}
