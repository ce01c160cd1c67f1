package kit

import (
	"errors"
	"io/fs"
	"os"
)

// ReadIfThere reads a file that need not exist.
func ReadIfThere(path string) (text string, there bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return string(data), err == nil, err
}
