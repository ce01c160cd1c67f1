package boxpool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/files"
	"github.com/ohgw/ohgw/daemon/openhandsapi/git"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/subpath"
)

// Routes are those of files and of git.
func (pool *Pool) Routes(conversations control.Engine, log *slog.Logger) []wire.Route {
	return append(git.Routes(git.Config{Boxes: pool}), files.Routes(files.Config{
		Boxes: pool, Home: pool.Home, Only: pool.Only, Logger: log, Workspace: WorkspaceOf(conversations),
	})...)
}

// WorkspaceOf finds the directory of a conversation.
func WorkspaceOf(conversations control.Engine) func(ctx context.Context, id string) (string, error) {
	return func(ctx context.Context, id string) (string, error) {
		record, err := conversations.Record(ctx, id)
		if err != nil {
			return "", err
		}
		var state struct {
			Workspace struct {
				Dir string `json:"working_dir"`
			} `json:"workspace"`
		}
		if err := json.Unmarshal(record.State, &state); err != nil {
			return "", fmt.Errorf("read the state of conversation %s: %w", id, err)
		}
		return state.Workspace.Dir, nil
	}
}

// Files opens the files around a path in the box of its workspace. The box stays until
// release is called.
func (pool *Pool) Files(ctx context.Context, path string) (streams sandbox.Streams, at string, release func(), err error) {
	box, at, release, err := pool.hold(ctx, path)
	if err != nil {
		return nil, "", nil, err
	}
	confined := ""
	if pool.Only != "" {
		confined = box.workspace
	}
	if streams, err = box.streams(confined); err != nil {
		release()
		return nil, "", nil, err
	}
	return streams, at, release, nil
}

// Below is access to a directory and what is in it.
func (pool *Pool) Below(ctx context.Context, dir string) (streams sandbox.Streams, root string, release func(), err error) {
	box, at, release, err := pool.hold(ctx, dir)
	if err != nil {
		return nil, "", nil, err
	}
	if streams, err = box.streams(at); err != nil {
		release()
		return nil, "", nil, err
	}
	return streams, at, release, nil
}

// MakeDir makes a directory. In the user's home directory, where no box may work, ohgw
// makes what is not hidden: it is a workspace to be, as those of new conversations.
func (pool *Pool) MakeDir(ctx context.Context, path string) error {
	streams, at, release, err := pool.Files(ctx, path)
	if err == nil {
		defer release()
		return streams.MakeDir(at)
	}
	if _, at, locateErr := locate(path); locateErr == nil && pool.Only == "" && errors.Is(err, sandbox.ErrOutside) {
		home, homeErr := filepath.EvalSymlinks(pool.Home)
		rel, ok := subpath.Rel(home, at)
		if homeErr == nil && ok && !strings.Contains("/"+filepath.ToSlash(rel), "/.") {
			return os.MkdirAll(at, 0o750)
		}
	}
	return err
}
