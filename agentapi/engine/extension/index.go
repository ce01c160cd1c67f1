package extension

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/plainjson"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// IndexName is the name of the file with what is known of the installed ones.
const IndexName = ".installed.json"

// maxIndex bounds the file, in bytes.
const maxIndex = 16 << 20

// index is what is known of the installed ones, in the order of the file.
type index struct {
	list    []openhands.Extension
	changed bool
}

// index reads the file. OpenHands takes one that it cannot read for an empty one, and writes
// it again: what the user has switched off would be on.
func (s *Store) index() (*index, error) {
	data, err := readIndex(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &index{}, nil // nothing is installed, or only by hand
	}
	all := &index{}
	if err == nil {
		all, err = parseIndex(data)
	}
	if err != nil {
		const what = "The list of installed %ss in %s cannot be read; repair its JSON, or remove the file, which switches each installed %s on."
		return nil, &openhands.Error{Kind: openhands.Unreadable, Msg: fmt.Sprintf(what, s.Noun, filepath.Join(s.Dir, IndexName), s.Noun), Err: err}
	}
	return all, nil
}

func readIndex(dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, _, err := sandbox.OpenRegular(root, IndexName)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxIndex))
}

// parseIndex reads the text of the file. Older files have another name for the object in
// it, and of two with one name the newer form counts.
func parseIndex(data []byte) (*index, error) {
	var file struct {
		Plugins    json.RawMessage `json:"plugins"`
		Skills     json.RawMessage `json:"skills"`
		Extensions json.RawMessage `json:"extensions"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	all := &index{}
	for _, object := range []json.RawMessage{file.Plugins, file.Skills, file.Extensions} {
		var entries map[string]json.RawMessage
		if len(object) > 0 {
			if err := json.Unmarshal(object, &entries); err != nil {
				return nil, err
			}
		}
		for _, name := range names(object) {
			e := openhands.Extension{Enabled: true}
			if err := json.Unmarshal(entries[name], &e); err != nil {
				return nil, err
			}
			if e.Name = name; skill.ValidName(name) {
				all.set(e)
			}
		}
	}
	all.changed = false
	return all, nil
}

// names lists the names of an object's members in their order.
func names(object json.RawMessage) (list []string) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return list
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return list
		}
		list = append(list, name.(string)) // the name of a member is one
	}
	return list
}

func (x *index) at(name string) int {
	return slices.IndexFunc(x.list, func(e openhands.Extension) bool { return e.Name == name })
}

func (x *index) get(name string) (openhands.Extension, bool) {
	i := x.at(name)
	if i < 0 {
		return openhands.Extension{}, false
	}
	return x.list[i], true
}

func (x *index) set(e openhands.Extension) {
	x.changed = true
	if i := x.at(e.Name); i >= 0 {
		x.list[i] = e
		return
	}
	x.list = append(x.list, e)
}

func (x *index) remove(name string) {
	x.changed = true
	x.list = slices.DeleteFunc(x.list, func(e openhands.Extension) bool { return e.Name == name })
}

// write writes the file if anything has changed.
func (x *index) write(dir string) error {
	if !x.changed {
		return nil
	}
	var b bytes.Buffer
	b.WriteString(`{"extensions":{`)
	for i, e := range x.list {
		data, err := plainjson.Marshal(e)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := plainjson.Marshal(e.Name)
		if err != nil {
			return err
		}
		b.Write(append(append(name, ':'), data...))
	}
	b.WriteString("}}")
	var laid bytes.Buffer
	if err := json.Indent(&laid, b.Bytes(), "", "  "); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, IndexName), laid.Bytes(), atomicfile.Options{})
}

// sync makes the list that of the directories.
func (s *Store) sync(all *index) {
	for _, e := range slices.Clone(all.list) {
		if !isDir(filepath.Join(s.Dir, e.Name)) {
			all.remove(e.Name)
		}
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return // there are none
	}
	for _, entry := range entries {
		name, dir := entry.Name(), filepath.Join(s.Dir, entry.Name())
		if all.at(name) >= 0 || !skill.ValidName(name) || !isDir(dir) {
			continue
		}
		if about, err := s.Load(dir); err == nil && about.Name == name {
			all.set(openhands.Extension{
				Name: name, Version: about.Version, Description: about.Description, Enabled: true, Source: "local", Path: dir,
				InstalledAt: s.stamp(),
			})
		}
	}
}
