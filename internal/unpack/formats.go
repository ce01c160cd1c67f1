package unpack

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxTarget bounds the target of a link in a zip file.
const maxTarget = 4096

func (w *writer) zip(from io.ReaderAt, size int64) error {
	archive, err := zip.NewReader(from, size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if len(archive.File) > w.limits.Entries {
		return fmt.Errorf("%w: more than %d entries", ErrTooLarge, w.limits.Entries)
	}
	for _, f := range archive.File {
		name, err := w.enter(f.Name)
		if err == nil && name != "" {
			err = w.zipEntry(name, f)
		}
		if err != nil {
			return damage(err)
		}
	}
	return nil
}

func (w *writer) zipEntry(name string, f *zip.File) (err error) {
	mode := f.Mode()
	switch {
	case mode.IsDir():
		return w.dir(name)
	case mode&os.ModeSymlink == 0 && !mode.IsRegular():
		w.skip(name, "it is not a file")
		return nil
	}
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("%w: %.200q: %w", ErrDamaged, name, err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if mode.IsRegular() {
		return w.file(name, mode, in)
	}
	target, err := io.ReadAll(io.LimitReader(in, maxTarget))
	if err != nil {
		return fmt.Errorf("%w: %.200q: %w", ErrDamaged, name, err)
	}
	w.link(name, string(target))
	return nil
}

func (w *writer) tar(from io.Reader) error {
	plain, err := gzip.NewReader(from)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	archive := tar.NewReader(plain)
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			// The checksum of gzip is behind the end of tar.
			if _, err := io.Copy(&counted{w, io.Discard}, plain); err != nil { //nolint:gosec // counted ends a bomb
				return damage(err)
			}
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		name, err := w.enter(head.Name)
		if err == nil && name != "" {
			err = w.tarEntry(name, head, archive)
		}
		if err != nil {
			return damage(err)
		}
	}
}

func (w *writer) tarEntry(name string, head *tar.Header, in io.Reader) error {
	switch head.Typeflag {
	case tar.TypeDir:
		return w.dir(name)
	case tar.TypeReg, tar.TypeGNUSparse:
		return w.file(name, head.FileInfo().Mode(), in)
	case tar.TypeSymlink:
		w.link(name, head.Linkname)
	case tar.TypeLink:
		if !safe(head.Linkname) {
			w.skip(name, fmt.Sprintf("it links to %.200q, outside", head.Linkname))
			return nil
		}
		return w.copyOf(name, head.Linkname)
	default:
		w.skip(name, "it is not a file")
	}
	return nil
}

// copyOf writes a hard link as a copy of the file that was unpacked before.
func (w *writer) copyOf(name, of string) (err error) {
	in, err := w.root.Open(of)
	if errors.Is(err, os.ErrNotExist) {
		w.skip(name, fmt.Sprintf("it links to %.200q, which is not there", of))
		return nil
	}
	if err != nil {
		return w.failed(name, err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		w.skip(name, "it does not link to a file")
		return nil
	}
	return w.file(name, info.Mode(), in)
}

// damage marks the errors of a reader that met the end, or a wrong checksum.
func damage(err error) error {
	for _, cause := range []error{io.ErrUnexpectedEOF, gzip.ErrChecksum, gzip.ErrHeader, zip.ErrChecksum, zip.ErrFormat, zip.ErrAlgorithm, tar.ErrHeader} {
		if errors.Is(err, cause) && !errors.Is(err, ErrDamaged) {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return err
}
