package pluginset

import (
	"encoding/json"
	"slices"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// DirsMember is the member of meta.json with the directories of a conversation's plugins:
// their hooks and MCP servers name programs there, and their skills name files.
const DirsMember = "ohgw_plugin_directories"

// noteDirs keeps the directories of plugins with a new conversation. What the request has
// under that name does not count.
func noteDirs(s *control.Start, plugins []plugin.Plugin) error {
	members := make(map[string]json.RawMessage)
	if len(s.Request) > 0 && json.Unmarshal(s.Request, &members) != nil {
		return apierr.Refused("The request is not a JSON object.", nil)
	}
	_, given := members[DirsMember]
	if len(plugins) == 0 && !given {
		return nil
	}
	delete(members, DirsMember)
	var err error
	if len(plugins) > 0 {
		if members[DirsMember], err = withDirs(nil, plugins...); err != nil {
			return err
		}
	}
	s.Request, err = json.Marshal(members)
	return err
}

// Inherited are the members of meta.json of a task whose parent shows these directories.
func Inherited(shown []string) (map[string]json.RawMessage, error) {
	if len(shown) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(shown)
	return map[string]json.RawMessage{DirsMember: list}, err
}

// amendDirs keeps the directory of a plugin with a conversation.
func amendDirs(d *store.Dir, p plugin.Plugin) error {
	list, err := withDirs(d.Meta()[DirsMember], p)
	if err != nil {
		return err
	}
	return d.Note(DirsMember, list)
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

// Shown are the directories of a conversation's plugins that its box shows: those that
// the user has installed or made, and checkouts. What else a request names stays as hidden
// as the box has it.
func (l *Set) Shown(meta store.RawMeta) []string {
	places := l.places()
	return slices.DeleteFunc(dirsOf(meta[DirsMember]), func(dir string) bool { return !places.Has(dir) })
}
