package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/ohgw/ohgw/internal/fault"
)

func TestErrorIsMessageThenCause(t *testing.T) {
	t.Parallel()
	err := &fault.Error{Msg: "cannot read the config", Err: io.ErrUnexpectedEOF}
	if got, want := err.Error(), "cannot read the config: unexpected EOF"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("the cause is not in the chain")
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		want fault.Code
	}{
		{"nil is success", nil, 0},
		{"a plain error is a failure", io.EOF, fault.Failed},
		{"a fault without a code is a failure", &fault.Error{Msg: "x"}, fault.Failed},
		{"New is a failure", fault.New("x", "", nil), fault.Failed},
		{"the code is found below wrapping", fmt.Errorf("serve: %w", &fault.Error{Code: fault.Conflict}), fault.Conflict},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := fault.CodeOf(tt.err); got != tt.want {
				t.Errorf("CodeOf(%v) = %d, want %d", tt.err, got, tt.want)
			}
		})
	}
}
