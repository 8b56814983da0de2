package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/pausenet/pausenet/experiments/suite"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// checkPrivileges returns an error with advice if this user cannot build the fabric.
func checkPrivileges() error {
	if os.Geteuid() != 0 {
		return &exitError{exitEnvironment, errors.New(
			"the kernel plane needs root for namespaces and eBPF programs: run it with sudo, or use --plane wasm")}
	}
	return nil
}

// choosePlane resolves --plane. The default is the wasm plane, which needs no root and is faster. Results are equal
// on both.
func choosePlane(given string) (string, error) {
	switch given {
	case "auto", plane.Wasm:
		return plane.Wasm, nil
	case plane.Kernel:
		return given, checkPrivileges()
	case plane.Wazero: // not offered: only tests use it
		if err := kernel.CheckWazero(); err != nil {
			return "", badInput(err)
		}
		return given, nil
	}
	return "", badInput(fmt.Errorf("unknown plane %q (choose kernel, wasm or auto)", given))
}

// lockResults prevents two runs from writing into one scenario's folder at the same time. The lock ends with the
// process.
func lockResults(ctx context.Context, suite *suite.Suite) (unlock func(), err error) {
	var locks []func()
	unlock = func() {
		for _, release := range locks {
			release()
		}
	}
	for i := range suite.Scenarios {
		folder := filepath.Join(suite.Directory, suite.Scenarios[i].Scenario.Name)
		release, err := lockResultsFolder(ctx, suite.Directory, folder, dyingTimeout)
		if err != nil {
			unlock()
			return nil, err
		}
		locks = append(locks, release)
	}
	return unlock, nil
}

// dyingTimeout limits how long a run waits for a locked folder: the time that the kernel takes to end a killed process
// with its namespaces and programs.
const dyingTimeout = 2 * time.Second

// lockResultsFolder creates a folder for results below the user's folder, and locks it until release is called.
func lockResultsFolder(ctx context.Context, within, path string, timeout time.Duration) (release func(), err error) {
	folder, err := files.OpenFolder(within, path)
	if err != nil {
		return nil, &exitError{exitEnvironment, fmt.Errorf(
			"cannot create the output folder: %w (choose another with --out)", err)}
	}
	var locked *files.LockedError
	lock, err := folder.Lock()
	for deadline := time.Now().Add(timeout); errors.As(err, &locked) && time.Now().Before(deadline) && ctx.Err() == nil; {
		time.Sleep(20 * time.Millisecond)
		lock, err = folder.Lock()
	}
	if err == nil {
		return func() {
			_ = lock.Release() // a leftover lock file blocks nobody
			folder.Close()
		}, nil
	}
	folder.Close()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.As(err, &locked) {
		return nil, &exitError{exitEnvironment, lockedMessage(locked)}
	}
	return nil, &exitError{exitEnvironment, fmt.Errorf(
		"cannot lock the output folder: %w (choose another with --out)", err)}
}

// lockedMessage returns an error that names the holder of a folder's lock, with advice.
func lockedMessage(l *files.LockedError) error {
	who, otherwise := "another run", ""
	if l.User != "" {
		who = "a run of user " + l.User
		otherwise = fmt.Sprintf("; if it was killed, remove %s", filepath.Join(l.Path, files.LockName))
	}
	if l.Process != 0 {
		who += fmt.Sprintf(", process %d,", l.Process)
	}
	return fmt.Errorf("%s is writing into %s: wait until it ends, or choose another folder with --out%s", who, l.Path,
		otherwise)
}

// modulePath holds pausenet's module path.
const modulePath = "github.com/pausenet/pausenet"

// version returns pausenet's version: the module's, or the commit that it was built from. A program of another
// module adds its own, since it may contain other controllers.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				v = s.Value[:12]
			}
		}
	}
	for _, m := range info.Deps {
		if m.Path == modulePath {
			return fmt.Sprintf("%s in %s %s", m.Version, info.Main.Path, v)
		}
	}
	return v
}

// build returns a hash of this program's file, which distinguishes builds of the same version.
func build() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}
