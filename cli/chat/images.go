package chat

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
)

// attachment is an image that goes with a question.
type attachment struct {
	name    string
	dataURL string
	size    int64
}

func readImages(paths []string) ([]attachment, error) {
	images := make([]attachment, 0, len(paths))
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
func readImage(path string) (attachment, error) {
	problem := func(msg, hint string, err error) error {
		return &fault.Error{Msg: "the image " + path + " " + msg, Hint: hint, Code: fault.Usage, Err: err}
	}
	// Before it is opened: a pipe without a writer would hold us.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return attachment{}, problem("is not a file", "check the path", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return attachment{}, problem("cannot be read", kit.Meant(path, "check the path"), fileCause(err))
	}
	defer func() { _ = f.Close() }() // It was only read.
	data, err := io.ReadAll(io.LimitReader(f, maxImage+1))
	switch {
	case err != nil:
		return attachment{}, problem("cannot be read", "see the cause", fileCause(err))
	case len(data) > maxImage:
		return attachment{}, problem(fmt.Sprintf("has more than %d MiB", maxImage>>20), "make it smaller", nil)
	}
	image, err := newImage(filepath.Base(path), data)
	if err != nil {
		return attachment{}, problem(err.Error(), "save it again as "+picture.Names, nil)
	}
	return image, nil
}

// newImage makes an image of the bytes of one.
func newImage(name string, data []byte) (attachment, error) {
	url, err := picture.Encode(data)
	if err != nil {
		return attachment{}, err
	}
	return attachment{name: name, dataURL: url, size: int64(len(data))}, nil
}

// fileCause is the part of a file error that people need: the message has the
// path already.
func fileCause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
