package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"

	"gopkg.in/yaml.v3"
)

// config is what pack needs of goreleaser.yaml, under GoReleaser's names.
type config struct {
	Builds   []build   `yaml:"builds"`
	Archives []archive `yaml:"archives"`
	Packages []pkg     `yaml:"nfpms"`
	SBOMs    []struct {
		Artifacts string   `yaml:"artifacts"`
		Documents []string `yaml:"documents"`
	} `yaml:"sboms"`
	Source struct {
		Name   string `yaml:"name_template"`
		Prefix string `yaml:"prefix_template"`
	} `yaml:"source"`
	Checksum struct {
		Name string `yaml:"name_template"`
	} `yaml:"checksum"`
	Snapshot struct {
		Version string `yaml:"version_template"`
	} `yaml:"snapshot"`
}

type build struct {
	Main    string   `yaml:"main"`
	Binary  string   `yaml:"binary"`
	Env     []string `yaml:"env"`
	Flags   []string `yaml:"flags"`
	Ldflags []string `yaml:"ldflags"`
	OS      []string `yaml:"goos"`
	Arch    []string `yaml:"goarch"`
}

type archive struct {
	Name      string   `yaml:"name_template"`
	Formats   []string `yaml:"formats"`
	Overrides []struct {
		OS      string   `yaml:"goos"`
		Formats []string `yaml:"formats"`
	} `yaml:"format_overrides"`
	Files []struct {
		Source string `yaml:"src"`
	} `yaml:"files"`
}

// pkg is a package for Linux in all its formats.
type pkg struct {
	Name        string    `yaml:"package_name"`
	Formats     []string  `yaml:"formats"`
	Vendor      string    `yaml:"vendor"`
	Maintainer  string    `yaml:"maintainer"`
	Homepage    string    `yaml:"homepage"`
	License     string    `yaml:"license"`
	Section     string    `yaml:"section"`
	Description string    `yaml:"description"`
	BinDir      string    `yaml:"bindir"`
	Umask       uint32    `yaml:"umask"`
	Recommends  []string  `yaml:"recommends"`
	Suggests    []string  `yaml:"suggests"`
	Contents    []content `yaml:"contents"`
	RPM         struct {
		BuildHost string `yaml:"buildhost"`
	} `yaml:"rpm"`
	// Overrides are by format.
	Overrides map[string]struct {
		Scripts struct {
			PostInstall string `yaml:"postinstall"`
			PostRemove  string `yaml:"postremove"`
		} `yaml:"scripts"`
	} `yaml:"overrides"`
}

type content struct {
	Source      string `yaml:"src"`
	Destination string `yaml:"dst"`
	Packager    string `yaml:"packager"`
	Info        struct {
		Mode uint32 `yaml:"mode"`
	} `yaml:"file_info"`
}

func load(path string) (*config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read release configuration: %w", err)
	}
	var c config
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read release configuration: %w", err)
	}
	if len(c.Builds) != 1 || len(c.Archives) != 1 || len(c.Packages) != 1 {
		return nil, fmt.Errorf("%s: want one build, one archive and one package, have %d, %d, %d",
			path, len(c.Builds), len(c.Archives), len(c.Packages))
	}
	return &c, nil
}

// facts are what a template may ask for, under GoReleaser's names.
type facts struct {
	Version      string
	ShortCommit  string
	Commit       time.Time
	Os, Arch     string
	ArtifactName string
}

// CommitTimestamp is the time of the commit in seconds.
func (f facts) CommitTimestamp() int64 { return f.Commit.Unix() }

// CommitDate is the time of the commit.
func (f facts) CommitDate() string { return f.Commit.UTC().Format(time.RFC3339) }

// expand fills in a template.
func expand(text string, f facts) (string, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", fmt.Errorf("template %q: %w", text, err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, f); err != nil {
		return "", fmt.Errorf("template %q: %w", text, err)
	}
	return strings.TrimSpace(b.String()), nil
}
