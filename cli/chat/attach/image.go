// Package attach reads the images that go with a question: from files, and from the
// clipboard of the system, which it also writes.
package attach

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/picture"
	"github.com/ohgw/ohgw/tui"
)

// maxImage bounds an image, in bytes: a request holds 32 MiB, and base64
// makes three bytes four.
const maxImage = 20 << 20

// Images reads image files.
func Images(paths []string) ([]tui.Image, error) {
	images := make([]tui.Image, 0, len(paths))
	for _, path := range paths {
		image, err := Image(path)
		if err != nil {
			return nil, err
		}
		images = append(images, image)
	}
	return images, nil
}

// Image reads an image file whole. What it is, its first bytes say.
func Image(path string) (tui.Image, error) {
	problem := func(msg, hint string, err error) error {
		return &fault.Error{Msg: "the image " + path + " " + msg, Hint: hint, Code: fault.Usage, Err: err}
	}
	// Before it is opened: a pipe without a writer would hold us.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return tui.Image{}, problem("is not a file", "check the path", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return tui.Image{}, problem("cannot be read", kit.Meant(path, "check the path"), fileCause(err))
	}
	defer func() { _ = f.Close() }() // It was only read.
	data, err := io.ReadAll(io.LimitReader(f, maxImage+1))
	switch {
	case err != nil:
		return tui.Image{}, problem("cannot be read", "see the cause", fileCause(err))
	case len(data) > maxImage:
		return tui.Image{}, problem(fmt.Sprintf("has more than %d MiB", maxImage>>20), "make it smaller", nil)
	}
	image, err := encode(filepath.Base(path), data)
	if err != nil {
		return tui.Image{}, problem(err.Error(), "save it again as "+picture.Names, nil)
	}
	return image, nil
}

// encode makes an image of the bytes of one.
func encode(name string, data []byte) (tui.Image, error) {
	url, err := picture.Encode(data)
	if err != nil {
		return tui.Image{}, err
	}
	return tui.Image{Name: name, DataURL: url, Size: int64(len(data))}, nil
}

// fileCause returns the part of a file error that people need: the message has the
// path already.
func fileCause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
