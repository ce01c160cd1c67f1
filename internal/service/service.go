// Package service is how ohgw is started by the system: the files of systemd
// and launchd, and what to type on Windows.
//
// It makes texts and knows where they belong. It writes nothing and starts
// nothing. Invariants: a file of ours says so in a line that [Ours] finds; no
// file has a key.
package service

import (
	"encoding/xml"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Config is what the system has to know.
type Config struct {
	Program string // absolute
	// Args are those of "ohgw serve".
	Args []string
	// Path is PATH: agents look for their programs there.
	Path string
	// Drain is how long running answers may take to end.
	Drain time.Duration
	// Socket is the address, host:port, on which systemd listens in place of
	// ohgw, which it starts with the first client. Empty: ohgw runs always.
	Socket string
	// Log is the file that launchd writes the log to.
	Log string
}

// The names by which the system knows ohgw.
const (
	Unit   = "ohgw.service"
	Socket = "ohgw.socket"
	Label  = "dev.ohgw.serve"
)

// mark is in every file of ours.
const mark = "Written by: ohgw service install"

// Ours reports whether a file is one of ours.
func Ours(text string) bool { return strings.Contains(text, mark) }

// extraStop is what ohgw gets beyond its drain before it is killed.
const extraStop = 15 * time.Second

// SystemdUnit writes the service as a unit of a user. It has none of the options that
// restrict a service: RestrictNamespaces forbids the agent's full sandbox, and so do those
// that cover parts of /proc (ProtectKernelTunables, ProtectKernelLogs, ProtectProc …),
// as the kernel then refuses a new /proc.
func SystemdUnit(c Config) string {
	var b strings.Builder
	line := func(parts ...string) { b.WriteString(strings.Join(parts, "") + "\n") }
	line("# ", mark)
	line("[Unit]")
	line("Description=ohgw, OpenHands agents for OpenAI clients")
	line("Documentation=man:ohgw-serve(1)")
	if c.Socket != "" {
		line("Requires=", Socket)
		line("After=", Socket)
	}
	line("")
	line("[Service]")
	line("Type=notify")
	line("ExecStart=", quote(c.Program), " serve", quoteAll(c.Args))
	line("Environment=", quote("PATH="+c.Path))
	line("Restart=on-failure")
	line("RestartSec=2")
	line("# A wrong command line or config (2), a missing key (4), a daemon that already")
	line("# runs (6), no sandbox (7): another start would fail the same way.")
	line("RestartPreventExitStatus=2 4 6 7")
	line("# A program of an agent that uses all memory ends alone.")
	line("OOMPolicy=continue")
	line("KillMode=mixed")
	line("TimeoutStopSec=", strconv.Itoa(int((c.Drain + extraStop).Seconds())))
	if c.Socket == "" {
		line("")
		line("[Install]")
		line("WantedBy=default.target")
	}
	return b.String()
}

// SystemdSocket is the socket that starts the service.
func SystemdSocket(c Config) string {
	return "# " + mark + `
[Unit]
Description=Socket of ohgw

[Socket]
ListenStream=` + c.Socket + `

[Install]
WantedBy=sockets.target
`
}

// SystemdDir is where units of a user are.
func SystemdDir(getenv func(string) string, home string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "systemd", "user")
	}
	return filepath.Join(home, ".config", "systemd", "user")
}

// SystemdFile is the unit of the service.
func SystemdFile(getenv func(string) string, home string) string {
	return filepath.Join(SystemdDir(getenv, home), Unit)
}

// quoteAll writes arguments as systemd.service(5) reads them. Variables are
// known there, but not in the name of the program before them.
func quoteAll(args []string) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteString(" " + strings.ReplaceAll(quote(a), "$", "$$"))
	}
	return b.String()
}

// quote writes one word: systemd.syntax(7), with the % of its specifiers.
func quote(word string) string {
	word = strings.ReplaceAll(word, "%", "%%")
	plain := word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !strings.ContainsRune("/.,:=_-+@%$~", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if plain {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(word) + `"`
}

// LaunchAgent writes the service for launchd, which starts it at login.
func LaunchAgent(c Config) string {
	var args strings.Builder
	for _, a := range append([]string{c.Program, "serve"}, c.Args...) {
		args.WriteString("\t\t<string>" + escape(a) + "</string>\n")
	}
	return xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + mark + ` -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + Label + `</string>
	<key>ProgramArguments</key>
	<array>
` + args.String() + `	</array>
	<key>EnvironmentVariables</key>
	<dict>
		<key>PATH</key>
		<string>` + escape(c.Path) + `</string>
	</dict>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>10</integer>
	<key>ExitTimeOut</key>
	<integer>` + strconv.Itoa(int((c.Drain + extraStop).Seconds())) + `</integer>
	<key>ProcessType</key>
	<string>Interactive</string>
	<key>StandardErrorPath</key>
	<string>` + escape(c.Log) + `</string>
</dict>
</plist>
`
}

// LaunchAgentFile is where that belongs.
func LaunchAgentFile(home string) string {
	return filepath.Join(home, "Library", "LaunchAgents", Label+".plist")
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return b.String()
}

// Windows writes what to type there, in PowerShell: a task that starts ohgw at logon,
// without a window.
func Windows(c Config) string {
	args := make([]string, 0, len(c.Args)+1)
	for _, a := range append([]string{"serve"}, c.Args...) {
		if strings.ContainsAny(a, ` "`) {
			a = `"` + strings.ReplaceAll(a, `"`, `\"`) + `"`
		}
		args = append(args, a)
	}
	literal := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	return strings.Join([]string{
		"$action = New-ScheduledTaskAction -Execute " + literal(c.Program) + " -Argument " + literal(strings.Join(args, " ")),
		"$trigger = New-ScheduledTaskTrigger -AtLogOn -User $env:USERNAME",
		"$settings = New-ScheduledTaskSettingsSet -ExecutionTimeLimit 0 -RestartCount 3 -RestartInterval (New-TimeSpan -Minutes 1) -Hidden",
		"Register-ScheduledTask -TaskName ohgw -Action $action -Trigger $trigger -Settings $settings",
		"Start-ScheduledTask -TaskName ohgw",
		"",
	}, "\n")
}
