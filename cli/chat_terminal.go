package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/tui"
)

// terminal opens the chat on the terminal.
func (c *chat) terminal(ctx context.Context) error {
	recent, err := c.recent()
	if err != nil {
		return err
	}
	cfg := tui.Config{
		Endpoint: c.client,
		Place:    tui.Place{Title: c.place(), Notice: c.notice(), Demo: c.in.model == demoModel},
		Hints:    c.hints(),
		In:       c.Stdin, Out: c.Stdout.Writer, Environ: c.Environ(), // the terminal itself: it has a size
		NoColor: !c.Stdout.Color(), Plain: c.in.plain || c.Getenv("TERM") == "dumb",
		Start: tui.Start{
			Model: c.in.model, Conversation: c.in.conversation, System: c.in.system, Text: c.in.prompt, Timeout: c.in.timeout,
		},
		NewID: uuid.New, Now: c.Now, Recent: recent, Edit: c.edit,
		Copy: c.clipboard().copyText, PasteImage: c.pasteImage, ReadImage: c.readImage, Save: c.save,
	}
	if c.own != nil {
		cfg.Place.Backend = c.own.Backend.Status.Name
	} else {
		cfg.Place.Backend = c.asker.BackendName(ctx)
	}
	for _, image := range c.images {
		cfg.Start.Images = append(cfg.Start.Images, image.forTerminal())
	}
	if cfg.Plain {
		keys, giveBack := interrupts(ctx)
		defer giveBack()
		cfg.Interrupt = keys
	}
	return tui.Run(ctx, cfg)
}

// hints are the commands that help where the chat cannot help itself.
func (c *chat) hints() tui.Hints {
	return tui.Hints{
		Unreachable: []string{"ohgw serve"},
		Locked:      []string{"ohgw tokens create NAME", "export OHGW_API_KEY=…"},
		NoModels:    []string{"ohgw profiles add NAME", "ohgw chat --demo"},
		Resume:      func(conversation string) string { return c.command() + " --conversation " + conversation },
	}
}

// command is the command that finds this gateway again, or one like it.
func (c *chat) command() string {
	switch {
	case c.demo:
		return "ohgw chat --demo"
	case c.own == nil && c.asker.Found.URL == "":
		return "ohgw chat --url " + c.client.URL()
	}
	return "ohgw chat"
}

func (i chatImage) forTerminal() tui.Image {
	return tui.Image{Name: i.name, DataURL: i.dataURL, Size: i.size}
}

func (c *chat) readImage(_ context.Context, path string) (tui.Image, error) {
	path, err := c.expand(path)
	if err != nil {
		return tui.Image{}, err
	}
	image, err := readImage(path)
	return image.forTerminal(), err
}

func (c *chat) pasteImage(ctx context.Context) (tui.Image, error) {
	data, err := c.clipboard().image(ctx)
	if err != nil {
		return tui.Image{}, err
	}
	image, ok := newImage("clipboard", data)
	if !ok {
		return tui.Image{}, errors.New("there is no image in the clipboard")
	}
	return image.forTerminal(), nil
}

// expand is a path as a shell would have given it.
func (c *chat) expand(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		dirs, err := c.Setup().Dirs()
		if err != nil {
			return "", err
		}
		return filepath.Join(dirs.Home, rest), nil
	}
	return path, nil
}

// save writes a new file, for the user only, and never over another one.
func (c *chat) save(_ context.Context, path, text string) (_ string, err error) {
	if path, err = c.expand(path); err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", fmt.Errorf("save: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", fault.New(path+" is there already", "save under another name", nil)
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
func (c *chat) edit(text string) (*tui.Draft, error) {
	dir, err := os.MkdirTemp("", "ohgw-chat-")
	if err != nil {
		return nil, fmt.Errorf("edit: %w", err)
	}
	file := filepath.Join(dir, "message.md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("edit: %w", err), os.RemoveAll(dir))
	}
	return &tui.Draft{
		Cmd: c.editor(file),
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
func (c *chat) editor(file string) *exec.Cmd {
	command := c.Getenv("VISUAL")
	if command == "" {
		command = c.Getenv("EDITOR")
	}
	words := []string{"/bin/sh", "-c", or(command, "vi") + ` "$1"`, "editor"}
	if runtime.GOOS == "windows" {
		words = strings.Fields(or(command, "notepad"))
	}
	cmd := exec.Command(words[0], append(words[1:], file)...) //nolint:noctx // It belongs to the person; the chat runs it.
	cmd.Env = c.Environ()
	return cmd
}

// or is a text, or another one where it is blank.
func or(text, other string) string {
	if strings.TrimSpace(text) == "" {
		return other
	}
	return text
}

// chatLog is the log of a gateway of our own. There is none without --debug: a
// terminal shows the chat. With it, it is a file there, else stderr.
func (a *App) chatLog(once bool) (*slog.Logger, func() error, error) {
	nothing := func() error { return nil }
	if !a.debug {
		return slog.New(slog.DiscardHandler), nothing, nil
	}
	if once {
		return a.logger("text"), nothing, nil
	}
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return nil, nothing, err
	}
	dir := filepath.Join(dirs.State, "chat")
	if err := paths.MakePrivate(dir); err != nil {
		return nil, nothing, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "debug.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nothing, fmt.Errorf("open log: %w", err)
	}
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug})), f.Close, nil
}
