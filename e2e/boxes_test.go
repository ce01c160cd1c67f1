//go:build e2e && linux

package e2e_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/uuid"
)

// What BenchmarkSandbox holds and repeats.
const (
	heldShells    = 200
	boxRounds     = 16
	firstCommands = 40
)

// boxLevels are what is measured side by side.
var boxLevels = []string{"on", "off"}

// BenchmarkSandbox is what the sandbox costs: each figure stands beside the one with
// --sandbox off, measured in turn with it. One round is enough: -benchtime 1x. It
// prints figures and judges none.
func BenchmarkSandbox(b *testing.B) {
	o := newOutside(b)
	b.Run("first-command", func(b *testing.B) { o.firstCommand(b) })
	for _, c := range boxCommands {
		b.Run("command/of="+c.name, func(b *testing.B) { o.command(b, c.prepare, c.script) })
	}
	b.Run("ready", func(b *testing.B) { o.ready(b) })
	b.Run(fmt.Sprintf("shells=%d", heldShells), func(b *testing.B) { o.shells(b) })
}

// boxCommands are run in one shell of a conversation, after what prepares its
// workspace. A round takes much longer than the turn around it.
var boxCommands = []struct{ name, prepare, script string }{
	{"true", "", "for i in {1..300}; do /bin/true; done"},
	{
		"git-status",
		"git init -q . && for i in {1..300}; do echo $i >file$i; done && git add . && git -c user.name=a -c user.email=a@example.org commit -qm first",
		"for i in {1..60}; do git status >/dev/null; done",
	},
	{
		"go-build",
		"printf 'module example.org/small\\n\\ngo 1.24\\n' >go.mod && printf 'package main\\n\\nfunc main() { println(1) }\\n' >main.go && go build -o small .",
		"for i in {1..3}; do printf 'package main\\n\\nfunc main() { println(%s) }\\n' $RANDOM >main.go; go build -o small .; done",
	},
	{
		"find", "for d in {1..200}; do mkdir d$d && (cd d$d && touch f{1..100}); done",
		"for i in {1..12}; do find . -type f -size -1k >/dev/null; done",
	},
	// That of the system: the box does not show every other one.
	{"python", "PATH=/usr/bin python3 -c pass", "for i in {1..15}; do PATH=/usr/bin python3 -c pass; done"},
}

// boxed starts one ohgw with the sandbox, and one without.
func (o outside) boxed(b *testing.B) map[string]*gateway {
	of := map[string]*gateway{}
	for _, level := range boxLevels {
		of[level] = serveEmbedded(b, measured(b), o.llm.url, "--sandbox", level)
	}
	return of
}

// turn runs a command in a conversation, and tells how long the turn took.
func (o outside) turn(b *testing.B, g *gateway, conversation, command string) time.Duration {
	b.Helper()
	args, err := json.Marshal(map[string]any{"command": command})
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	o.ask(b, target{url: g.URL}, "[[tool terminal "+string(args)+"]] then [[finish Hello.]]",
		"X-OpenHands-ServerConversation-ID", conversation)
	return time.Since(began)
}

// sideBySide reports the lower quartile of times with and without the sandbox, and
// how many times the latter the former is. What else the machine does only adds.
func sideBySide(b *testing.B, times map[string][]time.Duration) {
	on, off := quarter(times["on"]), quarter(times["off"])
	b.ReportMetric(on.Seconds()*1000, "on-ms")
	b.ReportMetric(off.Seconds()*1000, "off-ms")
	b.ReportMetric((on-off).Seconds()*1000, "more-ms")
	b.ReportMetric(on.Seconds()/off.Seconds(), "x-off")
	b.ReportMetric(0, "ns/op")
}

// quarter is the lower quartile of some times.
func quarter(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/4]
}

// firstCommand is a turn with the first command of a conversation, which starts the
// shell and its sandbox.
func (o outside) firstCommand(b *testing.B) {
	of, times := o.boxed(b), map[string][]time.Duration{}
	for _, level := range boxLevels {
		o.turn(b, of[level], uuid.New(), "true")
	}
	for range firstCommands {
		for _, level := range boxLevels {
			times[level] = append(times[level], o.turn(b, of[level], uuid.New(), "true"))
		}
	}
	sideBySide(b, times)
}

// command is a turn whose command takes long. It also measures the processor's time for
// the command alone, which is more exact on a busy machine.
func (o outside) command(b *testing.B, prepare, script string) {
	of, times := o.boxed(b), map[string][]time.Duration{}
	in, processor := map[string]string{}, map[string][]time.Duration{}
	timed := "TIMEFORMAT='%U %S'; { time { " + script + "; } >/dev/null 2>&1; } 2>measured"
	for _, level := range boxLevels {
		in[level] = uuid.New()
		o.turn(b, of[level], in[level], "{ "+cmp.Or(prepare, "true")+"; } && "+script+" && touch measured")
		if done, _ := filepath.Glob(filepath.Join(of[level].State, "workspaces", "*", "measured")); len(done) != 1 {
			b.Skipf("with --sandbox %s, this machine cannot run: %s && %s", level, prepare, script)
		}
	}
	for range boxRounds {
		for _, level := range boxLevels {
			times[level] = append(times[level], o.turn(b, of[level], in[level], timed))
			processor[level] = append(processor[level], measuredTime(b, of[level]))
		}
	}
	sideBySide(b, times)
	b.ReportMetric(quarter(processor["on"]).Seconds()/quarter(processor["off"]).Seconds(), "cpu-x-off")
}

// measuredTime is the processor's time that the last command took.
func measuredTime(b *testing.B, g *gateway) time.Duration {
	b.Helper()
	found, err := filepath.Glob(filepath.Join(g.State, "workspaces", "*", "measured"))
	if err != nil || len(found) != 1 {
		b.Fatal(found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		b.Fatal(err)
	}
	var user, system float64
	if _, err := fmt.Sscan(string(text), &user, &system); err != nil {
		b.Fatalf("%q: %v", text, err)
	}
	return time.Duration((user + system) * float64(time.Second))
}

// ready is how long ohgw takes from its start until it answers, when it has looked
// once what sandbox there is.
func (o outside) ready(b *testing.B) {
	homes, times := map[string]string{}, map[string][]time.Duration{}
	for _, level := range boxLevels {
		homes[level] = b.TempDir()
		g := serveEmbeddedAt(b, homes[level], measured(b), o.llm.url, "--sandbox", level)
		o.turn(b, g, uuid.New(), "true")
		g.stop(b)
	}
	for range heldStarts {
		for _, level := range boxLevels {
			began := time.Now()
			g := serveEmbeddedAt(b, homes[level], measured(b), o.llm.url, "--sandbox", level)
			times[level] = append(times[level], time.Since(began))
			g.stop(b)
		}
	}
	sideBySide(b, times)
}

// shells is the memory of ohgw, and of everything below it, with conversations that
// have an open shell each. Pages that processes share are divided among them.
func (o outside) shells(b *testing.B) {
	memory := map[string]float64{}
	for _, level := range boxLevels {
		g := serveEmbedded(b, measured(b), o.llm.url, "--sandbox", level, "--max-idle", fmt.Sprint(2*heldShells))
		for range heldShells {
			o.turn(b, g, uuid.New(), "true")
		}
		shares := below(b, g.process.Cmd.Process.Pid)
		for name, kilobytes := range shares {
			b.ReportMetric(float64(kilobytes)/1000, level+"-"+name+"-MB")
			memory[level] += float64(kilobytes) / 1000
		}
		b.ReportMetric(memory[level], level+"-MB")
		g.stop(b)
	}
	b.ReportMetric(memory["on"]/memory["off"], "x-off")
	b.ReportMetric(0, "ns/op")
}

// below is the memory of a process and of all below it, in kilobytes, by the names of
// their programs.
func below(b *testing.B, root int) map[string]int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	name, parent := map[int]string{}, map[int]int{}
	for _, at := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(at)))
		text, err := os.ReadFile(at)
		open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
		if err != nil || open < 0 || end < 0 {
			continue // It has ended.
		}
		name[pid] = string(text[open+1 : end])
		parent[pid], _ = strconv.Atoi(string(bytes.Fields(text[end+1:])[1]))
	}
	total := map[string]int{}
	for pid := range name {
		chain := []int{}
		for at := pid; at > 1 && !slices.Contains(chain, at); at = parent[at] {
			chain = append(chain, at)
		}
		if !slices.Contains(chain, root) {
			continue
		}
		kind := name[pid]
		if pid == root {
			kind = "daemon"
		} else if kind != "bash" {
			kind = "helper"
		}
		total[kind] += share(b, pid)
	}
	return total
}

// share is a process's part of the memory, in kilobytes.
func share(b *testing.B, pid int) int {
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Skipf("run it as root, which may read the memory of the sandbox's helpers: %v", err)
	}
	for line := range strings.Lines(string(rollup)) {
		kilobytes := 0
		if n, _ := fmt.Sscanf(line, "Pss: %d kB", &kilobytes); n == 1 {
			return kilobytes
		}
	}
	return 0
}
