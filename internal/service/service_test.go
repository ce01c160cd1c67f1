package service_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/service"
)

// odd is a config with everything that needs to be quoted.
func odd() service.Config {
	return service.Config{
		Program: "/opt/my programs/50%/oh\"gw", Args: []string{"--workspace", "/home/jane/a b/$HOME", "--addr", "127.0.0.1:6449"},
		Path: "/usr/bin:/home/jane/my bin", Drain: 10 * time.Second, Log: "/home/jane/a & b.log",
	}
}

func TestTheUnit(t *testing.T) {
	t.Parallel()
	want := `# Written by: ohgw service install
[Unit]
Description=ohgw, OpenHands agents for OpenAI clients
Documentation=man:ohgw-serve(1)

[Service]
Type=notify
ExecStart=/usr/bin/ohgw serve
Environment=PATH=/usr/bin
Restart=on-failure
RestartSec=2
# A wrong command line or config (2), a missing key (4), a daemon that already
# runs (6), no sandbox (7): another start would fail the same way.
RestartPreventExitStatus=2 4 6 7
# A program of an agent that uses all memory ends alone.
OOMPolicy=continue
KillMode=mixed
TimeoutStopSec=25

[Install]
WantedBy=default.target
`
	got := service.SystemdUnit(service.Config{Program: "/usr/bin/ohgw", Path: "/usr/bin", Drain: 10 * time.Second})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !service.Ours(got) || service.Ours("[Unit]\n") {
		t.Error("it does not know its own")
	}
	strange := service.SystemdUnit(odd())
	for _, line := range []string{
		`ExecStart="/opt/my programs/50%%/oh\"gw" serve --workspace "/home/jane/a b/$$HOME" --addr 127.0.0.1:6449`,
		`Environment="PATH=/usr/bin:/home/jane/my bin"`,
	} {
		if !strings.Contains(strange, line+"\n") {
			t.Errorf("no line %s in\n%s", line, strange)
		}
	}
}

// systemd itself reads the units, where there is one.
func TestSystemdTakesTheUnits(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd here")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "my 50% $programs", "ohgw")
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]service.Config{
		"always":    {Program: program, Args: []string{"--workspace", "/a b"}, Path: "/usr/bin:/my bin", Drain: time.Second},
		"on demand": {Program: program, Path: "/usr/bin", Drain: time.Second, Socket: "127.0.0.1:6449"},
	} {
		dir := filepath.Join(dir, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		units := []string{filepath.Join(dir, service.Unit)}
		write(t, units[0], service.SystemdUnit(c))
		if c.Socket != "" {
			units = append(units, filepath.Join(dir, service.Socket))
			write(t, units[1], service.SystemdSocket(c))
		}
		cmd := exec.CommandContext(t.Context(), analyze, append([]string{"--user", "--man=no", "--recursive-errors=no", "verify"}, units...)...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	// It does see what is wrong.
	unit := filepath.Join(dir, service.Unit)
	write(t, unit, strings.Replace(service.SystemdUnit(service.Config{Program: "/nowhere", Path: "/bin"}), "Type=notify", "Type=nothing", 1))
	cmd := exec.CommandContext(t.Context(), analyze, "--user", "--man=no", "verify", unit)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
	if out, err := cmd.CombinedOutput(); err == nil && len(out) == 0 {
		t.Error("a wrong unit was taken")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// plist is a property list as far as ours goes.
func plist(t *testing.T, text string) (words []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = true
	var path []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return words
		}
		if err != nil {
			t.Fatalf("reading the unit: %v in\n%s", err, text)
		}
		switch x := token.(type) {
		case xml.StartElement:
			path = append(path, x.Name.Local)
			if x.Name.Local == "true" || x.Name.Local == "false" || x.Name.Local == "array" || x.Name.Local == "dict" {
				words = append(words, "<"+x.Name.Local+">")
			}
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			if s := string(x); strings.TrimSpace(s) != "" {
				words = append(words, path[len(path)-1]+" "+s)
			}
		}
	}
}

func TestTheLaunchAgent(t *testing.T) {
	t.Parallel()
	text := service.LaunchAgent(odd())
	want := []string{
		"<dict>", "key Label", "string dev.ohgw.serve",
		"key ProgramArguments", "<array>", `string /opt/my programs/50%/oh"gw`, "string serve", "string --workspace", "string /home/jane/a b/$HOME", "string --addr", "string 127.0.0.1:6449",
		"key EnvironmentVariables", "<dict>", "key PATH", "string /usr/bin:/home/jane/my bin",
		"key RunAtLoad", "<true>", "key KeepAlive", "<dict>", "key SuccessfulExit", "<false>",
		"key ThrottleInterval", "integer 10", "key ExitTimeOut", "integer 25", "key ProcessType", "string Interactive", "key StandardErrorPath", "string /home/jane/a & b.log",
	}
	if diff := cmp.Diff(want, plist(t, text)); diff != "" {
		t.Error(diff)
	}
	if !service.Ours(text) {
		t.Error("it does not know its own")
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	text := service.Windows(service.Config{Program: `C:\Users\O'Hara\ohgw.exe`, Args: []string{"--workspace", `C:\my work`}})
	want := `$action = New-ScheduledTaskAction -Execute 'C:\Users\O''Hara\ohgw.exe' -Argument 'serve --workspace "C:\my work"'` + "\n"
	if !strings.HasPrefix(text, want) {
		t.Errorf("got\n%s", text)
	}
}

func TestWhereTheyBelong(t *testing.T) {
	t.Parallel()
	env := func(dir string) func(string) string { return func(string) string { return dir } }
	for got, want := range map[string]string{
		service.SystemdDir(env(""), "/home"):         "/home/.config/systemd/user",
		service.SystemdDir(env("/xdg"), "/home"):     "/xdg/systemd/user",
		service.SystemdDir(env("relative"), "/home"): "/home/.config/systemd/user",
		service.LaunchAgentFile("/home"):             "/home/Library/LaunchAgents/dev.ohgw.serve.plist",
	} {
		if filepath.ToSlash(got) != want {
			t.Errorf("path = %q, want %q", got, want)
		}
	}
}
