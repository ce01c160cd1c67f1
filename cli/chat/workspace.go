package chat

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/cli/chat/answer"
	"github.com/ohgw/ohgw/cli/chat/recent"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/subpath"
	"github.com/ohgw/ohgw/internal/workdir"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/tui"
)

// noWorkspace is the value of --workspace for a new directory for each
// conversation.
const noWorkspace = "none"

// choice is what the gateway lets this chat choose.
type choice struct {
	roots  []string // directories, with all below them; "any": every one
	reason string   // why there are none
	always string   // where all agents work that have no directory of their own; "": each in a new one
}

// chooseWorkspace decides in which directory new conversations of this chat
// work: c.directory, or one of the gateway's choice if that is empty.
func (c *session) chooseWorkspace(ctx context.Context, s *config.Settings) error {
	switch {
	case c.opts.workspace == noWorkspace:
		return nil
	case c.opts.workspace != "":
		return c.namedWorkspace(ctx, s)
	case c.demo:
		return nil
	case c.opts.conversation != "" && c.knows(ctx, c.opts.conversation):
		return c.resume(ctx, s)
	}
	dir, err := c.currentDirectory()
	if err != nil {
		c.opts.Detail("the current directory is not used: %v", err)
		return nil
	}
	store, err := agreedDirectories(c.opts.App)
	if err != nil {
		return err
	}
	can := c.choices(ctx, s)
	if !can.allow(dir) {
		if c.opts.CanAsk() || store.has(dir) { // else the user does not expect the question
			c.elsewhere = can.refusal(dir)
		}
		return nil
	}
	return c.askOnce(ctx, store, dir, can.always)
}

// resume leaves the conversation of the command line where it works. Those that
// are begun later work in the current directory, if that needs no question.
func (c *session) resume(ctx context.Context, s *config.Settings) error {
	r, err := recent.Open(c.opts.App)
	if err != nil {
		return err
	}
	if list, err := r.Read(); err == nil {
		if i := slices.IndexFunc(list, func(x tui.Conversation) bool { return x.ID == c.opts.conversation }); i >= 0 {
			c.resumes = list[i].Workspace
		}
	}
	if c.opts.isOnce() {
		return nil
	}
	store, err := agreedDirectories(c.opts.App)
	if err != nil {
		return err
	}
	if dir, err := c.currentDirectory(); err == nil && store.has(dir) && c.choices(ctx, s).allow(dir) {
		c.directory = dir
	}
	return nil
}

// currentDirectory resolves the working directory, and refuses one that is part of
// ohgw's own files.
func (c *session) currentDirectory() (string, error) {
	cwd, err := c.opts.Getwd()
	if err != nil {
		return "", err
	}
	dir, err := workdir.Resolve(cwd)
	if err != nil {
		return "", err
	}
	dirs, err := c.opts.Setup().Dirs()
	if err != nil {
		return "", err
	}
	if own, err := workdir.Resolve(dirs.State); err == nil && subpath.Within(own, dir) {
		return "", errors.New("it belongs to ohgw")
	}
	return dir, nil
}

// namedWorkspace takes the directory of --workspace, which needs no question.
func (c *session) namedWorkspace(ctx context.Context, s *config.Settings) error {
	path, err := c.opts.Absolute(c.opts.workspace)
	if err != nil {
		return err
	}
	dir, err := kit.Directory(path)
	if err != nil {
		return err
	}
	if can := c.choices(ctx, s); !can.allow(dir) {
		return fault.New("this chat cannot work in "+dir, "let ohgw choose a directory: --workspace none", errors.New(answer.Sentence(can.refusal(dir))))
	}
	c.directory = dir
	if c.opts.conversation != "" {
		c.resumes = dir
	}
	return nil
}

// choices asks the gateway what this chat may choose.
func (c *session) choices(ctx context.Context, s *config.Settings) choice {
	if c.own != nil {
		if !c.own.Backend.Status.SharesFiles {
			return choice{reason: "The agent-server does not share the files of this machine with ohgw."}
		}
		if s.Workspace == "" {
			return choice{roots: []string{workdir.Any}}
		}
		dir, err := workdir.Resolve(s.Workspace)
		if err != nil {
			dir = s.Workspace
		}
		return choice{roots: []string{dir}, always: dir}
	}
	if !c.asker.Local() {
		return choice{reason: "The daemon at " + c.client.URL() + " may run on another machine; --workspace DIR names a directory there."}
	}
	h := c.asker.Health(ctx)
	if h.Workspace == nil {
		return choice{reason: "The daemon at " + c.client.URL() + " does not let this chat choose a directory."}
	}
	return choice{roots: h.Workspace.Choose, reason: h.Workspace.Reason, always: h.Workspace.Directory}
}

func (c choice) allow(dir string) bool {
	return slices.ContainsFunc(c.roots, func(root string) bool { return root == workdir.Any || subpath.Within(root, dir) })
}

// refusal says why the chat does not work in dir.
func (c choice) refusal(dir string) string {
	if c.reason != "" {
		return setup.Clean(c.reason)
	}
	return fmt.Sprintf("This ohgw works in %s only, and not in %s.", setup.Clean(c.roots[0]), setup.Clean(dir))
}

// askOnce takes dir if the person has agreed to it, now or before. always is where the
// agent works otherwise; empty: in a new directory.
func (c *session) askOnce(ctx context.Context, store *agreed, dir, always string) error {
	if store.has(dir) {
		c.directory = dir
		return nil
	}
	broad := c.broad(dir)
	switch {
	case c.opts.yes:
	case !c.opts.CanAsk() || c.opts.isOnce():
		c.unasked(ctx, dir, broad)
		return nil
	default:
		c.opts.Note("An agent reads and changes files and runs commands in %s, as you.\n%s", dir, c.reach(ctx))
		if broad != "" {
			c.opts.Note("%s", broad)
		}
		if always != "" {
			c.opts.Note("If you refuse, it works in %s: that is the workspace of this ohgw.", c.tilde(always))
		}
		ok, err := c.opts.Confirm(ctx, false, "Let the agent work in this directory?", "You have not agreed to this directory.")
		if err != nil {
			return err
		}
		if !ok {
			c.decline(dir, always, broad != "")
			return nil
		}
	}
	c.directory = dir
	if broad != "" {
		return nil // asked each time
	}
	if err := store.add(ctx, dir, c.opts.Now()); err != nil {
		c.opts.Note("warning: your answer was not stored, so you will be asked again: %v", err)
	}
	return nil
}

// unasked decides on dir where the user is not asked: a sandbox lets the agent read it.
// It never chooses a home directory.
func (c *session) unasked(ctx context.Context, dir, broad string) {
	note := "the agent works in a new, empty directory; to let it work in " + dir + ", add --workspace ."
	switch {
	case !c.keepsReadOnly(ctx):
	case broad != "":
		note = "the agent works in a new, empty directory: " + dir + " is your home directory or above it; run the command in a project directory"
	case c.isPrivate(dir):
		note = "the agent works in a new, empty directory: " + dir + " is not a project directory"
	default:
		c.directory, c.readOnly = dir, true
		note = "the agent works in " + dir + ", and cannot change it; to let it change files there, add --workspace ."
	}
	if !c.opts.JSON {
		c.opts.Note("note: %s", note)
	}
}

// keepsReadOnly reports whether the agents have a sandbox that keeps a directory as
// it is.
func (c *session) keepsReadOnly(ctx context.Context) bool {
	if c.own == nil {
		h := c.asker.Health(ctx)
		return h.Workspace != nil && h.Workspace.ReadOnly
	}
	level := sandbox.Level(c.own.Backend.Sandbox(ctx).Level)
	return level == sandbox.Full || level == sandbox.Reduced
}

// isPrivate reports whether a directory is not meant for projects: one of the whole
// system, or one in a hidden directory of the home directory, which has keys and
// settings.
func (c *session) isPrivate(dir string) bool {
	if policy.OfSystem(dir) {
		return true
	}
	dirs, err := c.opts.Setup().Dirs()
	if err != nil {
		return true
	}
	for _, own := range []string{dirs.State, dirs.Config} {
		if real, err := workdir.Resolve(own); err == nil && (subpath.Within(real, dir) || subpath.Within(dir, real)) {
			return true
		}
	}
	home, err := workdir.Resolve(dirs.Home)
	return err == nil && subpath.Within(home, dir) && strings.HasPrefix(strings.TrimPrefix(dir, home+string(filepath.Separator)), ".")
}

// reach says what the agent's commands reach beside the directory.
func (c *session) reach(ctx context.Context) string {
	level := ""
	if c.own != nil {
		level = c.own.Backend.Sandbox(ctx).Level
	} else if h := c.asker.Health(ctx); h.Sandbox != nil {
		level = h.Sandbox.Level
	}
	if level == string(sandbox.Full) || level == string(sandbox.Reduced) {
		return "They run in a sandbox: your other projects and the rest of your home directory are out of their reach."
	}
	return "Its commands can reach all files that you can."
}

// locate describes the directory of a conversation.
func (c *session) locate(dir string) tui.Where {
	dirs, err := c.opts.Setup().Dirs()
	if err != nil {
		return tui.Where{Dir: dir}
	}
	if own, err := workdir.Resolve(dirs.State); dir == "" || err == nil && subpath.Within(own, dir) {
		return c.away // a directory that ohgw made
	}
	return tui.Where{Dir: c.tilde(dir), Branch: workdir.Branch(dir)}
}

// broad is a warning about a directory that holds much more than a project;
// empty for others.
func (c *session) broad(dir string) string {
	if filepath.Dir(dir) == dir {
		return "WARNING: this is the root directory. Every file of this machine is below it. Run ohgw chat in a project directory instead."
	}
	dirs, err := c.opts.Setup().Dirs()
	if err != nil || dirs.Home == "" {
		return ""
	}
	home, err := workdir.Resolve(dirs.Home)
	if err == nil && subpath.Within(dir, home) {
		return "WARNING: this is your home directory, or above it. It has your keys, mail and settings. Run ohgw chat in a project directory instead."
	}
	return ""
}
