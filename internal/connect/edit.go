package connect

import (
	"errors"
	"fmt"
	"reflect"
)

// ErrTaken says that a file has settings for ohgw that are not from here, or
// for something else in their place.
var ErrTaken = errors.New("it has an entry of that name already")

// ErrForm says that a file is written in a way that is not changed safely.
var ErrForm = errors.New("it is written in a way that cannot be changed safely")

// Add is a file of the client with our entry, which takes the place of an
// older one of ours. Everything else stays as it is, byte for byte. The errors
// are ErrTaken and ErrForm.
func (c Client) Add(old string, v Values) (string, error) {
	base, err := c.Remove(old)
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
// except where that had to make room for it.
func (c Client) Remove(old string) (string, error) {
	switch c.Form {
	case YAML:
		return removeYAML(old)
	case JSON:
		return removeJSON(old, c.at)
	}
	return "", ErrForm
}

// prove reads the file before and after as data: the change must be our entry
// and nothing else.
func (c Client) prove(before, after string, v Values) error {
	was, err := c.read(before)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	is, err := c.read(after)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	ours, err := c.read(c.Settings(v))
	if err != nil {
		return fmt.Errorf("read settings for %s: %w", c.Name, err)
	}
	if want := merge(was, ours, c.at); !reflect.DeepEqual(is, want) {
		return fmt.Errorf("%w: the place of the entry is not clear", ErrForm)
	}
	return nil
}

// read gives the data of a file; nil for one that says nothing.
func (c Client) read(text string) (any, error) {
	if blank(text) {
		return nil, nil //nolint:nilnil // Nothing is there, and that is fine.
	}
	if c.Form == YAML {
		return readYAML(text)
	}
	return readJSON(text)
}

// merge is what the data should be: that of the file, with our entry at its
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
