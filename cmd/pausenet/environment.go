package main

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

	"github.com/pausenet/pausenet/experiments"
	"github.com/pausenet/pausenet/orchestrator"
)

// checkPrivileges says what to do when the fabric cannot be built by this user.
func checkPrivileges() error {
	if os.Geteuid() != 0 {
		return &exitError{exitEnvironment, errors.New(
			"the kernel plane builds namespaces and loads eBPF programs, which needs root: run it with sudo, or use --plane wasm")}
	}
	return nil
}

// choosePlane resolves --plane; why says what auto decided by.
func choosePlane(given string) (plane, why string, err error) {
	switch given {
	case "auto":
		plane, why = orchestrator.ChoosePlane()
		return plane, why, nil
	case orchestrator.PlaneKernel:
		return given, "", checkPrivileges()
	case orchestrator.PlaneWasm:
		return given, "", nil
	}
	return "", "", badInput(fmt.Errorf("unknown plane %q: kernel, wasm or auto", given))
}

// errLocked says that another process has the lock.
var errLocked = errors.New("locked by another process")

// lockResults keeps two runs from writing into one scenario's folder at a time. The lock ends with the process.
func lockResults(ctx context.Context, suite *experiments.Suite) (unlock func(), err error) {
	var files []*os.File
	unlock = func() {
		for _, f := range files {
			f.Close()
		}
	}
	for i := range suite.Scenarios {
		f, err := lockResultsFolder(ctx, filepath.Join(suite.Directory, suite.Scenarios[i].Scenario.Name), dyingPatience)
		if err != nil {
			unlock()
			return nil, err
		}
		files = append(files, f)
	}
	return unlock, nil
}

// dyingPatience is how long a run waits for a folder that another one has: for as long as the kernel takes to end a process that was
// killed, with its namespaces and programs.
const dyingPatience = 2 * time.Second

// lockResultsFolder makes a folder for results and locks it until the file is closed.
func lockResultsFolder(ctx context.Context, folder string, patience time.Duration) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, &exitError{exitEnvironment, fmt.Errorf("make the results' folder: %w: choose another with --out", err)}
	}
	f, err := lockFolder(folder)
	for deadline := time.Now().Add(patience); errors.Is(err, errLocked) && time.Now().Before(deadline) && ctx.Err() == nil; {
		time.Sleep(20 * time.Millisecond)
		f, err = lockFolder(folder)
	}
	if errors.Is(err, errLocked) {
		return nil, &exitError{exitEnvironment, fmt.Errorf("another run is writing into %s: wait for it, or choose another folder with --out (%w)", folder, errLocked)}
	}
	if err != nil {
		return nil, &exitError{exitEnvironment, fmt.Errorf("lock the results' folder: %w", err)}
	}
	return f, nil
}

// version is pausenet's: the module's, or the commit it was built from.
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
	return v
}

// build tells this program from others of one version, such as one built before the last commit: a hash of its file.
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
