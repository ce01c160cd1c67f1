package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// member is a file in an archive.
type member struct {
	path string // on disk
	name string // in the archive
	mode int64
}

// archives packs the program with what is read beside it.
func (p *packer) archives(program, system, arch string) ([]string, error) {
	a, f := p.config.Archives[0], p.facts
	f.Os, f.Arch = system, arch
	name, err := expand(a.Name, f)
	if err != nil {
		return nil, err
	}
	members, err := p.members(a)
	if err != nil {
		return nil, err
	}
	members = append(members, member{path: program, name: filepath.Base(program), mode: 0o755})
	formats := a.Formats
	for _, o := range a.Overrides {
		if o.OS == system {
			formats = o.Formats
		}
	}
	var made []string
	for _, format := range formats {
		write := map[string]func(io.Writer, []member, time.Time) error{"tar.gz": writeTar, "zip": writeZip}[format]
		if write == nil {
			return nil, fmt.Errorf("no archive can be %q", format)
		}
		file := name + "." + format
		if err := toFile(filepath.Join(p.dist, file), func(w io.Writer) error { return write(w, members, p.facts.Commit) }); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		made = append(made, file)
	}
	return made, nil
}

// members lists the files of the repository that an archive has.
func (p *packer) members(a archive) ([]member, error) {
	var all []member
	for _, f := range a.Files {
		paths, err := filepath.Glob(filepath.Join(p.root, filepath.FromSlash(f.Source)))
		if err != nil {
			return nil, err
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("no file is like %s", f.Source)
		}
		slices.Sort(paths)
		for _, path := range paths {
			name, err := filepath.Rel(p.root, path)
			if err != nil {
				return nil, err
			}
			all = append(all, member{path: path, name: filepath.ToSlash(name), mode: 0o644})
		}
	}
	return all, nil
}

// toFile writes a file that is whole, or not there.
func toFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func writeTar(w io.Writer, members []member, at time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, m := range members {
		text, err := os.ReadFile(m.path)
		if err != nil {
			return err
		}
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: m.name, Size: int64(len(text)), Mode: m.mode, ModTime: at, Uname: "root", Gname: "root",
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func writeZip(w io.Writer, members []member, at time.Time) error {
	z := zip.NewWriter(w)
	for _, m := range members {
		text, err := os.ReadFile(m.path)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(m.mode))
		entry, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := entry.Write(text); err != nil {
			return err
		}
	}
	return z.Close()
}
