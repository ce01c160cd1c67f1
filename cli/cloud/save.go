package cloud

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/setup/accounts"
)

// save writes one download to its file, or to stdout.
func (o *downloadOptions) save(acc accounts.Account, got *account.Download, name string) (err error) {
	defer func() { err = errors.Join(err, got.Close()) }()
	in := &transfer{App: o.App, name: name, size: got.Size, in: got}
	defer in.end()
	if o.Output == "-" {
		_, err := io.Copy(o.Stdout, in)
		return transferFault(err, acc)
	}
	path, err := o.outputFile(name)
	if err != nil {
		return err
	}
	t, err := openTarget(filepath.Dir(path), o.Force, false)
	if err != nil {
		return err
	}
	defer t.close()
	if _, err := t.exists(filepath.Base(path)); err != nil {
		return err
	}
	n, err := t.write(filepath.Base(path), in)
	if err != nil {
		return transferFault(err, acc)
	}
	in.end()
	if o.JSON {
		return o.PrintJSON(map[string]any{"file": path, "bytes": n})
	}
	o.Note("%s: %s", path, bytesText(n))
	return nil
}

// outputFile is the file that --output names, or one of this name here.
func (o *downloadOptions) outputFile(name string) (string, error) {
	if o.Output != "" {
		return o.Absolute(o.Output)
	}
	return o.Absolute(name)
}

// transferFault returns a failure of a transfer as a person should read it.
func transferFault(err error, acc accounts.Account) error {
	if read, ok := errors.AsType[*readError](err); ok {
		err = read.err
	}
	return accounts.Fault(err, acc.Server)
}
