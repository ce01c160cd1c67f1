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
	add := func(text string) string {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + Line(key, value) + "\n"
	}
	return change(path, add, func(settings map[string]any) bool {
		_, there := settings[key]
		settings[key] = value
		return !there
	})
}

// change writes an edited config file, if that means what set makes of the settings before.
// Where set reports false, it cannot.
func change(path string, edit func(text string) string, set func(settings map[string]any) bool) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read config: %w", err)
	}
	text := edit(string(old))
	want, after := map[string]any{}, map[string]any{}
	if _, err := toml.Decode(string(old), &want); err != nil {
		return ErrNotAppendable
	}
	if _, err := toml.Decode(text, &after); err != nil {
		return ErrNotAppendable
	}
	if !set(want) || !reflect.DeepEqual(want, after) {
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
