//go:build linux

package live

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// imageOf makes a root folder with some of the machine's programs and the libraries that they need, and a program of
// its own.
func imageOf(t *testing.T, programs ...string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "image")
	copyFile := func(path string) {
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.MkdirAll(root+filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = testenv.WriteProgram(root+path, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		copyFile(path)
		libraries, err := exec.Command("ldd", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(string(libraries)) {
			if strings.HasPrefix(word, "/") {
				copyFile(word)
			}
		}
	}
	own := filepath.Join(root, "usr", "bin", "mine")
	for _, err := range []error{
		os.MkdirAll(filepath.Dir(own), 0o755), testenv.WriteProgram(own,
			[]byte("#!"+mustLook(t, "sh")+"\necho mine of $(hostname)\n")),
		os.MkdirAll(filepath.Join(root, "etc"), 0o755), os.Symlink("/run", filepath.Join(root, "var")),
		os.Symlink("../nowhere", filepath.Join(root, "etc", "hosts")),
		os.WriteFile(filepath.Join(root, "etc", "nsswitch.conf"), []byte("hosts: resolve dns\n"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func mustLook(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFiles checks that programs on a node find the files and variables of the topology, that they change only writable
// binds on the machine, and that other nodes see none of it.
func TestFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	image := imageOf(t, "sh", "cat", "ls", "hostname", "touch")
	for _, name := range []string{"site", "data", "private/deep", "layered"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"site/page": "hello\n", "layered/old": "old\n", "private/theirs": "",
		"one": "a file\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.NewReplacer("FOLDER", folder, "IMAGE", image).Replace(`
topology:
  star: {hosts: 4}
  defaults: {env: {EVERYWHERE: 1, WHO: nobody}}
  kinds: {host: {env: {WHO: host}}}
  change_nodes:
    - name: h1
      private: [FOLDER/private, /var/tmp]
      overlay: [FOLDER/layered, /etc]
      binds: [site:FOLDER/private/made/site:ro, data:FOLDER/data, one:/etc/one]
      env: {WHO: h1}
    - {name: h2..h3, image: IMAGE, binds: [data:/srv/data, one:/etc/one:ro], private: [/tmp]}
`)
	f, err := bringUpFile(t, Options{}, filepath.Join(folder, "lab.yaml"), text)
	if err != nil {
		t.Fatal(err)
	}
	defer down(t, f)
	look := func(node, script, want string) {
		t.Helper()
		if got := strings.Join(strings.Fields(on(t, f, node, "sh", "-c",
			strings.ReplaceAll(script, "FOLDER", folder)+" 2>&1; true")), " "); got != want {
			t.Errorf("%s: %s\n%q, want\n%q", node, script, got, want)
		}
	}
	look("s0", "echo $EVERYWHERE $WHO", "1 nobody")
	look("h0", "echo $EVERYWHERE $WHO; ls FOLDER/private", "1 host deep theirs")
	look("h1", "echo $EVERYWHERE $WHO; ls FOLDER/private; cat FOLDER/private/made/site/page", "1 h1 made hello")
	look("h1", "touch FOLDER/private/made/site/new && echo no",
		"touch: cannot touch '"+folder+"/private/made/site/new': Read-only file system")
	look("h1", "touch FOLDER/data/from-h1 FOLDER/private/x FOLDER/layered/x /etc/pausenet-test /var/tmp/pausenet-test; "+
		"rm FOLDER/layered/old; ls FOLDER/layered", "x")
	look("h1", "cat /etc/one; grep '^10.* h3$' /etc/hosts; hostname; stat -c %a /var/tmp", "a file 10.0.0.4 h3 h1 1777")
	look("h0", "ls FOLDER/layered FOLDER/data; for f in /etc/one /etc/pausenet-test /var/tmp/pausenet-test; "+
		"do test ! -e $f || echo $f; done", folder+"/data: from-h1 "+folder+"/layered: old")
	look("h2", "mine; read a </etc/hosts; echo $a; cat /etc/one /etc/hostname; ls / /srv/data; ls /sys/class/net; cat /proc/1/comm",
		"mine of h2 127.0.0.1 localhost a file h2 "+
			strings.Join(append([]string{"/:"}, rootOf(t, image, "dev", "proc", "srv", "sys", "tmp")...), " ")+
			" /srv/data: from-h1 h2-eth1 lo pausenet-init")
	look("h2", "cat /etc/host.conf /etc/nsswitch.conf", "multi on hosts: files resolve dns")
	look("h2", "touch /made /tmp/made; ls /tmp; echo x >/dev/null && echo written", "made written")
	look("h3", "ls /made /tmp", "ls: cannot access '/made': No such file or directory /tmp:")
	if _, err := os.Stat(filepath.Join(image, "made")); err == nil {
		t.Error("the image has changed")
	}
	if got := on(t, f, "h2", "mine"); got != "mine of h2\n" { // which the machine has not
		t.Errorf("%q", got)
	}
	if err := f.Run("h0", exec.Command("mine")); err == nil ||
		!strings.Contains(err.Error(), `"mine": executable file not found in $PATH`) {
		t.Error(err)
	}
	if err := f.Run("h2", exec.Command("tar")); err == nil ||
		!strings.Contains(err.Error(), `"tar": executable file not found in $PATH`) {
		t.Error(err)
	}
}

// TestFilesKept checks that the folders with libraries for programs appear on a node, but are not changed, if an image
// or a private folder replaces them, and that nothing is created in folders bound from the machine.
func TestFilesKept(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	kept := filepath.Join(folder, "place", "kept")
	for _, path := range []string{kept, filepath.Join(folder, "bound")} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(kept, "library"), []byte("code"), 0o644); err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer("FOLDER", folder, "IMAGE", imageOf(t, "sh", "cat", "rm"))
	f, err := bringUpFile(t, Options{}, filepath.Join(folder, "lab.yaml"), names.Replace(`
topology:
  star: {hosts: 3}
  change_nodes:
    - {name: h0, image: IMAGE}
    - {name: h1, private: [FOLDER/place]}
    - {name: h2, binds: [FOLDER/bound:FOLDER/place]}
`))
	if err != nil {
		t.Fatal(err)
	}
	defer down(t, f)
	nodes := kernel.NewNodes(f.plane.Fabric(), f.programs, false, nil, kept, filepath.Join(folder, "none"))
	defer nodes.Close()
	for node, want := range map[string]string{"h0": "code", "h1": "code", "h2": ""} {
		place, err := nodes.Location(f.Plan.NodeByName(node).ID)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		cmd := exec.Command("sh", "-c", `rm -f "$1"; if test -e "$1"; then cat "$1"; fi`, "sh",
			filepath.Join(kept, "library"))
		cmd.Stdout = &out
		if err := kernel.RunIn(place, cmd, nil); err != nil || out.String() != want {
			t.Errorf("%s: %q, want %q: %v", node, &out, want, err)
		}
	}
	if made, err := os.ReadDir(filepath.Join(folder, "bound")); err != nil || len(made) > 0 {
		t.Errorf("made on the machine: %v, %v", made, err)
	}
}

// rootOf returns the entries of an image's root and others, in the order of ls.
func rootOf(t *testing.T, image string, more ...string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(image)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	names = append(names, more...)
	slices.Sort(names)
	return slices.Compact(names)
}

// TestFilesRefused checks that impossible files of a topology are refused with their position, and leave nothing on the
// machine.
func TestFilesRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for keys, want := range map[string]string{
		"binds: [nowhere:/tmp]":        "lab.yaml:4:26: h0: bind " + folder + "/nowhere: no such file or directory",
		"binds: [file:/nowhere/there]": "h0: no file /nowhere/there to mount at (create it, or make a folder above it private",
		"binds: [.:/nowhere]":          "h0: no folder /nowhere to mount at",
		"binds: [file:/tmp]":           "h0: /tmp is a folder, but " + folder + "/file is not",
		"private: [FOLDER/file]":       "h0: " + folder + "/file is not a folder",
		"overlay: [/nowhere]":          "h0: /nowhere is not a folder of this machine",
		"image: file": "h0: " + folder +
			"/file is not an image: expected a root folder, an archive written by docker save",
		"image: nowhere": "h0: stat " + folder +
			"/nowhere: no such file or directory: an image must be a local file " +
			"(fetch one with \"skopeo copy docker://NAME oci:" + folder + "/nowhere",
	} {
		text := "topology:\n  star: {hosts: 2}\n  change_nodes:\n    - {name: h0, " +
			strings.ReplaceAll(keys, "FOLDER", folder) + "}\n"
		f, err := bringUpFile(t, Options{}, filepath.Join(folder, "lab.yaml"), text)
		if err == nil {
			t.Errorf("%s is fine", keys)
			down(t, f)
		} else if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "lab.yaml:4:") {
			t.Errorf("%s: %v\nwant %s", keys, err, want)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// archiveOf makes an archive of a root folder, as docker save does of an image with one layer, and a configuration.
func archiveOf(t *testing.T, root, config string) string {
	t.Helper()
	folder := t.TempDir()
	layer, err := exec.Command("tar", "-C", root, "-c", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"layer.tar": string(layer), "manifest.json": `[{"Config": "config.json", "RepoTags": ["own:1"], "Layers": ["layer.tar"]}]`,
		"config.json": fmt.Sprintf(`{"os": "linux", "architecture": %q, "config": %s, "rootfs": {"type": "layers", "diff_ids": ["sha256:%x"]}}`, runtime.GOARCH, config, sha256.Sum256(layer)),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(folder, "image.tar.gz")
	if out, err := exec.Command("tar", "-C", folder, "-czf", archive, "manifest.json", "config.json",
		"layer.tar").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return archive
}

// TestImageArchive checks that programs on nodes have the files, variables and folder of a container image, from other
// terminals too, and that ignored parts of the image are reported.
func TestImageArchive(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root := imageOf(t, "sh", "cat", "ls", "hostname")
	if err := os.MkdirAll(filepath.Join(root, "srv", "own"), 0o755); err != nil {
		t.Fatal(err)
	}
	archive := archiveOf(t, root, fmt.Sprintf(`{"Env": ["PATH=%s", "WHO=image", "A=image"], "WorkingDir": "/srv/own", "User": "web", "Cmd": ["mine", "a b"]}`, os.Getenv("PATH")))
	text := "topology:\n  star: {hosts: 4}\n  kinds: {host: {image: " + archive +
		"}}\n  change_nodes:\n    - {name: h1, env: {WHO: h1}, exec: mine}\n    - {name: h3, image: /}\n"
	f, err := bringUpFile(t, Options{Name: "image-archive"}, "lab.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	defer down(t, f)
	for node, want := range map[string]string{
		"h0": "/srv/own image image\nmine of h0\n",
		"h1": "/srv/own h1 image\nmine of h1\n",
	} {
		if got := on(t, f, node, "sh", "-c", "echo $(pwd) $WHO $A; mine"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	client, err := Dial(f.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Exec("h2", []string{"sh", "-c", "test $(pwd) = /srv/own && test $WHO = image && " +
		"touch /made 2>/dev/null || echo >/made"}, nil); err != nil {
		t.Error(err)
	}
	if got := on(t, f, "h0", "ls", "/"); strings.Contains(got, "made") {
		t.Errorf("h2 has changed h0's files: %s", got)
	}
	warned := strings.Join(f.Warnings(), "\n")
	for _, want := range []string{
		"h0, h1, h2: the image's user, web, is ignored: programs on nodes run as root",
		`h0, h2: the image's command does not run (to run it: exec: ["mine 'a b' &"])`,
	} {
		if !strings.Contains(warned, want) {
			t.Errorf("warned of %s, not %s", warned, want)
		}
	}
}
