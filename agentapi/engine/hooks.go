package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// maxHooks bounds the file with hooks, in bytes.
const maxHooks = 1 << 20

// hooks returns the hooks of a conversation: those of its request, or else those of the
// user, in OpenHands' directory and in the definition of the agent, and of its plugins.
// Hooks of the workspace are left out: they came with what was cloned there, and the user
// has not allowed them.
func (a *assembler) hooks(s store.State) (*hook.Runner, error) {
	path := filepath.Join(a.cfg.Base, hookfile.Name)
	var own hookfile.Config
	agents, plugins := s.Tags[tag.AgentHooks] != "", s.Tags[tag.PluginHooks] != ""
	if (len(s.HookConfig) == 0 || agents || plugins) && a.cfg.Base != "" {
		data, err := readHooks(path)
		if err == nil && len(data) > 0 {
			own, err = hookfile.Parse(data)
		}
		if err != nil {
			return nil, &agentapi.Error{
				Kind: agentapi.ErrRefused, Err: err,
				Msg: "The hooks of " + path + " cannot be read; repair the file, or move it away.",
			}
		}
	}
	var given hookfile.Config
	if len(s.HookConfig) > 0 {
		var err error
		if given, err = hookfile.Parse(s.HookConfig); err != nil {
			return nil, apierr.Refused("The hooks of the conversation cannot be read; repair hook_config in its base_state.json.", err)
		}
	}
	all := own.Merge(given)
	if all == nil {
		return nil, nil
	}
	files := hook.FilesOf(given, agents && !plugins, a.cfg.Home, a.cfg.Base)
	maps.Copy(files, hook.FilesOf(own, true, a.cfg.Home, a.cfg.Base))
	return hook.New(hook.Config{Hooks: all, Dir: s.Workspace.WorkingDir, Session: s.ID, Files: files, Repair: a.repairHooks()}), nil
}

// repairHooks says what to do about a hook whose program is not there.
func (a *assembler) repairHooks() string {
	const all = "Make it executable, and check that its interpreter is there."
	if a.cfg.Base == "" {
		return all
	}
	return "Hooks run in the sandbox: put the program and what it needs into " + filepath.Join(a.cfg.Base, hook.Directory) +
		", which the sandbox of hooks shows, or show its directory: ohgw sandbox allow read DIRECTORY. " + all
}

// hookBox is the box in which hooks run: that of the agent, or one that shows their
// programs, too, which the agent does not see.
func (a *assembler) hookBox(ctx context.Context, agent sandbox.Box, e ToolEnv, hooks *hook.Runner) (sandbox.Box, error) {
	files := hooks.Files()
	if level := agent.Level(); len(files) == 0 || level == sandbox.Off || level == sandbox.External {
		return agent, nil
	}
	return a.cfg.Boxes(ctx, BoxEnv{
		Conversation: e.Conversation, Dir: e.Dir, Workspace: e.Workspace, Profile: e.Profile, Blocked: e.Host.Blocked, Progress: e.Host.Progress, Read: files, Shown: e.Shown,
	})
}

// readHooks reads a file with hooks; nil if there is none.
func readHooks(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxHooks:
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", path, maxHooks)
	}
	return os.ReadFile(path)
}
