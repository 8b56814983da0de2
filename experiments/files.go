package experiments

import (
	"fmt"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/files"
)

// settingFile is a file that a constant names.
var settingFile = files.Kind{Name: "a constant's file", Most: 16 << 20}

// resolver resolves controllers' constants. Those that name files mean them relative to the working directory.
var resolver = cc.Resolver{ReadFile: readSettingFile}

func readSettingFile(path string) ([]byte, error) {
	data, err := files.Read(path, settingFile)
	if err != nil && !files.IsRefused(err) {
		err = fmt.Errorf("%w (a relative path is relative to the working directory)", err)
	}
	return data, err
}
