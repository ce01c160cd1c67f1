package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/tui"
)

// save writes a new file, for the user only, and never over another one.
func (c *session) save(_ context.Context, path, text string) (_ string, err error) {
	if path, err = c.opts.Expand(path); err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", fmt.Errorf("save: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", fault.New(path+" exists already", "choose another name", nil)
	}
	if err != nil {
		return "", fmt.Errorf("save: %w", err)
	}
	_, err = io.WriteString(f, text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("save: %w", err), os.Remove(path))
	}
	return path, nil
}

// edit puts a text into a file of its own and names the command that edits it.
func (c *session) edit(text string) (*tui.Draft, error) {
	dir, err := os.MkdirTemp("", "ohgw-chat-")
	if err != nil {
		return nil, fmt.Errorf("edit: %w", err)
	}
	file := filepath.Join(dir, "message.md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("edit: %w", err), os.RemoveAll(dir))
	}
	return &tui.Draft{
		Cmd: editor(c.opts.App, file),
		Read: func() (string, error) {
			data, err := os.ReadFile(file)
			if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
				return "", fmt.Errorf("edit: %w", err)
			}
			return string(data), nil
		},
	}, nil
}

// editor is the command that edits a file: that of VISUAL or EDITOR, which may
// have arguments, as the shell understands them.
func editor(a *kit.App, file string) *exec.Cmd {
	command := a.Getenv("VISUAL")
	if command == "" {
		command = a.Getenv("EDITOR")
	}
	words := []string{"/bin/sh", "-c", or(command, "vi") + ` "$1"`, "editor"}
	if runtime.GOOS == "windows" {
		words = strings.Fields(or(command, "notepad"))
	}
	cmd := exec.Command(words[0], append(words[1:], file)...)
	cmd.Env = a.Environ()
	return cmd
}

// or is a text, or another one where it is blank.
func or(text, other string) string {
	if strings.TrimSpace(text) == "" {
		return other
	}
	return text
}

// addModel is the command that sets up another model.
func (c *session) addModel() (*exec.Cmd, error) {
	program, err := c.opts.Executable()
	if err != nil {
		return nil, fmt.Errorf("add a model: %w", err)
	}
	cmd := exec.Command(program, "profiles", "add")
	cmd.Env = c.opts.Environ()
	return cmd, nil
}

// store keeps a setting of the chat in the config file.
func (c *session) store(key string, value any) error {
	path, _, err := c.opts.Setup().ConfigFile()
	if err == nil {
		err = config.Set(path, string(config.ChatSection), key, value)
	}
	if errors.Is(err, config.ErrNotAppendable) {
		return fault.New("the setting was not stored: "+path+" cannot be changed automatically", fmt.Sprintf("write this line below [chat] there: %s = %v", key, value), nil)
	}
	return err
}
