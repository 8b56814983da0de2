//go:build linux

package doctor

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// doctorVariable means the test binary is to play the patient.
const doctorVariable = "PAUSENET_TEST_DOCTOR"

// Where the tests run the fabric works; each check must have found so.
func TestDiagnose(t *testing.T) {
	testenv.NeedRoot(t)
	d := Diagnose()
	for _, c := range d.Checks {
		t.Logf("%s %s: %s %s", c.Status, c.Name, c.Found, c.Remedy)
		if c.Status == CheckMissing || c.Status == CheckSkipped {
			t.Errorf("%s: %s: %s", c.Name, c.Status, c.Found)
		}
		if c.Status == CheckFine && c.Remedy != "" || c.Status == CheckWarning && c.Remedy == "" {
			t.Errorf("%s: %s with the remedy %q", c.Name, c.Status, c.Remedy)
		}
	}
	if !d.Works || d.Kernel == "" {
		t.Errorf("works: %v, kernel %q", d.Works, d.Kernel)
	}
}

// TestTCX: where the kernel has it, it carries the fabric.
func TestTCX(t *testing.T) {
	testenv.NeedRoot(t)
	c := checkTCX()
	if c.Status == CheckNote {
		t.Skip(c.Found) // before Linux 6.6: test/kernels runs there too
	}
	if c.Status != CheckFine {
		t.Errorf("%+v", c)
	}
}

// TestEntry: without TAP interfaces fabrics work, and the check says how to get them.
func TestEntry(t *testing.T) {
	c := checkEntry(func() (string, error) { return "", os.ErrNotExist })
	if c.Status != CheckWarning || !strings.Contains(c.Found, "packet socket") || !strings.Contains(c.Remedy, "modprobe tun") {
		t.Errorf("%+v", c)
	}
}

// TestPatient is not a test: TestWithoutPrivileges runs it as another user.
func TestPatient(t *testing.T) {
	if os.Getenv(doctorVariable) == "" {
		t.Skip("played by TestWithoutPrivileges alone")
	}
	testenv.Nobody(t)
	d := Diagnose()
	for _, c := range d.Checks {
		fmt.Printf("%s %s: %s -> %s\n", c.Status, c.Name, c.Found, c.Remedy)
	}
	fmt.Println("works", d.Works)
}

// TestWithoutPrivileges: without privileges, the result names what is missing, and no other check runs.
func TestWithoutPrivileges(t *testing.T) {
	testenv.NeedRoot(t)
	c := exec.Command("/proc/self/exe", "-test.run=^TestPatient$", "-test.v")
	c.Env = append(os.Environ(), doctorVariable+"=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"missing privileges: without CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN -> root is needed: run it with sudo, or use --plane wasm\n",
		"skipped bpf: not tried", "skipped clsact: not tried", "works false",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("want %q in:\n%s", want, out)
		}
	}
}
