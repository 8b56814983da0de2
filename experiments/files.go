package experiments

import (
	"fmt"
	"io"
	"os"

	"github.com/pausenet/pausenet/hostagent/cc"
)

// maxSettingFile bounds a file that a constant names.
const maxSettingFile = 16 << 20

// resolver resolves controllers' constants. Those that name files mean them relative to the working directory.
var resolver = cc.Resolver{ReadFile: readSettingFile}

func readSettingFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w (a relative path is relative to the working directory)", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSettingFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSettingFile {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, maxSettingFile)
	}
	return data, nil
}
