package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
)

const (
	// maxStdin bounds what is read of stdin, in bytes. The gateway has limits of
	// its own; this one is for memory.
	maxStdin = 32 << 20
	// maxImage bounds an image, in bytes: a request holds 32 MiB, and base64
	// makes three bytes four.
	maxImage = 20 << 20
	// stdinPatience is when somebody who waits is told for what.
	stdinPatience = 3 * time.Second
)

// atMost wants an argument or none.
func atMost(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for _, arg := range args {
			if looksLikeKey(arg) {
				return fault.NewUsage("an argument looks like a key", keyHint)
			}
		}
		if len(args) > 1 {
			return fault.NewUsage(fmt.Sprintf("unexpected argument %q", args[1]), "put quotation marks around "+name)
		}
		return nil
	}
}

// readPrompt is what there is to ask: the argument, or stdin, or both.
func (a *App) readPrompt(ctx context.Context, prompt string) (string, error) {
	text := ""
	if !a.StdinTTY {
		var err error
		if text, err = a.readStdin(ctx); err != nil {
			return "", err
		}
	}
	switch blank := strings.TrimSpace(text) == ""; {
	case strings.TrimSpace(prompt) == "" && blank:
		return "", fault.NewUsage("there is nothing to ask", `give a prompt, as an argument or on stdin; without --print, ohgw chat on a terminal opens a chat`)
	case strings.TrimSpace(prompt) == "":
		return text, nil
	case blank:
		return prompt, nil
	}
	return prompt + "\n\n<stdin>\n" + strings.TrimRight(text, "\n") + "\n</stdin>", nil
}

// readStdin reads all of stdin. It cannot be interrupted, so Ctrl-C ends the
// program there; nothing has been started yet.
func (a *App) readStdin(ctx context.Context) (string, error) {
	stop := context.AfterFunc(ctx, func() { a.leave(ctx) })
	defer stop()
	tell := time.AfterFunc(stdinPatience, func() {
		a.Note("Reading stdin to its end; if nothing comes there, use < /dev/null.")
	})
	defer tell.Stop()
	data, err := io.ReadAll(io.LimitReader(a.Stdin, maxStdin+1))
	switch {
	case errors.Is(err, fs.ErrClosed):
		return "", nil // There is none.
	case err != nil:
		return "", fmt.Errorf("read stdin: %w", err)
	case len(data) > maxStdin:
		return "", fault.NewUsage(fmt.Sprintf("stdin has more than %d MiB", maxStdin>>20), "give the agent a file to read instead")
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}

// chatImage is an image that goes with a question.
type chatImage struct {
	name    string
	dataURL string
	size    int64
}

func readImages(paths []string) ([]chatImage, error) {
	images := make([]chatImage, 0, len(paths))
	for _, path := range paths {
		image, err := readImage(path)
		if err != nil {
			return nil, err
		}
		images = append(images, image)
	}
	return images, nil
}

// readImage reads an image file whole. What it is, its first bytes say.
func readImage(path string) (chatImage, error) {
	problem := func(msg, hint string, err error) error {
		return &fault.Error{Msg: "the image " + path + " " + msg, Hint: hint, Code: fault.Usage, Err: err}
	}
	// Before it is opened: a pipe without a writer would hold us.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return chatImage{}, problem("is no file", "name a file that is there", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return chatImage{}, problem("cannot be read", "name a file that is there", fileCause(err))
	}
	defer func() { _ = f.Close() }() // It was only read.
	data, err := io.ReadAll(io.LimitReader(f, maxImage+1))
	switch {
	case err != nil:
		return chatImage{}, problem("cannot be read", "look at the cause", fileCause(err))
	case len(data) > maxImage:
		return chatImage{}, problem(fmt.Sprintf("has more than %d MiB", maxImage>>20), "make it smaller", nil)
	}
	image, ok := newImage(filepath.Base(path), data)
	if !ok {
		return chatImage{}, problem("is no PNG, JPEG, GIF or WebP", "convert it", nil)
	}
	return image, nil
}

// newImage makes an image of the bytes of one; ok is false for other bytes.
func newImage(name string, data []byte) (chatImage, bool) {
	kind := http.DetectContentType(data)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		url := "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
		return chatImage{name: name, dataURL: url, size: int64(len(data))}, true
	}
	return chatImage{}, false
}

// fileCause is the part of a file error that people need: the message has the
// path already.
func fileCause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
