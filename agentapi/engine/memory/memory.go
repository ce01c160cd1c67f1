// Package memory reads the notes that agents keep from one conversation to the next, in the
// directories and within the limits of OpenHands: those of the user, and those of a
// workspace. It writes no note: agents do, with their tools.
//
// Notes are not the user's word, and the agent that wrote them may have been misled. Files
// are read through os.Root, so that a link cannot show a model something outside of the
// directory of the user's notes, or of the workspace. Whatever a file has, a prompt gets no
// more than [Budget] characters.
package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// Budget is how many characters of notes a prompt has, with their headings.
const Budget = 6000

const (
	place     = "memory" // in OpenHands' directory of the user
	index     = "MEMORY.md"
	inProject = ".openhands/memory/" + index

	// maxRead is how much of a file is read, in bytes: only its end is used.
	maxRead = 1 << 20
)

// Prepare makes the directory of the user's notes, in OpenHands' directory, and returns it
// without symbolic links. A link or a file in its place is an error: agents write in there,
// and must not be led elsewhere.
func Prepare(base string) (string, error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(real, place)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: errors.New("it is not a directory, or a symbolic link to one")}
	}
	if err != nil {
		return "", err
	}
	return dir, nil
}

// Find returns the directory that [Prepare] has made, without symbolic links; "" if it is not
// there, or is not a directory.
func Find(base string) string {
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		return ""
	}
	dir := filepath.Join(real, place)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// Places are where the notes of a conversation are.
type Places struct {
	User      string // the directory of the user's notes, without links; "" for none
	Home      string // the user's home directory
	Workspace string
}

// UserDir is the directory of the user's notes; "" for none.
func (p *Places) UserDir() string {
	if p == nil {
		return ""
	}
	return p.User
}

// Read returns the notes as a prompt has them: those of the user first, then those of the
// workspace. Where they have more than budget characters, their oldest lines are left out.
// A file that cannot be used has no notes, and warn gets the reason.
func Read(at Places, budget int, warn func(error)) string {
	var found []tier
	add := func(heading, dir, name string) {
		text, cut, err := read(dir, name)
		if err != nil {
			warn(fmt.Errorf("read memory %s: %w", filepath.Join(dir, filepath.FromSlash(name)), err))
		}
		if text != "" || cut {
			found = append(found, tier{"# " + heading + "\n", text, cut})
		}
	}
	if at.User != "" {
		add("User memory ("+shown(at)+")", at.User, index)
	}
	add("Project memory ("+inProject+")", at.Workspace, inProject)
	return fit(found, budget)
}

// shown is the file of the user's notes as OpenHands names it: below ~ in its usual place.
func shown(at Places) string {
	file := filepath.Join(at.User, index)
	if real, err := filepath.EvalSymlinks(at.Home); err == nil && at.Home != "" && at.User == filepath.Join(real, ".openhands", place) {
		file = "~/.openhands/" + place + "/" + index
	}
	return filepath.ToSlash(file)
}

// read returns the notes in a file of a directory; cut says that its beginning was not read.
func read(dir, name string) (text string, cut bool, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", false, absent(err)
	}
	defer root.Close()
	file, info, err := sandbox.OpenRegular(root, name)
	if err != nil {
		return "", false, absent(err)
	}
	defer file.Close()
	from := max(0, info.Size()-maxRead)
	data, err := io.ReadAll(io.NewSectionReader(file, from, maxRead))
	if err != nil {
		return "", false, err
	}
	text = string(data)
	if from > 0 { // what is left of a line, or of a character, is not shown
		_, text, _ = strings.Cut(text, "\n")
	}
	if !utf8.ValidString(text) {
		return "", false, errors.New("it is not UTF-8")
	}
	return strip(newlines(text)), from > 0, nil
}

// absent returns the error of looking for a file, unless there is none.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
