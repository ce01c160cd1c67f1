//go:build unix

package terminal

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// supported says that there can be a session here.
const supported = true

const (
	// columns is wide enough that few programs break their lines.
	columns, rows = 200, 50

	startTimeout = 10 * time.Second
	// markerWait is how long the end of a command's output may lag behind the
	// word that the command is over; then the output is taken as it is. The lag
	// is microseconds, and half a second on a machine that is very busy.
	markerWait = 5 * time.Second
	// lastWait is how long to wait for a dead shell's output while another program
	// holds the terminal.
	lastWait = 500 * time.Millisecond
	// obeyWait is how long a command may take to end when it is told to, for
	// each of the ways to tell it.
	obeyWait = 500 * time.Millisecond
	// signalWait is how long a signal waits at most for a shell that gets no processor.
	signalWait = 10 * time.Second
	// hangupWait is how long programs may clean up when the shell is closed.
	hangupWait = 200 * time.Millisecond

	// The descriptors in the shell for what is not its terminal: commands come
	// in by one, the word that they are over goes out by the other. They are
	// far from the numbers that scripts use.
	commandFD, statusFD = 198, 199
)

// session is one shell on a terminal of its own.
//
// The shell is an interactive bash that waits, whenever it would show its
// prompt, for the next command on a pipe: nothing of a command is typed, and
// nothing that a program left unread is run. When it is over, the shell says
// so on another pipe, with a number that no output can know.
type session struct {
	master, slave *os.File
	commands      *os.File
	process       sandbox.Process
	pid           int
	code          int // how it ended, once gone is closed
	nonce         string
	modes         *unix.Termios // of the terminal when a command begins

	send      chan write     // to the writer; its buffer holds what is queued at most
	unwritten atomic.Int32   // how much of that is not written yet
	commanded atomic.Uint64  // how many commands there were; what was typed before the last is void
	wake      chan struct{}  // something happened; one is enough
	gone      chan struct{}  // closed when the shell is dead
	drained   chan struct{}  // closed when there will be no more output
	wg        sync.WaitGroup // all goroutines of the session

	mu    sync.Mutex
	mask  *secretenv.Masker
	clean cleaner
	marks *markers
	out   *output
	last  prompt
}

// write is data for the shell.
type write struct {
	to   *os.File
	data []byte
	// during is the number of the command that a program reads it in, and
	// begins says that it is the line of that command.
	during uint64
	begins bool
}

// startSession starts a shell and waits until it is ready.
func startSession(ctx context.Context, box sandbox.Box, shell sandbox.Program, registry *secretenv.Registry) (*session, error) {
	s := &session{
		nonce: rand.Text(), mask: registry.Masker(), out: &output{},
		send: make(chan write, 2), wake: make(chan struct{}, 1), gone: make(chan struct{}), drained: make(chan struct{}),
	}
	s.marks = newMarkers(s.nonce)
	s.clean.emit = func(p []byte) { s.out.write(s.mask.Write(p)) }
	if err := s.start(ctx, box, shell); err != nil {
		return nil, fmt.Errorf("start the shell in %s: %w", shell.Dir, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s.run("IFS= read -r -d '' -u 3 __ohgw_cmd && eval \"$__ohgw_cmd\"", s.initialise()+"\x00")
	if err := s.waitFor(ctx, 0); err != nil {
		s.close()
		return nil, fmt.Errorf("start the shell in %s: %w", shell.Dir, err)
	}
	s.takeOutput("") // what a shell says when it starts is not for the model
	return s, nil
}

func (s *session) start(ctx context.Context, box sandbox.Box, shell sandbox.Program) (err error) {
	var files []*os.File
	defer func() {
		if err != nil {
			closeAll(files...)
		}
	}()
	if s.master, s.slave, err = openTerminal(); err != nil {
		return fmt.Errorf("open a terminal: %w", err)
	}
	files = append(files, s.master, s.slave)
	if err := s.resize(columns, rows); err != nil {
		return fmt.Errorf("size the terminal: %w", err)
	}
	if err := s.setModes(); err != nil {
		return fmt.Errorf("set up the terminal: %w", err)
	}
	commandsIn, commands, err := os.Pipe()
	if err != nil {
		return err
	}
	files = append(files, commandsIn, commands)
	status, statusOut, err := os.Pipe()
	if err != nil {
		return err
	}
	files = append(files, status, statusOut)

	s.commands = commands
	shell.Files = []*os.File{s.slave, s.slave, s.slave, commandsIn, statusOut}
	if s.process, err = box.Start(ctx, shell); err != nil {
		return err
	}
	s.pid = s.process.PID()
	closeAll(commandsIn, statusOut)
	s.wg.Go(s.readOutput)
	s.wg.Go(func() { s.readStatus(status) })
	s.wg.Go(s.write)
	s.wg.Go(func() {
		s.code, _ = s.process.Wait()
		// Now the output ends when no other program has the terminal.
		closeAll(s.slave, status)
		close(s.gone)
		s.notify()
	})
	return nil
}

// openTerminal returns both ends of a terminal. Unlike the ones of the library,
// reading the master ends when it is closed.
func openTerminal() (master, slave *os.File, err error) {
	blocking, slave, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer closeAll(blocking)
	var fd int
	err = control(blocking, func(old int) (err error) {
		fd, err = unix.FcntlInt(uintptr(old), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		closeAll(slave)
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), blocking.Name()), slave, nil
}

// control calls f with the descriptor of a file, and leaves it as it is.
func control(file *os.File, f func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// initialise returns what the shell runs first. It defines two functions, which work
// in bash 3.2, under set -e and set -u, and whatever a command before them did:
//
//   - __ohgw_arm runs after each command, with its number. It puts right what
//     the shell needs to become ready again, and gives the exit code on. What a
//     command defined under the name of a builtin that is needed, or disabled
//     of them, is gone then: in POSIX mode unset cannot be hidden by a function.
//   - __ohgw_ready is the PROMPT_COMMAND: it says that the command is over, and
//     waits for the next one. It arms again, because the shell drops the rest of
//     a line, __ohgw_arm included, where a signal or an error ends a command.
//
// Neither is exported, and a copy that another bash got all the same knows by
// the process id that it is not meant.
func (s *session) initialise() string {
	return strings.NewReplacer("@NONCE", s.nonce, "@IN", strconv.Itoa(commandFD), "@OUT", strconv.Itoa(statusFD)).Replace(`exec @IN<&3 @OUT>&4 3<&- 4>&-
set +o history; set +H; history -c
unset BASH_SILENCE_DEPRECATION_WARNING
__ohgw_pid=$$
__ohgw_arm() {
__ohgw_code=$? __ohgw_seq=${1-${__ohgw_seq-0}}
if declare -F builtin || declare -F enable || declare -F unset || declare -F eval; then
if [[ -o posix ]]; then unset -f builtin enable unset declare eval; else POSIXLY_CORRECT=1; unset -f builtin enable unset declare eval; unset POSIXLY_CORRECT; fi
fi
enable builtin enable declare unset set export printf read eval return
builtin unset PROMPT_COMMAND PS0
PROMPT_COMMAND=__ohgw_ready PS1= PS2=
builtin export -n PROMPT_COMMAND PS1 PS2 __ohgw_pid __ohgw_code __ohgw_seq __ohgw_env __ohgw_cmd
builtin return "$__ohgw_code"
}
__ohgw_ready() {
{ __ohgw_arm && [[ x ]]
if [[ $$ = "${__ohgw_pid-}" ]]; then
builtin printf "\036%s:%s\036" @NONCE "$__ohgw_seq" >/dev/tty
builtin printf "%s\0" @NONCE "$__ohgw_seq" "$__ohgw_code" "${!:-}" "${PWD:-}" "${PATH:-}" >&@OUT
__ohgw_cmd= __ohgw_env=
IFS= builtin read -r -d "" -u @IN __ohgw_seq; IFS= builtin read -r -d "" -u @IN __ohgw_env
IFS= builtin read -r -d "" -u @IN __ohgw_cmd
builtin eval "$__ohgw_env"; __ohgw_env=
fi
} >/dev/null 2>&1
}
__ohgw_arm`)
}

// line makes the shell run the command that it has read. What the command
// starts does not inherit our descriptors, and what it does to them is undone.
func line(seq uint64) string {
	return fmt.Sprintf(` \eval "${__ohgw_cmd-}" %d<&- %d>&-; { __ohgw_arm %d && [[ x ]]; } >/dev/null 2>&1`, commandFD, statusFD, seq)
}

// rearm makes a shell that forgot how to become ready do so again. That it did
// not report the exit code of the last command is made up for.
const rearm = ` { __ohgw_arm && [[ x ]]; } >/dev/null 2>&1`

// begin makes the shell run a command. It must be ready for one. What was
// typed and not read is thrown away, and the terminal is as it was at first,
// whatever a program did to it.
func (s *session) begin(seq uint64, env, command string) {
	s.run(line(seq), fmt.Sprintf("%d\x00%s\x00%s\x00", seq, env, command))
}

// run types a line and gives the shell what it reads from its pipe.
func (s *session) run(line, data string) {
	during := s.commanded.Add(1)
	// A write that waits for a program to read ends now.
	_ = s.master.SetWriteDeadline(time.Unix(0, 1))
	s.unwritten.Add(2)
	s.send <- write{to: s.master, data: []byte(line + "\n"), during: during, begins: true}
	s.send <- write{to: s.commands, data: []byte(data), during: during}
}

// errBusy is returned when a program does not take its input.
var errBusy = errors.New("the program does not read its input")

// input types something.
func (s *session) input(data string) error {
	if s.unwritten.Load() > 0 {
		return errBusy
	}
	s.unwritten.Add(1)
	s.send <- write{to: s.master, data: []byte(data), during: s.commanded.Load()}
	return nil
}

// setModes makes a terminal that echoes nothing: what is typed into it is
// known, and could be a password.
func (s *session) setModes() error {
	modes, err := s.currentModes()
	if err != nil {
		return err
	}
	modes.Lflag &^= unix.ECHO | unix.ECHOE | unix.ECHOK | unix.ECHOCTL | unix.ECHOKE
	modes.Lflag |= unix.ISIG | unix.ICANON | unix.IEXTEN
	modes.Iflag &^= unix.IXON | unix.IXOFF
	modes.Iflag |= unix.ICRNL
	// A line end stays one byte: the cleaner needs no more, and the system takes
	// twenty times as long for short lines when it has to look at each byte.
	modes.Oflag &^= unix.OPOST
	s.modes = modes
	return control(s.slave, func(fd int) error { return unix.IoctlSetTermios(fd, ioctlSetTermios, modes) })
}

func (s *session) currentModes() (modes *unix.Termios, err error) {
	err = control(s.slave, func(fd int) (err error) {
		modes, err = unix.IoctlGetTermios(fd, ioctlGetTermios)
		return err
	})
	return modes, err
}

// waitFor waits until the shell has run that command, and its output is here.
func (s *session) waitFor(ctx context.Context, seq uint64) error {
	for {
		if s.over(seq) {
			return s.waitForMarker(ctx, seq)
		}
		select {
		case <-s.wake:
		case <-s.gone:
			s.drain()
			return errShellEnded
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drain waits for the last output of a dead shell. A program that it left
// behind may still have the terminal; what that writes is not waited for.
func (s *session) drain() {
	late := time.NewTimer(lastWait)
	defer late.Stop()
	select {
	case <-s.drained:
	case <-late.C:
	}
}

var errShellEnded = errors.New("the shell ended")

// waitForMarker waits for the end of the output of a command that is over.
func (s *session) waitForMarker(ctx context.Context, seq uint64) error {
	late := time.NewTimer(markerWait)
	defer late.Stop()
	for !s.complete(seq) {
		select {
		case <-s.wake:
		case <-late.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// over reports whether the shell is ready for a command after that one.
func (s *session) over(seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.dir != "" && s.last.seq == seq
}

// state is what the shell said last.
func (s *session) state() prompt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// complete reports whether all that the command wrote is here.
func (s *session) complete(seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.seq == seq && s.marks.last == seq
}

// written is how much output there was since take.
func (s *session) written() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.size + int64(len(s.clean.line)-s.clean.shown)
}

// takeOutput returns the output since the last time, with all that was written of the
// last line. Output from now on goes to a new one, saved in dir if it is long.
func (s *session) takeOutput(dir string) *output {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.gone:
		s.clean.finish()
		s.out.write(s.mask.Flush())
	default:
		s.clean.settle()
		s.out.write(s.mask.Release(3))
	}
	taken := s.out
	s.out = &output{dir: dir}
	return taken
}

func (s *session) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// readOutput ends when the last program has let go of the terminal, or close
// closes it.
func (s *session) readOutput() {
	defer close(s.drained)
	buf := make([]byte, 32<<10)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.marks.scan(buf[:n], s.clean.write, func() {
			s.clean.finish()
			s.out.write(s.mask.Flush())
		})
		s.mu.Unlock()
		s.notify()
		if err != nil {
			return
		}
	}
}

// readStatus ends when the shell is dead.
func (s *session) readStatus(status *os.File) {
	r := bufio.NewReader(status)
	field := func() string {
		text, err := r.ReadString(0)
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(text, "\x00")
	}
	for {
		switch nonce, err := r.ReadString(0); {
		case err != nil:
			return
		case nonce != s.nonce+"\x00":
			continue
		}
		seq, _ := strconv.ParseUint(field(), 10, 64)
		p := prompt{seq: seq, exitCode: number(field()), lastJob: number(field()), dir: field(), path: field()}
		s.mu.Lock()
		s.last = p
		s.mu.Unlock()
		s.notify()
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

// write passes data on. A program that does not read makes write wait, but no other
// goroutine; the next command and close end that.
func (s *session) write() {
	for w := range s.send {
		s.pass(w)
		s.unwritten.Add(-1)
	}
}

// pass writes. An error means that the shell is dead, which gone says, or that
// another command has begun.
func (s *session) pass(w write) {
	// The end of the time first: a command that begins after it ends the write.
	_ = s.master.SetWriteDeadline(time.Time{})
	if w.during != s.commanded.Load() {
		return
	}
	if w.begins {
		_ = control(s.slave, flushInput)
		_ = control(s.slave, func(fd int) error { return unix.IoctlSetTermios(fd, ioctlSetTermios, s.modes) })
	}
	_, _ = w.to.Write(w.data)
}

// exitCode is how the dead shell ended.
func (s *session) exitCode() int {
	<-s.gone
	return s.code
}

// resize sends the programs the new size.
func (s *session) resize(cols, rows uint16) error {
	return control(s.master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	})
}
