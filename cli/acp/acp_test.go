package acp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/iostream"
)

// answers runs the command and gives its answers to requests with the ids 1, 2
// and so on, sent one after the other.
func answers(t *testing.T, variables map[string]string, requests ...string) []string {
	t.Helper()
	a := clitest.New(t, variables)
	in, editor := io.Pipe()
	out, ours := io.Pipe()
	a.Stdin, a.Stdout = in, iostream.New(ours, false, nil)
	ended := make(chan error, 1)
	go func() {
		err := run(t.Context(), &options{App: a.App, settings: kit.SettingFlags{}})
		_ = ours.Close() // A pipe's never fails.
		ended <- err
	}()
	lines := bufio.NewReader(out)
	var got []string
	for i, request := range requests {
		if _, err := fmt.Fprintf(editor, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", i+1, request); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line)
	}
	if err := editor.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return got
}

func TestAnEditorReadsWhatToDo(t *testing.T) {
	t.Parallel()
	const hello = `"method":"initialize","params":{"protocolVersion":1}`
	session := fmt.Sprintf(`"method":"session/new","params":{"cwd":%q,"mcpServers":[]}`, t.TempDir())
	for name, tt := range map[string]struct {
		variables map[string]string
		want      string
	}{
		"no profile":  {map[string]string{"OHGW_BACKEND": "embedded"}, "there is no model yet; run ohgw in a terminal to set one up"},
		"no gateway":  {map[string]string{"OHGW_URL": "http://127.0.0.1:1"}, "(start the daemon with ohgw serve; ohgw status shows what runs)"},
		"a bad agent": {map[string]string{"OHGW_BACKEND": "agent-server", "OHGW_AGENT_SERVER_URL": "http://127.0.0.1:1"}, `"error":{"code":-32603`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := answers(t, tt.variables, hello, session); !strings.Contains(got[1], tt.want) {
				t.Errorf("answer = %s, want %s", got[1], tt.want)
			}
		})
	}
}

func TestErrorsAreExplainedInALine(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"a plain error": errors.New("a plain\nerror"),
		"the state directory cannot be used: no space (free some)":                                                    fault.New("the state directory cannot be used", "free some", errors.New("no space")),
		"Too many runs (try again later)":                                                                             &gateway.Error{Kind: gateway.Busy, Message: "Too many runs."},
		"The provider failed (run ohgw profiles check and ohgw keys status)":                                          &gateway.Error{Kind: gateway.Failed, Code: "llm_error", Message: "The provider failed."},
		"The key is wrong (set OHGW_API_KEY to a token; ohgw tokens create NAME makes one)":                           &gateway.Error{Kind: gateway.Locked, Message: "The key is wrong."},
		"No such model (ohgw models lists the models; ohgw profiles use NAME makes one the default)":                  &gateway.Error{Kind: gateway.Refused, Code: "model_not_found", Message: "No such model"},
		"The server at x is not an ohgw gateway: it sent a web page (set the correct address with --url or OHGW_URL)": &gateway.Error{Kind: gateway.Stranger, Message: "The server at x is not an ohgw gateway: it sent a web page."},
	} {
		if got := explain(err); got != want {
			t.Errorf("explain =\n%s\nwant\n%s", got, want)
		}
	}
}
