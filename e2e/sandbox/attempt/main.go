//go:build linux

// Attempt makes attempts to leave a sandbox. The tests of e2e/sandbox run it inside;
// what came of an attempt is looked at from outside, as far as that is possible.
//
//	attempt run FILE     all attempts of a file, one process each; JSON
//	attempt OPERATION …  one attempt
//
// An attempt that the system refuses is not one that could not be made: the first is
// an error number of the kernel, everything else is the second.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"
)

// The exit codes of one attempt.
const (
	worked  = 40
	refused = 41
	notMade = 42
)

// Attempt is one line of the file.
type Attempt struct {
	ID   int      `json:"id"`
	Args []string `json:"args"`
}

// Result is what came of an attempt, as its own process tells it.
type Result struct {
	ID     int    `json:"id"`
	Code   int    `json:"code"`
	Output string `json:"output"`
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) == 2 && args[0] == "run" {
		if err := all(args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "attempt:", err)
			return notMade
		}
		return 0
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "attempt: an operation is missing")
		return notMade
	}
	try, ok := find(args[0])
	if !ok || len(args)-1 < try.args {
		fmt.Fprintf(os.Stderr, "attempt: %q is not an operation with %d arguments\n", args[0], len(args)-1)
		return notMade
	}
	err := try.do(args[1:])
	if err == nil {
		return worked
	}
	fmt.Println(err)
	if no, ok := errors.AsType[syscall.Errno](err); ok && no != syscall.EINVAL && no != syscall.EFAULT {
		return refused
	}
	if errors.Is(err, errRefused) {
		return refused
	}
	return notMade
}

// errRefused is a refusal that is not an error number of the kernel.
var errRefused = errors.New("refused")

// patience is how long one attempt may take, on a busy machine too.
const patience = 20 * time.Second

func all(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var attempts []Attempt
	if err := json.Unmarshal(data, &attempts); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, a := range attempts {
		if err := out.Encode(one(self, a)); err != nil {
			return err
		}
	}
	return nil
}

func one(self string, a Attempt) Result {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, a.Args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // something it has started may hold the pipe
	if fds := inherited(); len(fds) > 0 {
		cmd.ExtraFiles = fds // the descriptors of this program are part of what is tested
	}
	err := cmd.Run()
	r := Result{ID: a.ID, Code: cmd.ProcessState.ExitCode(), Output: out.String()}
	if ctx.Err() != nil || cmd.ProcessState == nil {
		r.Code = notMade
	}
	if r.Code != worked && r.Code != refused && err != nil {
		r.Output += fmt.Sprintf(" (%v)", err)
	}
	return r
}

// refusal is how programs say that the system refused something, or that another process
// has put back what they had moved.
var refusal = regexp.MustCompile(`(?i)permission denied|operation not permitted|read-only file system|no such file|not permitted|` +
	`device or resource busy|cross-device link|network is unreachable|connection refused|could not lock config file|not found|no such process|` +
	`couldn't connect|could not resolve|unshare failed|cannot open|invalid argument|no sandbox|` +
	`file exists|not in a git directory|not a git repository|directory not empty`)

// shell runs a script; it worked if it ended well.
func shell(args []string) error {
	out, err := exec.Command("/bin/sh", "-c", args[0]).CombinedOutput()
	fmt.Print(string(out))
	if err == nil {
		return nil
	}
	if refusal.Match(out) {
		return errRefused
	}
	return fmt.Errorf("the script failed: %w", err)
}
