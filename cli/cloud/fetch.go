package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/accounts"
)

// downloaded is a file of a download.
type downloaded struct {
	Path   string `json:"path"`
	File   string `json:"file,omitempty"` // below the directory of the download
	Bytes  int64  `json:"bytes"`
	Action string `json:"action"` // written, kept or failed

	err error
}

// What became of a file.
const (
	written = "written"
	kept    = "kept"
	failed  = "failed"
)

// parallel is how many files are fetched at one time.
const parallel = 4

// fetchAll downloads files into a directory, some at one time.
func (o *downloadOptions) fetchAll(ctx context.Context, acc accounts.Account, conv account.Conversation, dir string, paths []string) error {
	list := make([]downloaded, len(paths))
	if len(paths) > 0 {
		dir, err := o.Absolute(dir)
		if err != nil {
			return err
		}
		t, err := openTarget(dir, o.Force, o.Continue)
		if err != nil {
			return err
		}
		defer t.close()
		slots := make(chan struct{}, parallel)
		var wait sync.WaitGroup
		for i, path := range paths {
			slots <- struct{}{}
			wait.Go(func() {
				list[i] = fetch(ctx, acc, conv.ID, t, path)
				<-slots
			})
		}
		wait.Wait()
	}
	return o.tellFiles(ctx, list)
}

// fetch downloads one file.
func fetch(ctx context.Context, acc accounts.Account, id string, t *target, path string) downloaded {
	d := downloaded{Path: path, Action: failed}
	local, err := localName(path)
	if err != nil {
		d.err = err
		return d
	}
	there, err := t.exists(local)
	if err != nil || there && t.keep {
		d.err = err
		if err == nil {
			d.File, d.Action = local, kept
		}
		return d
	}
	body, err := acc.File(ctx, id, path)
	if err != nil {
		d.err = fileFault(err, acc, path)
		return d
	}
	d.Bytes, err = t.write(local, readFrom{body})
	if err = errors.Join(err, body.Close()); err != nil {
		d.err = transferFault(err, acc)
		return d
	}
	d.File, d.Action = local, written
	return d
}

// readFrom marks the failures of what is read.
type readFrom struct{ in io.Reader }

// Read reads.
func (r readFrom) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &readError{err}
	}
	return n, err
}

// tellFiles lists what became of the files. If all failed for one reason, that is the
// error.
func (o *downloadOptions) tellFiles(ctx context.Context, list []downloaded) error {
	bad := 0
	t := kit.Table{Header: []string{"ACTION", "SIZE", "FILE"}}
	for _, d := range list {
		if d.err != nil {
			bad++
			if len(list) > 1 {
				o.Note("%s: %s", d.Path, kit.Sentence(d.err))
			}
		}
		t.Add(d.Action, bytesText(d.Bytes), d.Path)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(list) == 1 && bad == 1 {
		return list[0].err
	}
	var err error
	if o.JSON {
		if list == nil {
			list = []downloaded{}
		}
		err = o.PrintJSON(map[string]any{"files": list})
	} else {
		err = t.Write(o.Stdout)
	}
	if err == nil && bad > 0 {
		return &fault.Error{Msg: fmt.Sprintf("%d of %d files were not downloaded", bad, len(list)), Hint: "fetch the others again with --continue", Code: fault.Partly}
	}
	return err
}

// fileFault returns the failure of a download of a file as a person should read it.
func fileFault(err error, acc accounts.Account, path string) error {
	switch {
	case errors.Is(err, account.ErrNotFound):
		return fault.New("there is no file "+path+" in the workspace", "ohgw cloud changes ID lists the changed files", err)
	case errors.Is(err, transport.ErrUnreadable):
		return fault.New("the server cannot return "+path+": it is too large, or not a text", "download the whole workspace: ohgw cloud download workspace ID", err)
	}
	return accounts.Fault(err, acc.Server)
}
