package extension

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/optional"
)

// Fetch finds a plugin without installing it: a directory as it is, a commit of a
// repository in the cache. The plugin needs a manifest. What is wrong with it is a
// [plugin.Error].
func Fetch(ctx context.Context, p Places, from control.Plugin) (openhands.FetchedPlugin, error) {
	place, err := p.sources().Find(ctx, from)
	if err != nil {
		return openhands.FetchedPlugin{}, sentence(err)
	}
	if strings.HasPrefix(from.Source, "file://") && place.Commit == "" {
		return openhands.FetchedPlugin{}, &plugin.Error{Code: plugin.Unavailable, Msg: "Its source is not a git repository; give its path without file://."}
	}
	if from.Path != "" && !isDir(place.Dir) {
		return openhands.FetchedPlugin{}, &plugin.Error{Code: plugin.NoRepoPath, Msg: "Its source has no directory " + filepath.ToSlash(from.Path) + "."}
	}
	found, err := plugin.Load(place.Dir)
	if err != nil {
		return openhands.FetchedPlugin{}, &plugin.Error{Code: plugin.InvalidPlugin, Msg: "Invalid plugin: " + err.Error() + "."}
	}
	if found.Manifest == nil {
		return openhands.FetchedPlugin{}, &plugin.Error{Code: plugin.InvalidPlugin, Msg: "Invalid plugin: it has no .plugin/plugin.json."}
	}
	return openhands.FetchedPlugin{
		Path: place.Dir, ResolvedRef: optional.Of(place.Commit), Manifest: found.Manifest, Skills: found.SkillNames(), Commands: found.Commands(),
	}, nil
}

// sentence makes a sentence of what is wrong with a source.
func sentence(err error) error {
	wrong, ok := errors.AsType[*plugin.Error](err)
	if !ok || wrong.Msg == "" {
		return err
	}
	first := []rune(wrong.Msg)
	first[0] = unicode.ToUpper(first[0])
	return &plugin.Error{Code: wrong.Code, Msg: string(first) + "."}
}
