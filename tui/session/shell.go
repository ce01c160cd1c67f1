package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
)

// What the agent gets of a command's output, in bytes: the beginning and the end.
const givenHead, givenTail = 4 << 10, 12 << 10

// Shell is a command of the user that runs in the conversation's directory.
type Shell struct {
	Line  string
	Begun time.Time

	dir    string
	entry  *transcript.Shell
	cancel context.CancelFunc
	stream *output
	clean  safe.Cleaner
}

// Commands are the commands of the user in the conversation's directory.
type Commands struct {
	*core

	Running *Shell   // nil: none runs
	Outputs []Output // for the next question
}

// Output is what a command of the user printed: the agent gets it with the next
// question.
type Output struct {
	Line string // the command
	Dir  string
	Text string // harmless, the beginning and the end
	How  string // "exit code 1", "interrupted"
}

// Label is the output in a line.
func (o Output) Label() string {
	return "output of $ " + safe.Line(o.Line) + " · " + human.Size(int64(len(o.Text)))
}

// message is what the agent reads.
func (o Output) message() string {
	fence := "```"
	for strings.Contains(o.Text, fence) {
		fence += "`"
	}
	text := o.Text
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fmt.Sprintf("I ran a command in %s (%s):\n%s\n$ %s\n%s%s\n\n", o.Dir, o.How, fence, o.Line, text, fence)
}

// ShellMsg is what came of a command since the last one.
type ShellMsg struct {
	shell *Shell
	text  string
	cut   int // bytes that are missing before text
	over  bool
	code  int
	err   error
}

// Run runs a command line of the user in dir; "" is a directory that is not known. done is
// false if it cannot be run.
func (s *Commands) Run(dir, line string) (cmd tea.Cmd, done bool) {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return s.view.Say("! needs a command, such as !git status"), false
	case s.cfg.Local == nil:
		return s.view.Say("no command was run: the agent's files cannot be reached from here"), false
	case dir == "":
		return s.view.Say("no command was run: the directory is not known before the first answer"), false
	case s.Running != nil:
		return s.view.Say("a command is running; Ctrl+C ends it"), false
	}
	ctx, cancel := context.WithCancel(s.ctx)
	sh := &Shell{Line: line, dir: dir, Begun: s.cfg.Now(), cancel: cancel, stream: newOutput(), entry: transcript.NewShell(safe.Text(line))}
	s.Running = sh
	s.Log.Add(sh.entry)
	s.Log.Bottom()
	local := s.cfg.Local
	run := func() tea.Msg {
		defer cancel()
		if !s.streams.begin() {
			sh.stream.finish(-1, context.Canceled)
			return nil
		}
		defer s.streams.done()
		sh.stream.finish(local.Run(ctx, dir, line, sh.stream))
		return nil
	}
	return tea.Batch(run, sh.next), true
}

// next waits for what a command prints. It is a command of Bubble Tea.
func (sh *Shell) next() tea.Msg {
	msg := sh.stream.take()
	msg.shell = sh
	return msg
}

// ran takes in what a command printed.
func (s *Commands) ran(msg ShellMsg) tea.Cmd {
	sh := msg.shell
	if sh != s.Running {
		return nil // Of another conversation.
	}
	text := sh.clean.Clean(msg.text)
	if msg.over {
		text += sh.clean.Rest()
	}
	if msg.cut > 0 {
		text = "\n… " + human.Size(int64(msg.cut)) + " left out …\n" + text
	}
	sh.entry.Print(text)
	if text != "" {
		s.view.Printed(text)
	}
	if !msg.over {
		return sh.next
	}
	s.Running = nil
	how, bad := ending(msg)
	took := s.cfg.Now().Sub(sh.Begun)
	sh.entry.End(how+" · "+human.Duration(took)+" · the agent reads this with your next message", bad)
	o := Output{Line: sh.Line, Dir: sh.dir, Text: human.Ends(sh.entry.Text(), givenHead, givenTail), How: how}
	s.Outputs = append(s.Outputs, o)
	s.view.Ran(o)
	return nil
}

// ending is how a command ended, in words.
func ending(msg ShellMsg) (how string, bad bool) {
	switch {
	case errors.Is(msg.err, context.Canceled):
		return "interrupted", true
	case msg.err != nil:
		return human.Sentence(safe.Line(msg.err.Error())), true
	}
	return "exit code " + strconv.Itoa(msg.code), msg.code != 0
}

// End interrupts the command that runs.
func (s *Commands) End() { s.Running.cancel() }

// offered are the outputs for the agent, in the question's text.
func offered(outputs []Output, text string) string {
	var b strings.Builder
	for _, o := range outputs {
		b.WriteString(o.message())
	}
	return b.String() + text
}

// output takes what a command prints and hands it over a few times a second. Of
// what comes faster than that it keeps the end.
type output struct {
	mu   sync.Mutex
	got  []byte
	cut  int           // bytes that were dropped before got
	wake chan struct{} // has a value when something came since the last time
	end  chan struct{} // closed when the command has ended
	code int
	err  error
}

const (
	// shellFrame is how often output reaches the screen.
	shellFrame = 100 * time.Millisecond
	// shellBatch bounds what is handed over at a time, in bytes.
	shellBatch = 96 << 10
)

func newOutput() *output {
	return &output{wake: make(chan struct{}, 1), end: make(chan struct{})}
}

// Write implements [io.Writer]. It never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got = append(o.got, p...)
	if len(o.got) > 2*shellBatch {
		o.shorten()
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (o *output) shorten() {
	if n := len(o.got) - shellBatch; n > 0 {
		o.cut += n
		o.got = append(o.got[:0], o.got[n:]...)
	}
}

func (o *output) finish(code int, err error) {
	o.mu.Lock()
	o.code, o.err = code, err
	o.mu.Unlock()
	close(o.end)
}

// take waits for output, or the end.
func (o *output) take() ShellMsg {
	select {
	case <-o.wake:
		t := time.NewTimer(shellFrame)
		defer t.Stop()
		select {
		case <-t.C:
		case <-o.end:
		}
	case <-o.end:
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shorten()
	msg := ShellMsg{text: string(o.got), cut: o.cut}
	o.got, o.cut = o.got[:0], 0
	select {
	case <-o.end:
		msg.over, msg.code, msg.err = true, o.code, o.err
	default:
	}
	return msg
}
