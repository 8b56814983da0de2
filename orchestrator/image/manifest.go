//go:build linux

package image

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
)

// layoutFile names the file in the root of every OCI layout (OCI image specification, image-layout.md).
const layoutFile = "oci-layout"

// manifest describes one image of a source.
type manifest struct {
	id      string // digest of the whole image, in hexadecimal
	config  Config
	layers  []string // files of the source
	digests []string // digests of the uncompressed layers, in hexadecimal
}

// mostText limits the bytes of a manifest, an index or a configuration: registries accept 4 MiB (OCI distribution
// specification, on pushing manifests).
const mostText = 4 << 20

// readText reads a small file; nil if it does not exist.
func readText(in source, name string) ([]byte, error) {
	f, err := in.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostText+1))
	if err == nil && len(text) > mostText {
		err = fmt.Errorf("%s has more than %d bytes", name, mostText)
	}
	return text, err
}

// resolve finds the image with a name, or the only image.
func resolve(in source, path, name string) (*manifest, error) {
	text, err := readText(in, "manifest.json")
	if err != nil {
		return nil, err
	}
	var saved []savedImage
	if json.Unmarshal(text, &saved) == nil && len(saved) > 0 && saved[0].Config != "" {
		return resolveSaved(in, saved, path, name)
	}
	if text, err = readText(in, "index.json"); err != nil {
		return nil, err
	}
	layout, err := readText(in, layoutFile)
	if err != nil {
		return nil, err
	}
	if text != nil && layout != nil {
		return resolveLayout(in, text, path, name)
	}
	t, ok := in.(*tarFile)
	if !ok {
		return nil, errNone(path)
	}
	if name != "" {
		return nil, fmt.Errorf("%s is an archive of one file system (leave %q out)", path, ":"+name)
	}
	digest, err := t.digest()
	if err != nil {
		return nil, err
	}
	return &manifest{id: digest, layers: []string{whole}, digests: []string{digest}}, nil
}

// savedImage represents an entry of manifest.json in an archive of docker save (moby's image/tarexport).
type savedImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func resolveSaved(in source, saved []savedImage, path, name string) (*manifest, error) {
	var names []string
	chosen := -1
	for i, s := range saved {
		names = append(names, s.RepoTags...)
		if slices.Contains(s.RepoTags, name) || name == "" && len(saved) == 1 {
			chosen = i
		}
	}
	if chosen < 0 {
		return nil, errWhich(path, name, names)
	}
	s := &saved[chosen]
	config, err := readText(in, s.Config)
	if err != nil {
		return nil, err
	}
	return withConfig(config, s.Layers, path)
}

// errWhich returns the error that an archive has several images, and one must be named.
func errWhich(path, name string, names []string) error {
	what := "holds several images"
	if name != "" {
		what = fmt.Sprintf("has no image %q", name)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s %s without names (save a single image)", path, what)
	}
	return fmt.Errorf("%s %s (use %s:NAME, with one of %s)", path, what, path, strings.Join(names, ", "))
}

// descriptor describes a blob (OCI image specification, descriptor.md).
type descriptor struct {
	Digest   string
	Platform *struct {
		OS           string
		Architecture string
	}
	Annotations map[string]string
}

// names returns the names of an image in a layout: its tag, or its full name.
func (d *descriptor) names() (names []string) {
	for _, key := range []string{"io.containerd.image.name", "org.opencontainers.image.ref.name"} {
		if name := d.Annotations[key]; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// suits reports whether an image is for this machine, or does not name a platform.
func (d *descriptor) suits() bool {
	return d.Platform == nil || d.Platform.OS == "linux" && d.Platform.Architecture == runtime.GOARCH
}

// blobName returns the path of a blob's file.
func blobName(digest string) (string, error) {
	digits, ok := strings.CutPrefix(digest, "sha256:")
	if _, err := hex.DecodeString(digits); !ok || err != nil || len(digits) != 2*sha256.Size {
		return "", fmt.Errorf("%q: unsupported digest (expected SHA-256)", digest)
	}
	return "blobs/sha256/" + digits, nil
}

// readBlob reads a small blob, and checks its digest.
func readBlob(in source, digest string) ([]byte, error) {
	name, err := blobName(digest)
	if err != nil {
		return nil, err
	}
	text, err := readText(in, name)
	switch {
	case err != nil:
		return nil, err
	case text == nil:
		return nil, fmt.Errorf("%s is missing", name)
	}
	if sum := sha256.Sum256(text); "blobs/sha256/"+hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("%s has a wrong digest: the image is damaged", name)
	}
	return text, nil
}

// index represents an image index (OCI image specification, image-index.md) or a manifest, which is distinguished by
// its config.
type index struct {
	Manifests []descriptor
	Config    *descriptor
	Layers    []descriptor
}

func resolveLayout(in source, text []byte, path, name string) (*manifest, error) {
	var top index
	if err := json.Unmarshal(text, &top); err != nil {
		return nil, fmt.Errorf("%s: index.json: %w", path, err)
	}
	var names []string
	var chosen []descriptor
	for _, d := range top.Manifests {
		own := d.names()
		names = append(names, own...)
		if name == "" || slices.Contains(own, name) {
			chosen = append(chosen, d)
		}
	}
	if slices.Sort(names); name == "" && len(slices.Compact(names)) > 1 && len(chosen) > 1 || len(chosen) == 0 {
		return nil, errWhich(path, name, slices.Compact(names))
	}
	return choose(in, chosen, path, 0)
}

// choose selects the manifest for this machine among those of several platforms.
func choose(in source, all []descriptor, path string, depth int) (*manifest, error) {
	const mostNested = 4
	var others []string
	for i := range all {
		d := &all[i]
		if !d.suits() {
			if p := d.Platform.OS + "/" + d.Platform.Architecture; p != "unknown/unknown" { // of provenance
				others = append(others, p)
			}
			continue
		}
		text, err := readBlob(in, d.Digest)
		var inner index
		if err == nil {
			err = json.Unmarshal(text, &inner)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case len(inner.Manifests) > 0 && depth < mostNested:
			return choose(in, inner.Manifests, path, depth+1)
		case inner.Config == nil:
			return nil, errNone(path)
		}
		config, err := readBlob(in, inner.Config.Digest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		var layers []string
		for _, l := range inner.Layers {
			layer, err := blobName(l.Digest)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			layers = append(layers, layer)
		}
		return withConfig(config, layers, path)
	}
	return nil, errOther(path, strings.Join(others, ", "))
}

// errOther returns the error that an image is for other machines.
func errOther(path, platform string) error {
	return fmt.Errorf("%s is for %s, but this machine is linux/%s (fetch that platform with docker pull --platform "+
		"linux/%s, or skopeo copy --override-arch %s)",
		path, platform, runtime.GOARCH, runtime.GOARCH, runtime.GOARCH)
}

// withConfig makes the manifest of an image with a configuration (OCI image specification, config.md). The
// configuration has the digests of the layers' contents, so its own digest covers the whole image.
func withConfig(text []byte, layers []string, path string) (*manifest, error) {
	var c struct {
		OS           string
		Architecture string
		Config       struct {
			Env        []string
			WorkingDir string
			User       string
			Entrypoint []string
			Cmd        []string
		}
		RootFS struct {
			Type    string
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(text, &c); err != nil || c.RootFS.Type != "layers" {
		return nil, errNone(path)
	}
	if c.OS != "linux" || c.Architecture != runtime.GOARCH {
		return nil, errOther(path, c.OS+"/"+c.Architecture)
	}
	if len(c.RootFS.DiffIDs) != len(layers) {
		return nil, fmt.Errorf("%s: %d layers, but %d digests: the image is damaged", path, len(layers),
			len(c.RootFS.DiffIDs))
	}
	id := sha256.Sum256(text)
	m := &manifest{id: hex.EncodeToString(id[:]), layers: layers}
	for _, d := range c.RootFS.DiffIDs {
		if _, err := blobName(d); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		m.digests = append(m.digests, strings.TrimPrefix(d, "sha256:"))
	}
	user := c.Config.User
	if name, _, _ := strings.Cut(user, ":"); name == "root" || name == "0" {
		user = ""
	}
	m.config = Config{
		Env: c.Config.Env, Folder: c.Config.WorkingDir, User: user,
		Command: slices.Concat(c.Config.Entrypoint, c.Config.Cmd),
	}
	m.config.Folder = cmp.Or(m.config.Folder, "/")
	return m, nil
}
