package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goreleaser/nfpm/v2/files"
)

// repository is the top of ours, seen from here.
const repository = "../.."

func theConfig(t *testing.T) *config {
	t.Helper()
	c, err := load(filepath.Join(repository, "goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReleaseIsForAllPlatformsInAllPackages(t *testing.T) {
	t.Parallel()
	c := theConfig(t)
	for name, list := range map[string][2]string{
		"systems":  {strings.Join(c.Builds[0].OS, " "), "linux darwin windows"},
		"machines": {strings.Join(c.Builds[0].Arch, " "), "amd64 arm64"},
		"packages": {strings.Join(c.Packages[0].Formats, " "), "deb rpm apk archlinux"},
	} {
		if list[0] != list[1] {
			t.Errorf("%s = %q, want %q", name, list[0], list[1])
		}
	}
}

// TestCompletionsOfEveryPackageAreWhereShellsLook holds the paths for each
// kind of system: a script elsewhere is installed and never read.
func TestCompletionsOfEveryPackageAreWhereShellsLook(t *testing.T) {
	t.Parallel()
	p := &packer{config: theConfig(t), root: repository, facts: facts{Version: "1.2.3", Commit: time.Unix(1, 0)}}
	for _, format := range p.config.Packages[0].Formats {
		zsh := "/usr/share/zsh/site-functions/_ohgw"
		if format == "deb" {
			zsh = "/usr/share/zsh/vendor-completions/_ohgw"
		}
		got := map[string]bool{}
		for _, f := range p.describe(p.config.Packages[0], "ohgw", "amd64", format).Contents {
			got[f.Destination] = true
		}
		for _, want := range []string{
			"/usr/bin/ohgw", "/usr/share/bash-completion/completions/ohgw", zsh,
			"/usr/share/fish/vendor_completions.d/ohgw.fish", "/usr/share/man/man1/",
		} {
			if !got[want] {
				t.Errorf("%s has no %s: %v", format, want, got)
			}
		}
	}
}

func TestTemplateThatIsNotKnownIsRefused(t *testing.T) {
	t.Parallel()
	f := facts{Version: "1.2.3", Os: "linux", Arch: "arm64", Commit: time.Unix(0, 0)}
	if got, err := expand("ohgw_{{ .Version }}_{{ .Os }}_{{ .Arch }} {{ .CommitDate }}", f); err != nil || got != "ohgw_1.2.3_linux_arm64 1970-01-01T00:00:00Z" {
		t.Errorf("expand() = %q, %v", got, err)
	}
	for _, text := range []string{"{{ .Branch }}", "{{ incpatch .Version }}", "{{"} {
		if got, err := expand(text, f); err == nil {
			t.Errorf("expand(%q) = %q, want an error", text, got)
		}
	}
}

// TestBillOfMaterialsSaysWhatIsBuiltIn takes this test's own program for ohgw.
func TestBillOfMaterialsSaysWhatIsBuiltIn(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	archives := map[string]func(*os.File) error{
		"a.tar.gz": func(f *os.File) error { return writeTar(f, []member{{program, "ohgw", 0o755}}, at) },
		"a.zip":    func(f *os.File) error { return writeZip(f, []member{{program, "ohgw.exe", 0o755}}, at) },
		"source.tar.gz": func(f *os.File) error {
			return writeTar(f, []member{{filepath.Join(repository, "go.mod"), "ohgw-1/go.mod", 0o644}}, at)
		},
	}
	for name, write := range archives {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := write(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		text := bill(t, f.Name())
		if again := bill(t, f.Name()); again != text {
			t.Errorf("%s: two bills of one archive differ", name)
		}
		var d document
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if d.Creation.Created != "2026-11-21T12:00:00Z" {
			t.Errorf("%s: created = %s, want the time of the archive", name, d.Creation.Created)
		}
		want := "pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go")
		if name == "source.tar.gz" {
			want = "pkg:golang/github.com/spf13/cobra@v1."
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: the bill has no %s", name, want)
		}
		if len(d.Relationships) != len(d.Packages) {
			t.Errorf("%s: %d packages, %d relationships", name, len(d.Packages), len(d.Relationships))
		}
	}
}

func bill(t *testing.T, archive string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "bill.json")
	if err := writeSBOM(archive, to); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestArchiveThatHasNoProgramHasNoBill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.tar.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeTar(f, []member{{filepath.Join(repository, "LICENSE"), "LICENSE", 0o644}}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := writeSBOM(path, path+".json"); err == nil {
		t.Error("writeSBOM() of an archive with neither program nor go.mod is no error")
	}
}

// A format without the profile needs no scripts, and the other way round.
func TestProfileOfAppArmorIsInDebAndRPM(t *testing.T) {
	t.Parallel()
	p := &packer{config: theConfig(t), root: repository, facts: facts{Version: "1.2.3", Commit: time.Unix(1, 0)}}
	for _, format := range p.config.Packages[0].Formats {
		info := p.describe(p.config.Packages[0], "ohgw", "amd64", format)
		profile := slices.ContainsFunc(info.Contents, func(f *files.Content) bool { return f.Destination == "/usr/share/ohgw/apparmor" })
		want := format == "deb" || format == "rpm"
		if scripts := info.Scripts.PostInstall != "" && info.Scripts.PostRemove != ""; profile != want || scripts != want {
			t.Errorf("%s: profile %t, scripts %t, want %t", format, profile, scripts, want)
		}
	}
}

// TestProfileIsInstalledWhereItIsUnderstood runs the scripts as dpkg does, with
// another root directory and a parser that accepts or refuses the profile.
func TestProfileIsInstalledWhereItIsUnderstood(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no /bin/sh")
	}
	root := t.TempDir()
	bin, shipped, installed := filepath.Join(root, "bin"), filepath.Join(root, "usr/share/ohgw/apparmor"), filepath.Join(root, "etc/apparmor.d/ohgw")
	text, err := os.ReadFile(filepath.Join(repository, "packaging", "apparmor"))
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		shipped: string(text),
		// It says yes to what exists and has the rule, as AppArmor 4.0 does.
		filepath.Join(bin, "apparmor_parser"): "#!/bin/sh\n[ ! -e \"$DPKG_ROOT/old\" ] && grep -q userns, \"$3\"\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		before func() error
		script string
		args   []string
		want   bool // the profile is there
	}{
		{nil, "postinstall", []string{"configure"}, false}, // without AppArmor
		{func() error { return os.MkdirAll(filepath.Dir(installed), 0o755) }, "postinstall", []string{"configure"}, true},
		{nil, "postinstall", []string{"configure", "1.2.2"}, true},
		{nil, "postremove", []string{"upgrade", "1.2.4"}, true},
		{nil, "postremove", []string{"1"}, true},
		{nil, "postremove", []string{"remove"}, false},
		{nil, "postremove", []string{"purge"}, false},
		{func() error { return os.WriteFile(filepath.Join(root, "old"), nil, 0o600) }, "postinstall", []string{"1"}, false},
		{func() error { return os.Remove(filepath.Join(root, "old")) }, "postinstall", []string{"1"}, true},
		{nil, "postremove", []string{"0"}, false},
	} {
		if step.before != nil {
			if err := step.before(); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{filepath.Join(repository, "packaging", step.script)}, step.args...)...)
		cmd.Env = []string{"DPKG_ROOT=" + root, "PATH=" + bin + ":/usr/bin:/bin"}
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s %q: %v: %s", step.script, step.args, err, out)
		}
		got, err := os.ReadFile(installed)
		if (err == nil) != step.want || err == nil && string(got) != string(text) {
			t.Errorf("%s %q: the profile is %q, %v; want it: %t", step.script, step.args, got, err, step.want)
		}
	}
}
