package engine

import (
	"encoding/json"
	"slices"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// dirsMember is the member of meta.json with the directories of a conversation's plugins:
// their hooks and MCP servers name programs there, and their skills name files.
const dirsMember = "ohgw_plugin_directories"

// noteDirs keeps the directories of plugins with a new conversation. What the request has
// under that name does not count.
func noteDirs(s *control.Start, plugins []plugin.Plugin) error {
	members := make(map[string]json.RawMessage)
	if len(s.Request) > 0 && json.Unmarshal(s.Request, &members) != nil {
		return apierr.Refused("The request is not a JSON object.", nil)
	}
	_, given := members[dirsMember]
	if len(plugins) == 0 && !given {
		return nil
	}
	delete(members, dirsMember)
	var err error
	if len(plugins) > 0 {
		if members[dirsMember], err = withDirs(nil, plugins...); err != nil {
			return err
		}
	}
	s.Request, err = json.Marshal(members)
	return err
}

// inherited are the members of meta.json of a task whose parent shows these directories.
func inherited(shown []string) (map[string]json.RawMessage, error) {
	if len(shown) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(shown)
	return map[string]json.RawMessage{dirsMember: list}, err
}

// amendDirs keeps the directory of a plugin with a conversation.
func amendDirs(d *store.Dir, p plugin.Plugin) error {
	list, err := withDirs(d.Meta()[dirsMember], p)
	if err != nil {
		return err
	}
	return d.Note(dirsMember, list)
}

func withDirs(list json.RawMessage, plugins ...plugin.Plugin) (json.RawMessage, error) {
	dirs := dirsOf(list)
	for _, p := range plugins {
		if !slices.Contains(dirs, p.Dir) {
			dirs = append(dirs, p.Dir)
		}
	}
	return json.Marshal(dirs)
}

func dirsOf(list json.RawMessage) (dirs []string) {
	_ = json.Unmarshal(list, &dirs) // no list: none
	return dirs
}

// shownDirs are the directories of a conversation's plugins that its box shows: those that
// the user has installed or made, and checkouts. What else a request names stays as hidden
// as the box has it.
func (b *Backend) shownDirs(meta store.RawMeta) []string {
	places := b.places()
	return slices.DeleteFunc(dirsOf(meta[dirsMember]), func(dir string) bool { return !places.Has(dir) })
}
