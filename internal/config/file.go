package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/keyfile"
	"github.com/ohgw/ohgw/internal/storage"
	"github.com/ohgw/ohgw/internal/suggest"
)

// fileVersion is the version of the config file that this program knows. A
// file need not say it; one that says a higher one is refused as a whole,
// since its keys may mean something else.
const fileVersion = 1

const versionKey = "version"

// contents are those of the config file.
type contents struct {
	values     map[string]any            // by key, with dots for tables
	workspaces map[string]map[string]any // of the sandbox: by workspace, then by key without "sandbox."
}

// readFile reads the config file. found is false for a file that need not exist.
func readFile(path string, named bool) (c contents, found bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return c, false, nil
	}
	if err != nil {
		return c, false, unreadable(path, err)
	}
	var tree map[string]any
	if _, err := toml.Decode(string(text), &tree); err != nil {
		return c, false, broken(path, err)
	}
	if err := checkVersion(path, tree[versionKey]); err != nil {
		return c, false, err
	}
	delete(tree, versionKey)
	if c.workspaces, err = cutWorkspaces(path, tree); err != nil {
		return c, false, err
	}
	c.values = map[string]any{}
	flatten("", tree, c.values)
	return c, true, checkKeys(path, "", c.values, Fields())
}

func flatten(prefix string, tree, into map[string]any) {
	for k, v := range tree {
		if table, ok := v.(map[string]any); ok {
			flatten(prefix+k+".", table, into)
			continue
		}
		into[prefix+k] = v
	}
}

func checkVersion(path string, v any) error {
	n, isNumber := v.(int64)
	switch {
	case v == nil || isNumber && n == fileVersion:
		return nil
	case isNumber && n > fileVersion:
		return &fault.Error{
			Msg:  fmt.Sprintf("the config file %s was written for a newer ohgw (its version is %d, this one knows %d)", path, n, fileVersion),
			Hint: "upgrade ohgw, or choose another file with --config",
			Code: fault.Usage,
		}
	}
	return &fault.Error{
		Msg:  fmt.Sprintf("the config file %s has the version %v, which is not valid", path, v),
		Hint: fmt.Sprintf("write version = %d, or leave it out", fileVersion),
		Code: fault.Usage,
	}
}

// checkKeys refuses keys that no setting has: a mistyped key would otherwise
// be a setting that silently does not hold. The keys of values have table before
// them in the file.
func checkKeys(path, table string, values map[string]any, fields []Field) error {
	known := make([]string, 0, len(fields))
	for _, f := range fields {
		known = append(known, f.Key)
	}
	var unknown, hints []string
	for key := range values {
		if !slices.Contains(known, key) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	for i, key := range unknown {
		if near := nearestKey(key, fields, known); near != "" {
			hints = append(hints, near)
		}
		unknown[i] = table + key
	}
	hint := "ohgw config show lists all keys"
	if len(hints) > 0 {
		hint = "did you mean " + strings.Join(hints, ", ") + "? " + hint
	}
	word := "key"
	if len(unknown) > 1 {
		word = "keys"
	}
	return &fault.Error{
		Msg:  fmt.Sprintf("unknown %s %s in the config file %s", word, strings.Join(unknown, ", "), path),
		Hint: hint,
		Code: fault.Usage,
	}
}

// nearestKey also knows the names of flags, which have dashes for underscores.
func nearestKey(key string, fields []Field, known []string) string {
	for _, f := range fields {
		if f.Flag != "" && f.Flag == strings.ReplaceAll(key, "_", "-") {
			return f.Key
		}
	}
	return suggest.Nearest(key, known)
}

func unreadable(path string, err error) error {
	hint := "make the file readable, or choose another file with --config"
	if errors.Is(err, fs.ErrNotExist) {
		hint = "create the file, or remove --config and OHGW_CONFIG to use the default"
	} else if errors.Is(err, fs.ErrPermission) {
		hint = "make the file readable: " + storage.Access(path, os.Stat, keyfile.Mine) + "; or choose another file with --config"
	}
	return &fault.Error{Msg: "cannot read the config file " + path, Hint: hint, Code: fault.Usage, Err: storage.Cause(err)}
}

// broken returns the error for a file that is not TOML: mistyped, or only half of it
// was written.
func broken(path string, err error) error {
	msg := "the config file " + path + " is not valid"
	if parse, ok := errors.AsType[toml.ParseError](err); ok {
		msg = fmt.Sprintf("the config file %s is not valid at line %d", path, parse.Position.Line)
		if parse.Message != "" {
			err = errors.New(parse.Message)
		}
	}
	return &fault.Error{
		Msg:  msg,
		Hint: "correct it, or move it away to use the defaults: " + filepath.Base(path) + " is TOML, with lines such as addr = \"127.0.0.1:6449\"",
		Code: fault.Usage, Err: err,
	}
}
