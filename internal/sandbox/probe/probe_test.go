package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/inside"
)

// TestMain makes the test binary the helper as well.
func TestMain(m *testing.M) {
	if inside.Wanted(os.Args) {
		os.Exit(inside.Main(os.Args))
	}
	os.Exit(m.Run())
}

func TestReasons(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err   error
		files map[string]string
		want  string
	}{
		{boxes.ErrUnsupported, nil, "no sandbox for this system"},
		{syscall.ENOSYS, nil, "older than 5.12"},
		{syscall.EACCES, map[string]string{appArmor: "1\n"}, "AppArmor"},
		{syscall.EPERM, map[string]string{debian: "0\n"}, "unprivileged_userns_clone is 0"},
		{syscall.ENOSPC, map[string]string{namespaces: "0\n"}, "max_user_namespaces is 0"},
		{syscall.EPERM, map[string]string{status: "Name:\tx\nSeccomp:\t2\n"}, "already runs inside"},
		{syscall.EPERM, map[string]string{appArmor: "0\n"}, "forbids user namespaces: start the sandbox: operation not permitted"},
		{fmt.Errorf("make /proc: %w", syscall.EPERM), nil, "a part of /proc is covered"},
		{errors.New("no space"), nil, "no space"},
	}
	for _, test := range tests {
		read := func(file string) ([]byte, error) {
			if text, ok := test.files[file]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}
		r := ask(t.Context(), read, func(context.Context, sandbox.Level) error {
			if test.err == nil {
				return nil
			}
			return fmt.Errorf("start the sandbox: %w", test.err)
		})
		if r.Level != sandbox.Off || !strings.Contains(r.Reason, test.want) || r.Fix == "" {
			t.Errorf("%v: %+v, want %q", test.err, r, test.want)
		}
	}
}
