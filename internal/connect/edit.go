package connect

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ErrTaken says that a file has settings for ohgw that are not from here, or
// for something else in their place.
var ErrTaken = errors.New("it already has an entry of that name")

// ErrForm says that a file is written in a way that is not changed safely.
var ErrForm = errors.New("its format cannot be changed safely")

// Add is a file of the client with our entry, which takes the place of an
// older one of ours. Everything else stays as it is, byte for byte. The errors
// are ErrTaken and ErrForm.
func (c Client) Add(old string, v Values) (string, error) {
	return keepLineEnds(old, func(old string) (string, error) { return c.add(old, v) })
}

func (c Client) add(old string, v Values) (string, error) {
	if c.whole {
		return c.addWhole(old, v)
	}
	base, err := c.remove(old)
	if err != nil {
		return "", err
	}
	var text string
	switch c.Form {
	case YAML:
		text, err = c.addYAML(base, v)
	case JSON:
		text, err = c.addJSON(base, v)
	default:
		err = ErrForm
	}
	if err == nil {
		err = c.prove(base, text, v)
	}
	if err != nil {
		return "", err
	}
	return text, nil
}

// Remove is a file without our entry. It is as it was before [Client.Add],
// except where that had to make room for it. The error is ErrForm, also where
// something else would go with it.
func (c Client) Remove(old string) (string, error) { return keepLineEnds(old, c.remove) }

func (c Client) remove(old string) (text string, err error) {
	if c.whole {
		return c.removeWhole(old), nil
	}
	switch c.Form {
	case YAML:
		text, err = removeYAML(old)
	case JSON:
		text, err = c.removeJSON(old)
	default:
		err = ErrForm
	}
	if err == nil && text != old {
		err = c.proveGone(old, text)
	}
	if err != nil {
		return "", err
	}
	return text, nil
}

// keepLineEnds changes a text whose lines end as on Windows, all of them,
// without a change of that.
func keepLineEnds(old string, change func(string) (string, error)) (string, error) {
	n := strings.Count(old, "\r\n")
	if n == 0 || n != strings.Count(old, "\n") || n != strings.Count(old, "\r") {
		return change(old)
	}
	text, err := change(strings.ReplaceAll(old, "\r\n", "\n"))
	return strings.ReplaceAll(text, "\n", "\r\n"), err
}

// prove reads the file before and after as data: the change must be our entry
// and nothing else.
func (c Client) prove(before, after string, v Values) error {
	was, is, ours, err := c.readAll(before, after, v)
	if err != nil {
		return err
	}
	if want := merge(was, ours, c.at); !reflect.DeepEqual(is, want) {
		return fmt.Errorf("%w: the position of the entry is not clear", ErrForm)
	}
	return nil
}

// proveGone reads the file before and after as data: what is gone must be our
// entry and nothing else.
func (c Client) proveGone(before, after string) error {
	// Of our entry the keys matter.
	was, is, ours, err := c.readAll(before, after, Values{BaseURL: "x", ContainerURL: "x", Model: "x", Program: "x"})
	if err != nil {
		return err
	}
	if !c.onlyOurs(was, is, ours, c.at) {
		return fmt.Errorf("%w: another entry is at the position of ohgw's entry", ErrForm)
	}
	return nil
}

// readAll reads the file before and after, and our entry, as data.
func (c Client) readAll(before, after string, v Values) (was, is, ours any, err error) {
	if was, err = c.read(before); err == nil {
		is, err = c.read(after)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	if ours, err = c.read(c.Settings(v)); err != nil {
		return nil, nil, nil, fmt.Errorf("read settings for %s: %w", c.Name, err)
	}
	return was, is, ours, nil
}

// onlyOurs reports whether is lacks nothing that was but our entry: an element of
// the list at the end of the path, or members that our settings have.
func (c Client) onlyOurs(was, is, ours any, at []string) bool {
	switch was := was.(type) {
	case []any:
		left, ok := is.([]any)
		if len(at) > 0 || !ok && is != nil || len(left) != len(was)-1 {
			return reflect.DeepEqual(was, is)
		}
		return lacksOne(was, left)
	case map[string]any:
		left, ok := is.(map[string]any)
		if !ok && is != nil {
			return false
		}
		add, _ := ours.(map[string]any)
		return c.lacksOnlyOurs(was, left, add, at)
	}
	return reflect.DeepEqual(was, is)
}

// lacksOne reports whether left is was without one of its elements.
func lacksOne(was, left []any) bool {
	for i := range was {
		if reflect.DeepEqual(slices.Delete(slices.Clone(was), i, i+1), append([]any{}, left...)) {
			return true
		}
	}
	return false
}

// lacksOnlyOurs decides what onlyOurs does, for the members of an object.
func (c Client) lacksOnlyOurs(was, left, ours map[string]any, at []string) bool {
	for key, value := range was {
		rest, there := left[key]
		_, known := ours[key]
		switch {
		case len(at) > 0 && key == at[0]: // on the path to our entry
			if whole := len(at) == 1 && c.Form == JSON && !there; !whole && !c.onlyOurs(value, rest, ours[key], at[1:]) {
				return false
			}
		case there && !reflect.DeepEqual(value, rest), !there && !known:
			return false
		}
	}
	for key := range left {
		if _, there := was[key]; !there {
			return false
		}
	}
	return true
}

// read gives the data of a file; nil for one that says nothing.
func (c Client) read(text string) (any, error) {
	if blank(text) {
		return nil, nil
	}
	switch c.Form {
	case YAML:
		return readYAML(text)
	case TOML:
		return readTOML(text)
	}
	return readJSON(text)
}

// merge computes what the data should be: that of the file, with our entry at its
// place. At the end of the path lists are joined and objects are united.
func merge(was, ours any, at []string) any {
	if was == nil {
		return ours
	}
	switch was := was.(type) {
	case []any:
		if add, ok := ours.([]any); ok {
			return append(append([]any{}, was...), add...)
		}
	case map[string]any:
		add, ok := ours.(map[string]any)
		if !ok {
			return was
		}
		out := make(map[string]any, len(was)+len(add))
		for name, value := range was {
			out[name] = value
		}
		if len(at) > 0 { // the rest of ours is for files that are not there yet
			out[at[0]] = merge(was[at[0]], add[at[0]], at[1:])
			return out
		}
		for name, value := range add {
			out[name] = value
		}
		return out
	}
	return was
}

// entry is our entry in the data of our settings.
func entry(v any, at []string) any {
	for _, key := range at {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}
