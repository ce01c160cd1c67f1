package file

import (
	"bytes"
	"errors"
	"io/fs"
)

// maxSize is the biggest file that is viewed or edited.
const maxSize = 10 << 20

// read returns the content of a regular file.
func (p *place) read() ([]byte, fs.FileInfo, error) {
	data, info, err := p.files.Read(p.real, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, p.missing()
	}
	if err != nil {
		return nil, nil, readable(p.path, err)
	}
	return data, info, nil
}

func tooLarge(path string, size int64) error {
	return refusef("%s is too big for this tool: %.1f MB, the limit is %d MB. Use the terminal to look at parts of it.",
		path, float64(size)/(1<<20), maxSize>>20)
}

// replace gives a file new content in one step, unless it is not what was read.
func (p *place) replace(data []byte, read text) error {
	if err := p.unchanged(read.data); err != nil {
		return err
	}
	if err := p.files.Replace(p.real, data, read.info); err != nil {
		return readable(p.path, err)
	}
	return nil
}

// unchanged reports a file that is not what was read.
func (p *place) unchanged(read []byte) error {
	now, _, err := p.read()
	if err != nil {
		return err
	}
	if !bytes.Equal(now, read) {
		return refusef("Nothing was changed: another program has changed %s meanwhile. View it, then edit what is there now.", p.path)
	}
	return nil
}

// create makes a file that does not exist.
func (p *place) create(data []byte) error {
	err := p.files.Create(p.real, data)
	if errors.Is(err, fs.ErrExist) {
		return exists(p.path)
	}
	if err != nil {
		return readable(p.path, err)
	}
	return nil
}

func exists(path string) error {
	return refusef("%s exists already. To change it use str_replace or insert; to replace all of it, remove it first in the terminal.", path)
}
