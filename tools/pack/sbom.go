package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// document is a bill of materials in the form of SPDX 2.3.
type document struct {
	Version       string        `json:"spdxVersion"`
	DataLicense   string        `json:"dataLicense"`
	ID            string        `json:"SPDXID"`
	Name          string        `json:"name"`
	Namespace     string        `json:"documentNamespace"`
	Creation      creation      `json:"creationInfo"`
	Packages      []spdxPackage `json:"packages"`
	Relationships []relation    `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID            string     `json:"SPDXID"`
	Name          string     `json:"name"`
	Version       string     `json:"versionInfo,omitempty"`
	Location      string     `json:"downloadLocation"`
	FilesAnalyzed bool       `json:"filesAnalyzed"`
	License       string     `json:"licenseDeclared"`
	Comment       string     `json:"comment,omitempty"`
	Checksums     []checksum `json:"checksums,omitempty"`
	References    []external `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type external struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relation struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// module is one thing that is built in.
type module struct{ path, version, sum string }

// found is what tells about an archive: its program, or its go.mod.
type found struct {
	text    []byte
	program bool
	at      time.Time
}

// writeSBOM writes the bill of materials of an archive. It says the same each
// time: nothing in it is of today.
func writeSBOM(archive, to string) error {
	f, err := look(archive)
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(archive), err)
	}
	modules := required(string(f.text))
	if f.program {
		if modules, err = builtIn(f.text); err != nil {
			return err
		}
	}
	sum, err := sumOf(archive)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(describe(filepath.Base(archive), sum, f.at, modules), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o644)
}

func describe(name, sum string, at time.Time, modules []module) document {
	const none = "NOASSERTION"
	d := document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: "https://github.com/ohgw/ohgw/spdx/" + sum,
		Creation:  creation{at.UTC().Format(time.RFC3339), []string{"Tool: ohgw-pack"}},
		Packages: []spdxPackage{{
			ID: "SPDXRef-archive", Name: name, Location: none, License: "MIT",
			Checksums: []checksum{{"SHA256", sum}},
		}},
		Relationships: []relation{{"SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-archive"}},
	}
	for _, m := range modules {
		p := spdxPackage{
			ID:   "SPDXRef-" + regexp.MustCompile(`[^A-Za-z0-9.-]`).ReplaceAllString(m.path+"-"+m.version, "-"),
			Name: m.path, Version: m.version, Location: none, License: none,
			References: []external{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.path + "@" + m.version}},
		}
		if m.sum != "" {
			p.Comment = "go.sum " + m.sum
		}
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, relation{"SPDXRef-archive", "CONTAINS", p.ID})
	}
	return d
}

// builtIn lists what the Go toolchain says is in a program.
func builtIn(program []byte) ([]module, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("read build information: %w", err)
	}
	modules := []module{{path: "stdlib", version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, module{m.Path, m.Version, m.Sum})
	}
	return modules, nil
}

// required lists what a go.mod asks for.
func required(text string) []module {
	var modules []module
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:require )?(\S+\.\S+/\S+) (v\S+)`).FindAllStringSubmatch(text, -1) {
		modules = append(modules, module{path: m[1], version: m[2]})
	}
	return modules
}

// look finds the program in an archive, or else the go.mod at its top.
func look(archive string) (found, error) {
	f, err := os.Open(archive)
	if err != nil {
		return found{}, err
	}
	defer func() { _ = f.Close() }() // It was only read.
	if strings.HasSuffix(archive, ".zip") {
		return lookInZip(f)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return found{}, err
	}
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return found{}, errors.New("neither a program nor a go.mod is in it")
		}
		if err != nil {
			return found{}, err
		}
		if program, wanted := tells(h.Name); wanted && h.Typeflag == tar.TypeReg {
			text, err := io.ReadAll(t)
			return found{text, program, h.ModTime}, err
		}
	}
}

func lookInZip(f *os.File) (found, error) {
	info, err := f.Stat()
	if err != nil {
		return found{}, err
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return found{}, err
	}
	for _, entry := range z.File {
		if program, wanted := tells(entry.Name); wanted {
			r, err := entry.Open()
			if err != nil {
				return found{}, err
			}
			text, err := io.ReadAll(r)
			return found{text, program, entry.Modified}, errors.Join(err, r.Close())
		}
	}
	return found{}, errors.New("no program is in it")
}

// tells reports whether a file says what an archive is made of: the program at
// the top of a release, or go.mod at the top of the source.
func tells(name string) (program, wanted bool) {
	dir, base := path.Split(name)
	switch {
	case dir == "" && (base == "ohgw" || base == "ohgw.exe"):
		return true, true
	case base == "go.mod" && strings.Count(name, "/") == 1:
		return false, true
	}
	return false, false
}
