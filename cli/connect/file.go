package connect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/connect"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
)

// backupSuffix is for what a client's file was before we changed it.
const backupSuffix = ".before-ohgw"

// clientFile is a client's file, and what becomes of it.
type clientFile struct {
	path, backup string
	old          string
	there        bool   // the file
	kept         string // what the backup has
	saved        bool   // there is a backup
}

// changeJSON is a change of a client's file.
type changeJSON struct {
	Client  string `json:"client"`
	File    string `json:"file"`
	Changed bool   `json:"changed"`
	Backup  string `json:"backup,omitempty"`
	Diff    string `json:"diff"`
}

// changeFile adds settings to a client's file, or takes them out.
func changeFile(ctx context.Context, o *options, c connect.Client, values connect.Values) error {
	f, err := openClientFile(o.App, c, o.File)
	if err != nil {
		return err
	}
	text, keep, err := f.planned(o, c, values)
	if besides(o, c, f.old == text, err) {
		other, e := openBeside(o, c)
		if e != nil {
			return e
		}
		if o.Write || other.there {
			if o.Write {
				o.Note("%s already has a choice of yours, and is not changed.", f.path)
			}
			f = other
			text, keep, err = f.planned(o, c, values)
		}
	}
	if err != nil {
		return clientFileFault(err, c, f.path)
	}
	change := changeJSON{Client: c.Name, File: f.path, Changed: text != f.old || keep != f.there && f.there, Diff: connect.Diff(f.old, text)}
	if change.Changed && !o.DryRun {
		if o.Write {
			change.Backup, err = f.write(c, text)
		} else {
			err = f.restore(text, keep)
		}
		if fault.CodeOf(err) == fault.Conflict {
			return err
		}
		if err != nil {
			return fault.New(f.path+" cannot be changed", "check its owner and permissions (ls -l), and the free space (df)", err)
		}
	}
	return reportChange(ctx, o, c, change)
}

// planned is what the file becomes, and whether it stays.
func (f *clientFile) planned(o *options, c connect.Client, values connect.Values) (text string, keep bool, err error) {
	if o.Write {
		text, err = c.Add(f.old, values)
		return text, true, err
	}
	return f.undone(c, values)
}

// besides reports whether the settings go into the client's other file, or may be
// there: the usual one has a choice of the user in their place, or has none of
// ours.
func besides(o *options, c connect.Client, same bool, err error) bool {
	if c.Beside == "" || o.File != "" {
		return false
	}
	return o.Write && errors.Is(err, connect.ErrTaken) || o.Undo && err == nil && same
}

// openBeside reads the client's other file.
func openBeside(o *options, c connect.Client) (*clientFile, error) {
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return nil, err
	}
	return openClientFile(o.App, c, c.BesidePath(dirs.Home))
}

// openClientFile reads a client's file, if it is there.
func openClientFile(a *kit.App, c connect.Client, named string) (*clientFile, error) {
	if !c.Kept() {
		return nil, fault.NewUsage(c.Title+" has no settings file that ohgw can write", "ohgw connect "+c.Name+" prints them")
	}
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return nil, err
	}
	f := &clientFile{path: named}
	if f.path == "" {
		f.path = c.Path(a.Getenv, dirs.Home, runtime.GOOS)
	}
	if f.path == "" {
		return nil, fault.NewUsage("where is "+c.Title+"'s "+c.File+"?", "pass its path: ohgw connect "+c.Name+" --write --file PATH")
	}
	if f.path, err = filepath.Abs(f.path); err != nil {
		return nil, err
	}
	f.backup = f.path + backupSuffix
	if f.old, f.there, err = kit.ReadIfThere(f.path); err == nil {
		f.kept, f.saved, err = kit.ReadIfThere(f.backup)
	}
	if err != nil {
		return nil, fault.New(f.path+" cannot be read", "check its owner and permissions: ls -l", err)
	}
	return f, nil
}

// unchanged makes sure, just before a change, that the file still is what was
// read: its program may have written it meanwhile.
func (f *clientFile) unchanged() error {
	now, there, err := kit.ReadIfThere(f.path)
	if err != nil || now == f.old && there == f.there {
		return err
	}
	return &fault.Error{Msg: f.path + " was changed by another program in the meantime", Hint: "run the command again", Code: fault.Conflict}
}

// write replaces the file. What it was is kept, unless that is ours already.
func (f *clientFile) write(c connect.Client, text string) (backup string, err error) {
	if base, err := c.Remove(f.old); f.there && err == nil && base == f.old {
		if err := atomicfile.Write(f.backup, []byte(f.old), atomicfile.Options{}); err != nil {
			return "", err
		}
		backup = f.backup
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return "", err
	}
	if err := f.unchanged(); err != nil {
		return "", err
	}
	return backup, atomicfile.Write(f.path, []byte(text), atomicfile.Options{})
}

// undone returns the file as it was, and whether there was one. What the user has changed
// since stays.
func (f *clientFile) undone(c connect.Client, values connect.Values) (text string, keep bool, err error) {
	if f.saved {
		if again, err := c.Add(f.kept, values); err == nil && again == f.old {
			return f.kept, true, nil
		}
	}
	if again, err := c.Add("", values); err == nil && again == f.old && !f.saved {
		return "", false, nil // it was made for the entry
	}
	text, err = c.Remove(f.old)
	return text, f.saved || strings.TrimSpace(text) != "", err
}

// restore puts the file back. The backup has done its work when it says the
// same.
func (f *clientFile) restore(text string, keep bool) error {
	if err := f.unchanged(); err != nil {
		return err
	}
	if !keep {
		path, err := filepath.EvalSymlinks(f.path) // a link was there before
		if err != nil {
			return err
		}
		return os.Remove(path)
	}
	if err := atomicfile.Write(f.path, []byte(text), atomicfile.Options{}); err != nil {
		return err
	}
	if f.saved && f.kept == text {
		return os.Remove(f.backup)
	}
	return nil
}

func clientFileFault(err error, c connect.Client, path string) error {
	prints := "ohgw connect " + c.Name + " prints what belongs there"
	if errors.Is(err, connect.ErrTaken) {
		return &fault.Error{Msg: path + " already has an entry of that name that ohgw did not write", Hint: "change or remove them yourself; " + prints, Code: fault.Conflict}
	}
	return fault.New(path+" has a form that ohgw cannot edit", "change it yourself; "+prints, err)
}

// reportChange prints what was changed.
func reportChange(ctx context.Context, o *options, c connect.Client, change changeJSON) error {
	if o.JSON {
		return o.PrintJSON(change)
	}
	if err := kit.WriteText(o.Stdout, colored(o.App, change.Diff)); err != nil {
		return err
	}
	switch {
	case !change.Changed && o.Write:
		o.Note("%s already has the settings.", change.File)
	case !change.Changed:
		o.Note("%s has no settings from ohgw.", change.File)
	case o.DryRun:
		o.Note("%s was not changed.", change.File)
	case o.Undo:
		o.Note("%s no longer has the settings.", change.File)
	default:
		o.Note("%s has the settings.", change.File)
		if c.Beside != "" && filepath.Base(change.File) == filepath.Base(c.Beside) {
			o.Note("Start the client with: %s", c.BesideUse)
		}
		if change.Backup != "" {
			o.Note("The previous file is %s; ohgw connect %s --undo restores it.", change.Backup, c.Name)
		}
		sayKey(ctx, o.App)
	}
	return nil
}

// sayKey says where the key comes from.
func sayKey(ctx context.Context, a *kit.App) {
	a.Hint("\nThe key, for a client started from a shell:\n\n  %s", keyLine(ctx, a))
}

// colored is a diff as terminals show it.
func colored(a *kit.App, diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		text := strings.TrimSuffix(line, "\n")
		switch text[:1] {
		case "+":
			text = a.Stdout.Styled(iostream.Green, text)
		case "-":
			text = a.Stdout.Styled(iostream.Red, text)
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}
