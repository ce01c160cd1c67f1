package skill

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/truncate"
)

var inlineCommand = pattern.Of("!`([^`\n]+)`")

const (
	commandTime   = 10 * time.Second // for one command
	skillTime     = 30 * time.Second // for all of a skill
	commandOutput = 50_000           // characters of one command
)

// render replaces the commands in a skill by their output. A skill that came
// with the workspace is not the user's word, and reading it starts nothing: the
// model is shown the command and can run it in its terminal, where the rules of
// confirmation hold.
func (t *invoke) render(ctx context.Context, s Skill) string {
	limited, cancel := context.WithTimeout(ctx, skillTime)
	defer cancel()
	return inlineCommand().ReplaceAllStringFunc(s.Body, func(token string) string {
		command := inlineCommand().FindStringSubmatch(token)[1]
		if !s.Own {
			return fmt.Sprintf("[the output of the command `%s`, which was not run because this skill came with the workspace]", command)
		}
		return t.output(limited, command)
	})
}

// Inert reports whether a skill has commands that do not run: see render.
func (s Skill) Inert() bool { return !s.Own && inlineCommand().MatchString(s.Body) }

// output runs a command and returns what it prints, and how it failed.
func (t *invoke) output(ctx context.Context, command string) string {
	ctx, cancel := context.WithTimeoutCause(ctx, commandTime, fmt.Errorf("it took longer than %s", commandTime))
	defer cancel()
	limited, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := bounded.Head{Max: maxOutput, Full: func() error { stop(errTooLong); return nil }}
	err := sandbox.Run(limited, t.cfg.Box, sandbox.Program{
		Args: []string{"/bin/sh", "-c", command}, Dir: t.cfg.Workspace, Env: t.cfg.Env,
	}, &out, time.Second)
	if cause := context.Cause(limited); err != nil && cause != nil {
		err = cause
	}
	text := truncate.Head(strings.TrimRight(strings.ToValidUTF8(string(out.Bytes()), "\uFFFD"), "\n"), commandOutput)
	if err != nil {
		text += fmt.Sprintf("\n[the command %q failed: %v]", command, err)
	}
	return text
}

var errTooLong = errors.New("it printed too much and was stopped")

const maxOutput = commandOutput * utf8.UTFMax
