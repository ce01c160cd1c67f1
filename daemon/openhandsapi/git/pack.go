package git

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// manifestName is the file in an archive that says what is in it.
const manifestName = "archive_manifest.json"

// manifest is what it says, in the order of its members.
type manifest struct {
	Excludes []string `json:"excludes"`
	Files    int      `json:"file_count"`
	Format   string   `json:"format"`
	Source   string   `json:"source"`
	Bytes    int64    `json:"total_bytes"`
}

// packing is an archive that is being written. Links are not followed, and not in it;
// what vanishes meanwhile, or cannot be read, is left out.
type packing struct {
	files    sandbox.Streams
	out      *tar.Writer
	top      string // the name of the directory in the archive
	excludes []string
	count    manifest
	taken    bool // there is a file with the name of the manifest
}

// pack writes the files of a directory as tar.gz.
func pack(ctx context.Context, w io.Writer, files sandbox.Streams, dir string, excludes []string) error {
	zipped := gzip.NewWriter(w)
	name := filepath.Base(dir)
	if excludes == nil {
		excludes = []string{}
	}
	p := &packing{
		files: files, out: tar.NewWriter(zipped), top: name, excludes: excludes,
		count: manifest{Excludes: excludes, Format: formatTar, Source: name},
	}
	err := p.dir(ctx, dir, "")
	if err == nil && !p.taken {
		err = p.manifest()
	}
	return errors.Join(err, p.out.Close(), zipped.Close())
}

// dir writes a directory and what is in it. Name is its path in the one that is packed.
func (p *packing) dir(ctx context.Context, at, name string) error {
	entries, err := p.files.List(at)
	if err != nil {
		if name == "" {
			return notFound(err)
		}
		return nil
	}
	if err := p.begin(at, name); err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		inner := path.Join(name, e.Name())
		if excluded(inner, e.IsDir(), p.excludes) || secretInGit(inner) {
			continue
		}
		switch from := filepath.Join(at, e.Name()); {
		case e.IsDir():
			err = p.dir(ctx, from, inner)
		case e.Type().IsRegular():
			err = p.file(from, inner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin writes the entry of a directory.
func (p *packing) begin(at, name string) error {
	var changed time.Time
	if info, err := p.files.Stat(at); err == nil {
		changed = info.ModTime()
	}
	err := p.out.WriteHeader(&tar.Header{
		Typeflag: tar.TypeDir, Name: path.Join(p.top, name) + "/", Mode: 0o755, ModTime: changed.Truncate(time.Second), Format: tar.FormatPAX,
	})
	if err != nil {
		return fmt.Errorf("pack %s: %w", at, err)
	}
	return nil
}

// file writes a file with the size that it has now, whatever happens to it meanwhile.
func (p *packing) file(at, name string) error {
	file, info, err := p.files.Open(at)
	if err != nil {
		return nil // it is left out
	}
	defer func() { _ = file.Close() }() // it was read
	size := info.Size()
	err = p.out.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: path.Join(p.top, name), Mode: int64(info.Mode().Perm()), Size: size,
		ModTime: info.ModTime().Truncate(time.Second), Format: tar.FormatPAX,
	})
	if err == nil {
		whole := io.MultiReader(io.NewSectionReader(file, 0, size), zeros{})
		_, err = io.CopyBuffer(onlyWriter{p.out}, io.LimitReader(whole, size), make([]byte, packPiece))
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", at, err)
	}
	p.count.Files++
	p.count.Bytes += size
	p.taken = p.taken || name == manifestName
	return nil
}

// packPiece is how much of a file is read at once.
const packPiece = 256 << 10

// onlyWriter keeps io.CopyBuffer from choosing pieces of its own.
type onlyWriter struct{ io.Writer }

// zeros are what is missing of a file that has become shorter.
type zeros struct{}

// Read implements [io.Reader].
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// manifest writes what is in the archive.
func (p *packing) manifest() error {
	data, err := json.MarshalIndent(p.count, "", "  ")
	if err == nil {
		err = p.out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path.Join(p.top, manifestName), Mode: 0o644, Size: int64(len(data)), Format: tar.FormatPAX})
	}
	if err == nil {
		_, err = p.out.Write(data)
	}
	if err != nil {
		return fmt.Errorf("pack the manifest: %w", err)
	}
	return nil
}
