//go:build linux

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pausenet/pausenet/internal/testenv"
	"golang.org/x/sys/unix"
)

type file = tar.Header

// packed returns an archive of files; the text of each is its PAX record "text".
func packed(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range files {
		text := h.PAXRecords["text"]
		h.PAXRecords, h.Size = nil, int64(len(text))
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func plainFile(name, text string) file {
	return file{Name: name, PAXRecords: map[string]string{"text": text}}
}

func gzipped(b []byte) []byte {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write(b)
	_ = w.Close()
	return z.Bytes()
}

func zstdOf(b []byte) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll(b, nil)
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// layers of an image: the second removes /etc/old and all of /var that the first has, replaces a folder by a file and a
// link by a folder.
func layers(t testing.TB) [][]byte {
	return [][]byte{
		packed(
			t, file{Name: "./", Typeflag: tar.TypeDir}, file{Name: "etc/", Typeflag: tar.TypeDir}, plainFile("etc/old", "old"),
			plainFile("etc/kept", "kept"),
			plainFile("var/lib/a", "a"), plainFile("var/b", "b"), plainFile("folder/in", "in"),
			file{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
			file{Name: "bin/tool", Mode: 0o4755, PAXRecords: map[string]string{"text": "#!"}},
			file{Name: "bin/same", Typeflag: tar.TypeLink, Linkname: "bin/tool", Mode: 0o4755},
		),
		packed(
			t, plainFile("etc/.wh.old", ""), plainFile("var/.wh..wh..opq", ""), plainFile("var/new", "new"),
			plainFile("folder", "a file"),
			file{Name: "link/", Typeflag: tar.TypeDir}, plainFile("link/own", "own"),
			file{Name: "dev/sda", Typeflag: tar.TypeBlock, Devmajor: 8},
		),
	}
}

// wantTree lists the files that result from them.
const wantTree = "bin bin/same=#! bin/tool=#! dev etc etc/kept=kept folder=a file link link/own=own var var/new=new"

func tree(t testing.TB, root string) string {
	t.Helper()
	var all []string
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || path == root {
			return err
		}
		line, _ := filepath.Rel(root, path)
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += "=" + string(text)
		} else if !info.IsDir() {
			line += info.Mode().String()
		}
		all = append(all, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// configOf returns the configuration of an image with those layers.
func configOf(architecture string, all [][]byte) []byte {
	var ids []string
	for _, l := range all {
		ids = append(ids, "sha256:"+sum(l))
	}
	text, _ := json.Marshal(map[string]any{
		"os": "linux", "architecture": architecture, "rootfs": map[string]any{"type": "layers", "diff_ids": ids},
		"config": map[string]any{
			"Env": []string{"PATH=/bin", "A=b"}, "WorkingDir": "/var", "User": "nobody:users",
			"Entrypoint": []string{"/bin/tool"}, "Cmd": []string{"-x"},
		},
	})
	return text
}

// saved returns an archive as docker save wrote it before it wrote OCI layouts: the second layer's file is a link to one of
// another image.
func saved(t testing.TB, architecture string, tags ...string) []byte {
	t.Helper()
	all := layers(t)
	config := configOf(architecture, all)
	var manifest []map[string]any
	for _, tag := range tags {
		manifest = append(manifest, map[string]any{
			"Config": sum(config) + ".json", "RepoTags": []string{tag},
			"Layers": []string{"a/layer.tar", "b/layer.tar"},
		})
	}
	text, _ := json.Marshal(manifest)
	return packed(
		t, plainFile(sum(config)+".json", string(config)), plainFile("a/layer.tar", string(all[0])),
		file{Name: "b/layer.tar", Typeflag: tar.TypeSymlink, Linkname: "../c/layer.tar"},
		plainFile("c/layer.tar", string(all[1])), plainFile("manifest.json", string(text)),
	)
}

// layout returns the files of an OCI layout with an index for two architectures, compressed layers and provenance.
func layout(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion": "1.0.0"}`)}
	blob := func(kind string, b []byte) map[string]any {
		files["blobs/sha256/"+sum(b)] = b
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": "sha256:" + sum(b), "size": len(b)}
	}
	asText := func(v any) []byte {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	all := layers(t)
	var of []map[string]any
	for _, architecture := range []string{"s390x", runtime.GOARCH} {
		m := blob("manifest.v1+json", asText(map[string]any{
			"config": blob("config.v1+json", configOf(architecture, all)),
			"layers": []any{blob("layer.v1.tar+gzip", gzipped(all[0])), blob("layer.v1.tar+zstd", zstdOf(all[1]))},
		}))
		m["platform"] = map[string]string{"os": "linux", "architecture": architecture}
		of = append(of, m)
	}
	attestation := blob("manifest.v1+json", asText(map[string]any{"config": blob("config.v1+json", []byte("{}"))}))
	attestation["platform"] = map[string]string{"os": "unknown", "architecture": "unknown"}
	inner := blob("index.v1+json", asText(map[string]any{"manifests": append([]map[string]any{attestation}, of...)}))
	inner["annotations"] = map[string]string{"org.opencontainers.image.ref.name": "latest"}
	files["index.json"] = asText(map[string]any{"manifests": []any{inner}})
	return files
}

// TestOpen: the same image in every form that it has comes to the same files, each in the cache once.
func TestOpen(t *testing.T) {
	testenv.NeedRoot(t) // to give files their owners
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	folder := t.TempDir()
	files := layout(t)
	var entries []file
	for name, b := range files {
		path := filepath.Join(folder, "oci", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, plainFile(name, string(b)))
	}
	docker := saved(t, runtime.GOARCH, "one:1")
	for name, b := range map[string][]byte{
		"docker.tar": docker, "docker.tar.gz": gzipped(docker), "docker.tar.zst": zstdOf(docker),
		"two.tar": saved(t, runtime.GOARCH, "one:1", "x.y/two:2"), "oci.tar": packed(t, entries...),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	roots := map[string]bool{}
	for _, name := range []string{
		"docker.tar", "docker.tar.gz", "docker.tar.zst", "two.tar:x.y/two:2", "oci",
		"oci:latest", "oci.tar", "oci.tar:latest",
	} {
		i, err := Open(filepath.Join(folder, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := tree(t, i.Root); got != wantTree {
			t.Errorf("%s: %s\nwant %s", name, got, wantTree)
		}
		if want := (Config{
			[]string{"PATH=/bin", "A=b"},
			"/var", "nobody:users",
			[]string{"/bin/tool", "-x"},
		}); fmt.Sprint(i.Config) != fmt.Sprint(want) || !i.Starts() {
			t.Errorf("%s: %+v", name, i.Config)
		}
		if info, err := os.Stat(filepath.Join(i.Root, "bin/same")); err != nil || info.Mode() != 0o755|os.ModeSetuid {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		roots[i.Root] = true
		if left := Left(); len(left) != 0 {
			t.Errorf("%v are in use, and left", left)
		}
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(roots) != 1 {
		t.Errorf("it is unpacked in %v", roots)
	}
	// A file system has no configuration.
	flat := packed(t, file{Name: "bin/", Typeflag: tar.TypeDir}, plainFile("bin/x", "x"))
	for _, b := range [][]byte{flat, zstdOf(flat)} {
		path := filepath.Join(folder, "flat")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		i, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := tree(t, i.Root); got != "bin bin/x=x" || i.Folder != "" || i.Starts() {
			t.Errorf("%s, %+v", got, i.Config)
		}
		roots[i.Root] = true
		i.Close()
	}
	left := Left()
	for _, f := range left {
		if err := Remove(f); err != nil {
			t.Error(err)
		}
	}
	if len(left) != 2 || len(roots) != 2 || len(Left()) != 0 {
		t.Errorf("%v are left of %v", left, roots)
	}
}

// TestRefused: a file that is no image for this machine is refused with a remedy, and leaves nothing in the cache.
func TestRefused(t *testing.T) {
	testenv.NeedRoot(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	outside := t.TempDir()
	damaged := saved(t, runtime.GOARCH, "one:1")
	damaged = bytes.Replace(damaged, []byte("#!"), []byte("!!"), 1)
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":    {nil, "empty is not an image: expected a root folder, an archive written by docker save"},
		"text":     {[]byte(strings.Repeat("hello ", 1000)), "text is not an image"},
		"cut":      {saved(t, runtime.GOARCH, "one:1")[:3000], "the archive is damaged"},
		"cut gzip": {gzipped(saved(t, runtime.GOARCH, "one:1"))[:300], "decompress "},
		"damaged":  {damaged, "the image is damaged"},
		"other": {saved(t, "s390x", "one:1"), "other is for linux/s390x, but this machine is linux/" + runtime.GOARCH +
			" (fetch that platform with docker pull --platform"},
		"several":   {saved(t, runtime.GOARCH, "one:1", "two:2"), "holds several images (use "},
		"several:3": {nil, `has no image "3" (use `},
		"up":        {packed(t, plainFile("../up", "x")), "points outside of the image"},
		"up by a link": {packed(t, file{Name: "out", Typeflag: tar.TypeSymlink, Linkname: "../.."},
			file{Name: "in", Typeflag: tar.TypeLink, Linkname: "out/../../etc/passwd"}), "unpack the archive: "},
		"hard": {
			packed(t, file{Name: "out", Typeflag: tar.TypeLink, Linkname: "../../etc/passwd"}),
			"unpack the archive: ",
		},
	} {
		path := filepath.Join(outside, name)
		if c.content != nil || name == "empty" {
			if err := os.WriteFile(path, c.content, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(filepath.Join(outside, "several"), saved(t, runtime.GOARCH, "one:1",
			"two:2"), 0o644); err != nil {
			t.Fatal(err)
		}
		i, err := Open(path)
		if err == nil {
			t.Errorf("%s is fine: %s", name, tree(t, i.Root))
			i.Close()
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(outside, "nowhere")); err == nil ||
		!strings.Contains(err.Error(), "no such file or directory: an image must be a local file (fetch one with \"skopeo "+
			"copy docker://NAME oci:") {
		t.Error(err)
	}
	if left := Left(); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	// A link to a path of the machine's is one to the image's own.
	path := filepath.Join(outside, "link")
	if err := os.WriteFile(path, packed(t, file{Name: "out", Typeflag: tar.TypeSymlink, Linkname: outside},
		plainFile("out/x", "x")), 0o644); err != nil {
		t.Fatal(err)
	}
	i, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if _, err := os.Stat(filepath.Join(outside, "x")); err == nil {
		t.Error("a link led outside")
	}
	if _, err := os.Stat(filepath.Join(i.Root, outside, "x")); err != nil {
		t.Error(err)
	}
}

// TestAgainstTar: files, links, owners, modes, times and extended attributes are as GNU tar unpacks them.
func TestAgainstTar(t *testing.T) {
	testenv.NeedRoot(t)
	from, want, got := t.TempDir(), t.TempDir(), t.TempDir()
	script := `set -e
mkdir -p usr/lib/deep empty && ln -s usr/lib lib && ln -s /usr abs && echo one >usr/lib/one && ln usr/lib/one usr/lib/same && echo set >usr/set
chown 1000:1001 usr/lib/one empty && chmod 4711 usr/set && chmod 1777 empty && ln -s /nowhere usr/dangling && chown -h 7:8 usr/dangling
touch -d 2001-02-03T04:05:06Z usr/set usr/lib empty
python3 -c 'import os; os.setxattr("usr/set", "user.note", b"here")'
tar --xattrs --format=pax -cf ../layer.tar .`
	make := exec.Command("bash", "-c", script)
	make.Dir = filepath.Join(from, "root")
	if err := os.Mkdir(make.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	path := filepath.Join(from, "layer.tar")
	if out, err := exec.Command("tar", "--xattrs", "--numeric-owner", "-xpf", path, "-C",
		want).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := apply(got, f); err != nil {
		t.Fatal(err)
	}
	list := func(folder string) string {
		c := exec.Command("bash", "-c", `find . -type l -printf '%p %U:%G %l\n' -o -printf '%p %y %m %U:%G %n %Ts\n' | sort
cat usr/lib/same usr/set && python3 -c 'import os; print(os.getxattr("usr/set", "user.note"))'`)
		c.Dir = folder
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if w, g := list(want), list(got); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

// TestKilled: the next unpacking removes the unfinished folders of a killed process.
func TestKilled(t *testing.T) {
	testenv.NeedRoot(t)
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	path := filepath.Join(cache, "image")
	if err := os.WriteFile(path, packed(t, plainFile("x", "x")), 0o644); err != nil {
		t.Fatal(err)
	}
	folder, err := cacheFolder()
	if err != nil {
		t.Fatal(err)
	}
	killed, busy := filepath.Join(folder, unfinished+"killed"), filepath.Join(folder, unfinished+"busy")
	for _, f := range []string{killed, busy} {
		if err := os.MkdirAll(filepath.Join(f, "part"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := take(busy)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	i, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	entries, err := os.ReadDir(folder)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{filepath.Base(i.Root), unfinished + "busy"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%v, %v; want %v", names, err, want)
	}
}

// TestFolder: what in a layout's folder is not a file is refused, and waits for nobody.
func TestFolder(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "oci-layout"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "index.json")
	for want, put := range map[string]func() error{
		path + " is not a file":   func() error { return unix.Mkfifo(path, 0o644) },
		path + " is not a file ":  func() error { return os.Mkdir(path, 0o755) },
		folder + ": openat index": func() error { return os.Symlink("/etc/passwd", path) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(folder); err == nil || !strings.HasPrefix(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v, want %s", err, want)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFull: a cache without room is no mistake of the image's.
func TestFull(t *testing.T) {
	testenv.NeedRoot(t)
	cache, folder := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	if err := unix.Mount("pausenet", cache, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := unix.Unmount(cache, 0); err != nil {
			t.Error(err)
		}
	}()
	big := packed(t, plainFile("big", strings.Repeat("x", 2<<20)))
	for name, b := range map[string][]byte{"big.tar": big, "big.tar.gz": gzipped(big)} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		var full *CacheError
		if _, err := Open(path); !errors.As(err, &full) || !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left := Left(); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}

// TestRemoved: an image that is in use stays, however many remove and make others meanwhile.
func TestRemoved(t *testing.T) {
	testenv.NeedRoot(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, packed(t, plainFile("x", "x")), 0o644); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				i, err := Open(path)
				if err != nil {
					t.Error(err)
					return
				}
				runtime.Gosched()
				if _, err := os.Stat(filepath.Join(i.Root, "x")); err != nil {
					t.Error(err)
				}
				i.Close()
				for _, folder := range Left() {
					_ = Remove(folder)
				}
			}
		})
	}
	all.Wait()
}
