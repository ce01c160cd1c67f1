package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// packer makes one snapshot.
type packer struct {
	config *config
	root   string // of the repository
	dist   string // where the files go
	facts  facts
}

// snapshot makes all files for the commit in root.
func snapshot(ctx context.Context, root, dist, only string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if dist, err = filepath.Abs(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	c, err := load(filepath.Join(root, "goreleaser.yaml"))
	if err != nil {
		return err
	}
	p := &packer{config: c, root: root, dist: dist}
	if err := p.look(ctx); err != nil {
		return err
	}
	made, err := p.make(ctx, only)
	if err != nil {
		return err
	}
	return p.checksums(made)
}

// look asks git which commit this is.
func (p *packer) look(ctx context.Context) error {
	line, err := p.command(ctx, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	commit, seconds, _ := strings.Cut(strings.TrimSpace(line), " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || len(commit) < 7 {
		return fmt.Errorf("git says %q, no commit and its time", line)
	}
	p.facts = facts{ShortCommit: commit[:7], Commit: time.Unix(n, 0).UTC()}
	p.facts.Version, err = expand(p.config.Snapshot.Version, p.facts)
	return err
}

// make builds what can be built and returns the paths of the files.
func (p *packer) make(ctx context.Context, only string) ([]string, error) {
	var made []string
	for _, system := range p.config.Builds[0].OS {
		for _, arch := range p.config.Builds[0].Arch {
			if only != "" && only != system+"/"+arch {
				continue
			}
			started := time.Now()
			names, err := p.target(ctx, system, arch)
			if err != nil {
				return nil, fmt.Errorf("%s/%s: %w", system, arch, err)
			}
			fmt.Printf("%s/%s  %.0f s\n", system, arch, time.Since(started).Seconds())
			made = append(made, names...)
		}
	}
	if len(made) == 0 {
		return nil, fmt.Errorf("nothing is built for %s", only)
	}
	source, err := p.source(ctx)
	if err != nil {
		return nil, err
	}
	made = append(made, source)
	documents, err := p.documents(made, source)
	return append(made, documents...), err
}

// target makes the program for one platform, and what it comes in.
func (p *packer) target(ctx context.Context, system, arch string) ([]string, error) {
	program, err := p.build(ctx, system, arch)
	if err != nil {
		return nil, err
	}
	archives, err := p.archives(program, system, arch)
	if err != nil || system != "linux" {
		return archives, err
	}
	packages, err := p.packages(program, arch)
	return append(archives, packages...), err
}

// build compiles the program. Its time is that of the commit.
func (p *packer) build(ctx context.Context, system, arch string) (string, error) {
	b, f := p.config.Builds[0], p.facts
	f.Os, f.Arch = system, arch
	name := b.Binary
	if system == "windows" {
		name += ".exe"
	}
	program := filepath.Join(p.dist, system+"_"+arch, name)
	ldflags := make([]string, len(b.Ldflags))
	for i, text := range b.Ldflags {
		var err error
		if ldflags[i], err = expand(text, f); err != nil {
			return "", err
		}
	}
	args := slices.Concat([]string{"build"}, b.Flags, []string{"-ldflags=" + strings.Join(ldflags, " "), "-o", program, b.Main})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = p.root
	cmd.Env = append(slices.Concat(os.Environ(), b.Env), "GOOS="+system, "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return program, os.Chtimes(program, p.facts.Commit, p.facts.Commit)
}

// source packs what git has of the commit.
func (p *packer) source(ctx context.Context) (string, error) {
	name, err := expand(p.config.Source.Name, p.facts)
	if err != nil {
		return "", err
	}
	prefix, err := expand(p.config.Source.Prefix, p.facts)
	if err != nil {
		return "", err
	}
	name += ".tar.gz"
	_, err = p.command(ctx, "git", "archive", "--format=tar.gz", "--prefix="+prefix, "-o", filepath.Join(p.dist, name), "HEAD")
	return name, err
}

// documents writes what the archives and the source are made of.
func (p *packer) documents(made []string, source string) ([]string, error) {
	var written []string
	for _, s := range p.config.SBOMs {
		for _, name := range made {
			isArchive := strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".zip")
			if !isArchive || (name == source) != (s.Artifacts == "source") {
				continue
			}
			f := p.facts
			f.ArtifactName = name
			document, err := expand(s.Documents[0], f)
			if err != nil {
				return nil, err
			}
			if err := writeSBOM(filepath.Join(p.dist, name), filepath.Join(p.dist, document)); err != nil {
				return nil, fmt.Errorf("%s: %w", document, err)
			}
			written = append(written, document)
		}
	}
	return written, nil
}

// checksums writes the sums of all files, as sha256sum does.
func (p *packer) checksums(names []string) error {
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		sum, err := sumOf(filepath.Join(p.dist, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	fmt.Print(b.String())
	return os.WriteFile(filepath.Join(p.dist, p.config.Checksum.Name), []byte(b.String()), 0o644)
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // It was only read.
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// command runs a program in the repository and gives what it prints.
func (p *packer) command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = p.root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return string(out), nil
}
