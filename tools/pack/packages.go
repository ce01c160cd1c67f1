package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"  // registers itself
	_ "github.com/goreleaser/nfpm/v2/arch" // registers itself
	_ "github.com/goreleaser/nfpm/v2/deb"  // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers itself
)

// packages makes the packages of the systems on Linux.
func (p *packer) packages(program, arch string) ([]string, error) {
	c := p.config.Packages[0]
	var made []string
	for _, format := range c.Formats {
		info := p.describe(c, program, arch, format)
		packager, err := nfpm.Get(format)
		if err != nil {
			return nil, err
		}
		name := packager.ConventionalFileName(info)
		err = toFile(filepath.Join(p.dist, name), func(w io.Writer) error { return packager.Package(info, w) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		made = append(made, name)
	}
	return made, nil
}

// describe describes a package as nfpm wants it. Nothing in it depends on when or
// where it is made.
func (p *packer) describe(c pkg, program, arch, format string) *nfpm.Info {
	contents := files.Contents{{
		Source: program, Destination: path.Join(c.BinDir, filepath.Base(program)),
		FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: p.facts.Commit},
	}}
	for _, f := range c.Contents {
		if f.Packager != "" && f.Packager != format {
			continue
		}
		contents = append(contents, &files.Content{
			Source: filepath.Join(p.root, filepath.FromSlash(f.Source)), Destination: f.Destination,
			FileInfo: &files.ContentFileInfo{Mode: os.FileMode(f.Info.Mode), MTime: p.facts.Commit},
		})
	}
	scripts := c.Overrides[format].Scripts
	info := &nfpm.Info{
		Name: c.Name, Arch: arch, Platform: "linux", Version: p.facts.Version, Section: c.Section,
		Maintainer: c.Maintainer, Description: c.Description, Vendor: c.Vendor, Homepage: c.Homepage, License: c.License,
		MTime: p.facts.Commit,
		Overridables: nfpm.Overridables{
			Recommends: c.Recommends, Suggests: c.Suggests, Umask: os.FileMode(c.Umask), Contents: contents,
			RPM:     nfpm.RPM{BuildHost: c.RPM.BuildHost},
			Scripts: nfpm.Scripts{PostInstall: p.script(scripts.PostInstall), PostRemove: p.script(scripts.PostRemove)},
		},
	}
	if arch == "amd64" {
		info.Deb.ArchVariant = "v1" // GOAMD64, as GoReleaser says it
	}
	return nfpm.WithDefaults(info)
}

// script is the path of a script; "" stays: there is none.
func (p *packer) script(file string) string {
	if file == "" {
		return ""
	}
	return filepath.Join(p.root, filepath.FromSlash(file))
}
