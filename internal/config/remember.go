package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

// ErrNotAppendable says that a line cannot be added to the end of the config
// file: there is such a key already, or a table that the line would belong to.
var ErrNotAppendable = errors.New("the config file does not allow adding the line at its end")

// Line is a setting as the config file has it.
func Line(key, value string) string { return fmt.Sprintf("%s = %q", key, value) }

// Remember adds a setting with a text value to the end of the config file, and
// makes the file if there is none. Every byte that was there stays. Where the
// line would mean something else, or would change what the rest means, nothing
// is written and the error is ErrNotAppendable.
func Remember(path, key, value string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read config: %w", err)
	}
	text := string(old)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += Line(key, value) + "\n"
	var before, after map[string]any
	if _, err := toml.Decode(string(old), &before); err != nil {
		return ErrNotAppendable
	}
	if _, err := toml.Decode(text, &after); err != nil {
		return ErrNotAppendable
	}
	if before == nil {
		before = map[string]any{}
	}
	if _, there := before[key]; there {
		return ErrNotAppendable
	}
	before[key] = value
	if !reflect.DeepEqual(before, after) {
		return ErrNotAppendable
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write config: %w", err)
	}
	if err := atomicfile.Write(path, []byte(text), atomicfile.Options{}); err != nil {
		return fmt.Errorf("write config: %w", err)
	}
	return nil
}
